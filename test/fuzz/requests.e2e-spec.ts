import { readFileSync } from 'node:fs';
import { FAILURES } from '@valise/contracts/failure';
import { METRICS } from '../../apps/control/src/metrics/catalogue.js';
import { useDeployment } from '../support/deployment.js';
import { completion, delivery, type Held, renewal, running } from '../support/held-attempt.js';
import { useDatabase } from '../support/postgres.js';
import { plainSpec, PROJECT, publication } from '../support/published-task.js';
import { report, verification } from '../support/verification.js';
import { PlainAddress } from '../support/wire/plain-address.js';
import { newSessionId, registration, sessionPath } from '../support/worker-session.js';
import { HostileConnection } from './hostile-connection.js';
import { CANARY, requestCases, type RequestCase, type Target } from './request-cases.js';

const CONNECTIONS = 12;
const MAX_GROWTH_BYTES = 64 * 1024 * 1024;

const deployment = useDeployment(useDatabase(), { VALISE_LOG_LEVEL: 'trace' });
const plain = (): PlainAddress => new PlainAddress(deployment().ports.plain);

/** Every route of the ingress, and those of management that change things, each with what it takes. */
async function targetsOf(): Promise<Target[]> {
  const worker = await deployment().playedWorker('hostile');
  await deployment().run();
  const held: Held = await worker.hold();
  const bodies: Record<string, unknown> = {
    register: registration(),
    heartbeat: { ...registration(), generation: worker.generation, expectedVersion: 0 },
    transition: { generation: worker.generation, expectedVersion: 0, status: 'draining' },
    offers: {
      workerGeneration: worker.generation,
      offerId: held.fence.offerId,
      leaseToken: CANARY.repeat(3),
    },
    starting: held.fence,
    'start-failure': held.fence,
    running: running(held),
    'lease-control': renewal(held),
    secrets: delivery(held),
    artifacts: held.fence,
    completion: completion(held),
  };
  const ofWorker = Object.entries(bodies).map(([operation, body]): Target => ({
    listener: 'ingress',
    method: 'POST',
    // Half of them in a session that there is, so that contracts, fences and authentications are all met.
    path:
      operation.length % 2
        ? worker.pathOf(operation)
        : sessionPath({ workerId: 'hostile', sessionId: newSessionId() }, operation),
    body: JSON.stringify(body),
  }));
  const task = `/api/v3/projects/${PROJECT}/tasks/hostile`;
  const ofOperators: Target[] = [
    { method: 'PUT', path: task, body: JSON.stringify(publication({ spec: plainSpec() })) },
    { method: 'POST', path: `${task}/runs`, body: JSON.stringify({ mutationId: publication().mutationId }) },
    { method: 'GET', path: `/api/v3/projects/${PROJECT}/runs/${held.fence.runId}/log`, body: '' },
    {
      method: 'PUT',
      path: '/api/v3/workers/hostile-2',
      body: JSON.stringify({ status: 'active', projects: ['*'], labels: {} }),
    },
  ].map((target) => ({ listener: 'management', ...target }));
  return [...ofWorker, ...ofOperators];
}

/** Sends the cases over a few connections at once; what came back goes to `judge`. */
async function play(
  cases: RequestCase[],
  judge: (given: RequestCase, answer: string) => void,
): Promise<void> {
  const { pki } = deployment();
  const identities = { ingress: await pki.worker('hostile'), management: await pki.operator('alice') };
  const callerOf = (listener: RequestCase['listener']) =>
    deployment().callerAt(listener, identities[listener]);
  const queue = cases[Symbol.iterator]();
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      const to = {
        ingress: new HostileConnection(callerOf('ingress')),
        management: new HostileConnection(callerOf('management')),
      };
      for (const given of queue) judge(given, await to[given.listener].exchange(given.bytes));
      to.ingress.close();
      to.management.close();
    }),
  );
}

