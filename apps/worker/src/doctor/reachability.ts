import { randomBytes, randomUUID } from 'node:crypto';
import { ValiseError, type FailureCode } from '@valise/contracts/failure';
import type { OfferRequest } from '@valise/contracts/wire';
import { IngressClient } from '../ingress/ingress-client.js';
import { pathOf } from '../ingress/ingress-path.js';
import type { Message } from '../ingress/message.js';
import { refusalOf } from '../ingress/refusal.js';
import type { WorkerIdentity } from '../ingress/worker-identity.js';
import { ok, problem, warning, type Finding } from './finding.js';

const SUBJECT = 'control';
const DEADLINE_MS = 5000;
/** Before all others: no worker's newest. */
const FIRST_SESSION = '00000000-0000-7000-8000-000000000000';

/** What can stand between the worker and control, by the error's code. */
const OBSTACLES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'its name has no address',
  EAI_AGAIN: 'its name cannot be resolved at the moment',
  EHOSTUNREACH: 'there is no way there',
  ENETUNREACH: 'there is no way there',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate has another name',
  CERT_HAS_EXPIRED: 'its certificate has ended',
  ECONNRESET:
    'it ended the connection: this certificate may be revoked, or of an authority that it does not know',
};
const UNTRUSTED = 'its certificate is of no authority in VALISE_TLS_CA_FILE';

const REFUSED: Partial<Record<FailureCode, string>> = {
  worker_authentication_required: 'refuses this certificate: it may be revoked',
  worker_identity_mismatch: 'does not know this worker, or has revoked it: an operator has to put it there',
  revocation_unavailable: 'cannot know at the moment whether this certificate is revoked',
};

/**
 * Sends control a claim in a session that has never begun. It must refuse that, but only after it has taken the
 * certificate and found that the worker is one that an operator allows; nothing is changed by it.
 */
export async function examineReachability(
  url: URL,
  identity: WorkerIdentity,
  deadlineMs = DEADLINE_MS,
): Promise<Finding> {
  const client = new IngressClient(url, identity);
  try {
    const session = { workerId: identity.workerId, sessionId: FIRST_SESSION };
    const body = Buffer.from(JSON.stringify(claim()));
    const question = {
      path: pathOf(session, 'offers'),
      contentType: 'application/json',
      byteLength: body.length,
      chunks: () => [body],
      deadlineMs,
    };
    return judged(url, refusalOf(await client.exchange(question)).code);
  } catch (error) {
    if (!(error instanceof ValiseError)) throw error;
    return problem(SUBJECT, obstacle(url, error, deadlineMs));
  } finally {
    client.close();
  }
}

function claim(): Message<OfferRequest> {
  return {
    workerGeneration: 1,
    offerId: randomUUID(),
    leaseToken: randomBytes(32).toString('base64url'),
  };
}

function judged({ host }: URL, code: FailureCode): Finding {
  const refused = REFUSED[code];
  if (refused !== undefined) return problem(SUBJECT, `${host} ${refused}`);
  if (code === 'worker_session_fenced') return ok(SUBJECT, `${host} answers, and allows this worker`);
  return code === 'rate_limited' || code === 'control_unreachable'
    ? warning(SUBJECT, `${host} answers that it can take no request at the moment`)
    : problem(SUBJECT, `${host} answers, but not as the worker-facing listener of a control`);
}

function obstacle({ host }: URL, { code, facts }: ValiseError, deadlineMs: number): string {
  if (code === 'identity_expired') return 'is not asked with a certificate that has ended';
  if (facts.rule === 'deadline') return `${host} did not answer in ${deadlineMs / 1000} s`;
  const errno = String(facts.errno ?? '');
  const isUntrusted = /CERT|ISSUER|SELF_SIGNED|LEAF/.test(errno);
  return `${host}: ${OBSTACLES[errno] ?? (isUntrusted ? UNTRUSTED : 'it cannot be reached')}`;
}
