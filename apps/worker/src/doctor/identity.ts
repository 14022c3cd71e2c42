import { X509Certificate } from 'node:crypto';
import { ValiseError } from '@valise/contracts/failure';
import { pemBlocks } from '@valise/contracts/settings';
import type { WorkerConfig } from '../config/worker-config.js';
import { readIdentity, type WorkerIdentity } from '../ingress/worker-identity.js';
import { brokenRule, ok, problem, warning, type Finding } from './finding.js';

const DAY_MS = 86_400_000;
const SOON_DAYS = 7;

/** Who the worker is, and whether its files say so together. */
export async function examineIdentity(
  config: WorkerConfig,
): Promise<{ readonly identity: WorkerIdentity | null; readonly findings: Finding[] }> {
  try {
    const identity = await readIdentity(config);
    const findings = [
      ok('key', `fits the certificate, which names the worker ${identity.workerId}`),
      validity('certificate', new X509Certificate(identity.certificate)),
      ...authorities(identity.authority),
    ];
    return { identity, findings };
  } catch (error) {
    const finding =
      error instanceof ValiseError
        ? brokenRule('identity', error)
        : problem('identity', 'certificate or key cannot be read as PEM');
    return { identity: null, findings: [finding] };
  }
}

function authorities(pem: Buffer): Finding[] {
  const blocks = pemBlocks(pem.toString('latin1')).filter(({ label }) => label === 'CERTIFICATE');
  const read = blocks.map(({ der }) => new X509Certificate(der));
  if (read.length === 0) return [problem('authority', 'VALISE_TLS_CA_FILE has no certificate in it')];
  return read.map((certificate) =>
    certificate.ca
      ? validity('authority', certificate)
      : problem('authority', 'VALISE_TLS_CA_FILE has a certificate in it that is no authority’s'),
  );
}

function validity(subject: string, { validFrom, validTo }: X509Certificate): Finding {
  const [from, to, now] = [Date.parse(validFrom), Date.parse(validTo), Date.now()];
  const until = `until ${new Date(to).toISOString()}`;
  if (now < from) return problem(subject, `is not valid before ${new Date(from).toISOString()}`);
  if (now >= to) return problem(subject, `was valid ${until}`);
  return to - now < Math.min(SOON_DAYS * DAY_MS, (to - from) / 3)
    ? warning(subject, `is valid ${until} only`)
    : ok(subject, `is valid ${until}`);
}