/** What is wrong with an answer, or null. */
function breach(answer: string): string | null {
  const [head = '', body = ''] = answer.split('\r\n\r\n', 2);
  const status = Number(head.slice(9, 12));
  if (status === 100) return null;
  if (status >= 500 && status !== 503) return 'a 5xx that is not 503';
  if (status < 400) return status === 200 ? null : 'an unknown status';
  for (const header of ['cache-control: no-store', 'x-content-type-options: nosniff', 'x-request-id: ']) {
    if (!head.toLowerCase().includes(header)) return `no ${header}`;
  }
  if ((status === 429 || status === 503) && !/^retry-after: \d+$/im.test(head)) return 'no retry-after';
  if (body.includes('hunter2') || head.includes('hunter2')) return 'the canary';
  // An answer to HEAD has no body.
  if (body === '') return null;
  const { code } = JSON.parse(body) as { code: string };
  return code in FAILURES && FAILURES[code as keyof typeof FAILURES].status === status
    ? null
    : 'no code for it';
}

describe(`control, under ${verification.requests} hostile requests`, () => {
  const breaches = new Map<string, string>();
  const statuses = new Map<number, number>();
  let residentAfterAQuarter: number;
  let resident: number;

  beforeAll(async () => {
    const cases = requestCases(await targetsOf(), verification.requests, verification.seed);
    const judge = ({ bytes }: RequestCase, answer: string): void => {
      const status = Number(answer.slice(9, 12));
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      const wrong = answer === '' ? null : breach(answer);
      if (wrong !== null)
        breaches.set(wrong, `${bytes.toString('latin1').slice(0, 800)}\n→ ${answer.slice(0, 800)}`);
    };
    const quarter = Math.ceil(cases.length / 4);
    await play(cases.slice(0, quarter), judge);
    residentAfterAQuarter = Number(await plain().metric('process_resident_memory_bytes'));
    await play(cases.slice(quarter), judge);
    resident = Number(await plain().metric('process_resident_memory_bytes'));
    const counts = [...statuses].sort().map(([status, count]) => `${status || 'none'}: ${count}`);
    report(
      `hostile requests: ${counts.join(', ')}; ${resident - residentAfterAQuarter} bytes more than after a quarter`,
    );
  }, 900_000);

  it('answers each with a code of the catalogue, never quotes it, and fails at none', () => {
    expect(Object.fromEntries(breaches)).toEqual({});
    // What was sent was understood often enough to get somewhere.
    for (const status of [200, 400, 404, 409, 413, 415]) expect([...statuses.keys()]).toContain(status);
  });

  it('still lives, as the same process', async () => {
    expect((await plain().get('/livez')).status).toBe(200);
    expect((await plain().get('/readyz')).status).toBe(200);
  });

  it('says nothing of them in its log', () => {
    const log = deployment().logs();
    expect(log.split('\n').filter((line) => line.includes('hunter2'))).toEqual([]);
    expect(log).not.toContain('"internal_error"');
  });

  it('does not grow', () => {
    expect(resident - residentAfterAQuarter).toBeLessThan(MAX_GROWTH_BYTES);
  });

  it('has given up every place', async () => {
    for (const kind of ['call', 'transfer']) {
      await plain().until(`valise_admission_waiting{listener="ingress",kind="${kind}"}`, 0);
      await plain().until(`valise_admission_running{listener="ingress",kind="${kind}"}`, 0);
    }
  });

  it('has no label in its metrics whose value is not from our lists', async () => {
    const { text } = await plain().get('/metrics');
    expect(text).not.toContain('hunter2');
    const document = JSON.parse(readFileSync('docs/reference/openapi.json', 'utf8')) as { paths: object };
    const own = ['/openapi.json', '/livez', '/readyz', '/metrics'];
    const routes = [
      ...Object.keys(document.paths).map((path) => path.replace(/\{(\w+)\}/g, ':$1')),
      ...own,
      'none',
    ];
    const unknown = [...text.matchAll(/^(valise_\w+?)(?:_bucket|_sum|_count)?\{(.*)\} /gm)].filter(
      ([, name = '', labels = '']) => {
        const lists: Readonly<Record<string, readonly string[]>> =
          METRICS[name as keyof typeof METRICS].labels;
        return [...labels.matchAll(/(\w+)="([^"]*)"/g)].some(([, label = '', value = '']) => {
          const values = label === 'route' ? routes : label === 'le' ? [value] : (lists[label] ?? []);
          return !values.includes(value);
        });
      },
    );
    expect(unknown.map(([sample]) => sample)).toEqual([]);
    expect(text).toMatch(/valise_requests_total\{[^}]*outcome="ok"\}/);
  });
});
