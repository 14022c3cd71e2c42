import { randomUUID } from 'node:crypto';
import { type OPERATORS, TRUST_DOMAIN, useDeployment } from './support/deployment.js';
import { newSessionId } from './support/played-worker.js';
import { useDatabase } from './support/postgres.js';
import { PROJECT } from './support/postgres-world.js';
import { type Answer, WorkerClient } from './support/worker-client.js';

const deployment = useDeployment(useDatabase());

const WORKER = 'worker-1';
const INGRESS = '/api/v3/worker-ingress/workers/{workerId}/sessions/{sessionId}';
const RUN = '/api/v3/projects/{projectId}/runs/{runId}';
const TASK = '/api/v3/projects/{projectId}/tasks/{taskId}';

type Caller = keyof typeof OPERATORS | 'unknown-operator' | 'the-worker' | 'another-worker';

const OF_THE_WORKER: readonly Caller[] = ['the-worker'];
const READERS: readonly Caller[] = ['alice', 'viewer', 'editor', 'project-admin'];
const EDITORS: readonly Caller[] = ['alice', 'editor', 'project-admin'];
const KNOWN: readonly Caller[] = ['alice', 'viewer', 'editor', 'project-admin', 'elsewhere'];
const CALLERS: readonly Caller[] = [...KNOWN, 'unknown-operator', 'the-worker', 'another-worker'];

/** Who may call what. Everybody else may not. */
const MATRIX: Record<string, readonly Caller[]> = {
  [`POST ${INGRESS}/register`]: OF_THE_WORKER,
  [`POST ${INGRESS}/heartbeat`]: OF_THE_WORKER,
  [`POST ${INGRESS}/transition`]: OF_THE_WORKER,
  [`POST ${INGRESS}/offers`]: OF_THE_WORKER,
  [`POST ${INGRESS}/lease-control`]: OF_THE_WORKER,
  [`POST ${INGRESS}/starting`]: OF_THE_WORKER,
  [`POST ${INGRESS}/start-failure`]: OF_THE_WORKER,
  [`POST ${INGRESS}/running`]: OF_THE_WORKER,
  [`POST ${INGRESS}/secrets`]: OF_THE_WORKER,
  [`POST ${INGRESS}/artifacts`]: OF_THE_WORKER,
  [`POST ${INGRESS}/completion`]: OF_THE_WORKER,
  'GET /api/v3/workers/{workerId}': ['alice'],
  'PUT /api/v3/workers/{workerId}': ['alice'],
  [`GET ${TASK}`]: READERS,
  [`PUT ${TASK}`]: EDITORS,
  [`POST ${TASK}/runs`]: EDITORS,
  [`GET ${RUN}`]: READERS,
  [`POST ${RUN}/cancel`]: EDITORS,
  [`POST ${RUN}/retry`]: EDITORS,
  [`GET ${RUN}/deliveries`]: READERS,
  [`GET ${RUN}/log`]: READERS,
  'GET /openapi.json': KNOWN,
};

const clients = new Map<string, WorkerClient>();

/** The caller, at the listener that has the route. */
async function clientOf(caller: Caller, listener: 'ingress' | 'management'): Promise<WorkerClient> {
  const key = `${caller} ${listener}`;
  const known = clients.get(key);
  if (known) return known;
  const { pki, ports } = deployment();
  const id = caller === 'the-worker' ? WORKER : caller;
  const kind = caller.endsWith('-worker') ? 'worker' : 'operator';
  const identity = await pki.client(`spiffe://${TRUST_DOMAIN}/${kind}/${id}`);
  const client = new WorkerClient(ports[listener], id, pki.caFile, identity);
  clients.set(key, client);
  return client;
}

/** Calls the route with an empty body: who may call it gets as far as its contract. */
async function call(route: string, caller: Caller): Promise<Answer> {
  const [method = '', template = ''] = route.split(' ');
  const path = template
    .replace('{workerId}', WORKER)
    .replace('{sessionId}', newSessionId())
    .replace('{projectId}', PROJECT)
    .replace('{taskId}', 'task-1')
    .replace('{runId}', randomUUID());
  const client = await clientOf(caller, template.startsWith(INGRESS) ? 'ingress' : 'management');
  const body = method === 'GET' ? null : Buffer.from('{}');
  return client.send(method, path, body, body ? { 'content-type': 'application/json' } : {});
}

afterAll(() => {
  for (const client of clients.values()) client.close();
});

describe('the access matrix', () => {
  it('has a row for every route, and a route for every row', async () => {
    const { json } = await call('GET /openapi.json', 'alice');
    const paths = json.paths as Record<string, object>;
    const routes = Object.entries(paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect([...routes, 'GET /openapi.json'].sort()).toEqual(Object.keys(MATRIX).sort());
  });

  it.each(
    Object.entries(MATRIX).flatMap(([route, allowed]) =>
      CALLERS.map((caller) => [route, caller, allowed] as const),
    ),
  )('holds for %s by %s', async (route, caller, allowed) => {
    const { status } = await call(route, caller);
    if (allowed.includes(caller)) expect([401, 403]).not.toContain(status);
    else expect([401, 403]).toContain(status);
  });
});
