import { randomUUID } from 'node:crypto';
import { ValiseError, type FailureCode } from '@valise/contracts/failure';
import { IngressClient } from '../ingress/ingress-client.js';
import { pathOf } from '../ingress/ingress-path.js';
import { refusalOf } from '../ingress/refusal.js';
import type { WorkerIdentity } from '../ingress/worker-identity.js';
import { ok, problem, warning, type Finding } from './finding.js';

const SUBJECT = 'control';
const DEADLINE_MS = 5000;
const NOTHING = Buffer.from('{}');

/** What can stand between the worker and control, by the error's code. */
const OBSTACLES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'its name has no address',
  EAI_AGAIN: 'its name cannot be resolved at the moment',
  EHOSTUNREACH: 'there is no way there',
  ENETUNREACH: 'there is no way there',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate has another name',
  CERT_HAS_EXPIRED: 'its certificate has ended',
  ECONNRESET: 'it ended the connection; it may not know the authority of this worker’s certificate',
};
const UNTRUSTED = 'its certificate is of no authority in VALISE_TLS_CA_FILE';

const REFUSED: Partial<Record<FailureCode, string>> = {
  worker_authentication_required: 'refuses this certificate: it may be revoked',
  worker_identity_mismatch: 'knows this certificate under another name',
  revocation_unavailable: 'cannot know at the moment whether this certificate is revoked',
};

/**
 * Sends control a request that it must refuse, but only after it has taken the worker's certificate; nothing is changed
 * by it.
 */
export async function examineReachability(
  url: URL,
  identity: WorkerIdentity,
  deadlineMs = DEADLINE_MS,
): Promise<Finding> {
  const client = new IngressClient(url, identity);
  try {
    const session = { workerId: identity.workerId, sessionId: randomUUID() };
    const chunks = (): Buffer[] => [NOTHING];
    const question = {
      path: pathOf(session, 'heartbeat'),
      contentType: 'application/json',
      byteLength: NOTHING.length,
      chunks,
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

function judged({ host }: URL, code: FailureCode): Finding {
  const refused = REFUSED[code];
  if (refused !== undefined) return problem(SUBJECT, `${host} ${refused}`);
  if (code === 'invalid_worker_request') return ok(SUBJECT, `${host} answers, and takes this certificate`);
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
