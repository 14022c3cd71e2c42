import { randomUUID } from 'node:crypto';
import type { Lifetime } from '../apps/cli/src/demo/pki.js';
import type { OPERATORS } from './support/control-settings.js';
import { useDeployment } from './support/deployment.js';
import { useDatabase } from './support/postgres.js';
import { PROJECT } from './support/published-task.js';
import { TestAuthority } from './support/test-authority.js';
import { type TestIdentity, type TestPki, TRUST_DOMAIN } from './support/test-pki.js';
import { type Answer, WireClient } from './support/wire/wire-client.js';
import { type Outcome, WireConnection } from './support/wire/wire-connection.js';
import { newSessionId } from './support/worker-session.js';

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
  'GET /api/v3/audit': ['alice'],
  'GET /api/v3/audit/after/{cursor}': ['alice'],
  'GET /openapi.json': KNOWN,
};

const HOUR_MS = 60 * 60 * 1000;

/** Certificates that open no route, whoever they name; and what their bearer gets: no byte, or 401. */
const BAD_CERTIFICATES: Record<
  string,
  { readonly gets: Outcome; of: (name: string, pki: TestPki) => Promise<TestIdentity | null> }
> = {
  none: { gets: 'closed', of: () => Promise.resolve(null) },
  'of a foreign authority': {
    gets: 'closed',
    of: async (name, pki) => pki.client(name, undefined, await TestAuthority.create()),
  },
  expired: { gets: 'closed', of: (name, pki) => pki.client(name, lasting(-2 * HOUR_MS, -HOUR_MS)) },
  'not yet valid': { gets: 'closed', of: (name, pki) => pki.client(name, lasting(HOUR_MS, 2 * HOUR_MS)) },
  revoked: {
    gets: 'closed',
    of: async (name, pki) => {
      const identity = await pki.client(name);
      await pki.revoke(identity);
      await deployment().reload();
      return identity;
    },
  },
  'with two names': { gets: 401, of: (name, pki) => pki.client([name, `${name}-2`]) },
  'of another trust domain': {
    gets: 401,
    of: (name, pki) => pki.client(name.replace(TRUST_DOMAIN, 'elsewhere.test')),
  },
  'with a common name only': {
    gets: 401,
    of: (name, pki) => pki.commonName(name.slice(name.lastIndexOf('/') + 1)),
  },
};

const lasting = (fromMs: number, toMs: number): Lifetime => ({
  notBefore: new Date(Date.now() + fromMs),
  notAfter: new Date(Date.now() + toMs),
});

const clients = new Map<string, WireClient>();

/** The caller, at the listener that has the route. */
async function clientOf(caller: Caller, listener: 'ingress' | 'management'): Promise<WireClient> {
  const key = `${caller} ${listener}`;
  const known = clients.get(key);
  if (known) return known;
  const id = caller === 'the-worker' ? WORKER : caller;
  const kind = caller.endsWith('-worker') ? 'worker' : 'operator';
  const identity = await deployment().pki.client(`spiffe://${TRUST_DOMAIN}/${kind}/${id}`);
  const client = new WireClient(deployment().callerAt(listener, identity));
  clients.set(key, client);
  return client;
}

interface RouteCall {
  readonly listener: 'ingress' | 'management';
  readonly method: string;
  readonly path: string;
  readonly body: Buffer | null;
}

/** A call with an empty body: who may make it gets as far as the route's contract. */
function callOf(route: string): RouteCall {
  const [method = '', template = ''] = route.split(' ');
  const path = template
    .replace('{workerId}', WORKER)
    .replace('{sessionId}', newSessionId())
    .replace('{projectId}', PROJECT)
    .replace('{taskId}', 'task-1')
    .replace('{cursor}', '0.0')
    .replace('{runId}', randomUUID());
  const listener = template.startsWith(INGRESS) ? 'ingress' : 'management';
  return { listener, method, path, body: method === 'GET' ? null : Buffer.from('{}') };
}

async function call(route: string, caller: Caller): Promise<Answer> {
  const { listener, method, path, body } = callOf(route);
  const client = await clientOf(caller, listener);
  return client.send(method, path, body, body ? { 'content-type': 'application/json' } : {});
}

/** What the route's own caller gets with this certificate instead of a good one, on a connection of its own. */
async function callWith(route: string, identity: TestIdentity | null): Promise<Outcome> {
  const { listener, method, path, body } = callOf(route);
  const client = await WireConnection.attempt(deployment().callerAt(listener, identity));
  const head = [`${method} ${path} HTTP/1.1`, 'host: localhost'];
  if (body) head.push('content-type: application/json', `content-length: ${body.length}`);
  const outcome = await client.ask(`${head.join('\r\n')}\r\n\r\n${body?.toString() ?? ''}`);
  client.close();
  return outcome;
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

  describe.each(Object.entries(BAD_CERTIFICATES))('with a certificate that is bad: %s', (_, { of, gets }) => {
    const identities: Record<string, TestIdentity | null> = {};
    beforeAll(async () => {
      const { pki } = deployment();
      identities.ingress = await of(`spiffe://${TRUST_DOMAIN}/worker/${WORKER}`, pki);
      identities.management = await of(`spiffe://${TRUST_DOMAIN}/operator/alice`, pki);
    });

    it.each(Object.keys(MATRIX))('opens %s to nobody', async (route) => {
      expect(await callWith(route, identities[callOf(route).listener] ?? null)).toBe(gets);
    });
  });
});
