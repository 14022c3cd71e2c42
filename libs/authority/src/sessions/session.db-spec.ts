import { randomUUID } from 'node:crypto';
import { sha256Hex, writeCapabilities } from '@valise/contracts/documents';
import { renewal } from '../../../../test/support/held-attempt.js';
import { useDatabase } from '../../../../test/support/postgres.js';
import { OPERATOR, PROJECT } from '../../../../test/support/published-task.js';
import { refusal } from '../../../../test/support/refusal.js';
import {
  newSessionId,
  registration,
  sessionIdAt,
  type TestWorker,
} from '../../../../test/support/worker-session.js';
import { useWorld } from '../../../../test/support/world.js';

const database = useDatabase();
const world = useWorld(database);

const DAY_MS = 86_400_000;

const heartbeat = (worker: TestWorker, expectedVersion: number) => ({
  schema: 'qinglong/worker-session-heartbeat@v1' as const,
  generation: worker.generation,
  expectedVersion,
  availableSlots: 3,
  leaseDurationMs: 9000,
});

const leave = (worker: TestWorker, expectedVersion: number, status: 'draining' | 'offline') => ({
  schema: 'qinglong/worker-session-transition@v1' as const,
  generation: worker.generation,
  expectedVersion,
  status,
});

describe('registering', () => {
  it('begins the first generation at version 0', async () => {
    const worker = await world().worker();
    expect(worker.generation).toBe(1);
    const again = await world().sessions.register(worker, registration());
    expect(again).toMatchObject({ generation: 1, version: 1, status: 'online', replacedSession: false });
  });

  it('brings the same session back online, whatever became of it, and leaves its leases alone', async () => {
    const held = await world().held();
    const lease = await world().leaseOf(held);
    await world().sessions.transition(held.worker, leave(held.worker, 0, 'offline'));
    await database().query('UPDATE worker_sessions SET expires_at_ms = 1 WHERE worker_id = $1', [
      held.worker.workerId,
    ]);
    const { status, generation } = await world().sessions.register(held.worker, registration());
    expect({ status, generation }).toEqual({ status: 'online', generation: 1 });
    expect(await world().leaseOf(held)).toEqual(lease);
  });

  it('with a later session id ends the older session and expires what it holds', async () => {
    const held = await world().held();
    const { workerId } = held.worker;
    const later = { workerId, sessionId: newSessionId() };
    expect(await world().sessions.register(later, registration())).toMatchObject({
      generation: 2,
      version: 0,
      replacedSession: true,
    });
    const lease = await world().leaseOf(held);
    expect(lease).toMatchObject({ state: 'leased', version: 2 });
    expect(Number(lease.expires_at_ms)).toBeLessThanOrEqual(Number(lease.updated_at_ms));
  });

  it('is fenced for a session id that was replaced or sorts before the newest', async () => {
    const earlier = newSessionId();
    const old = await world().worker();
    await world().register(old.workerId, newSessionId());
    for (const sessionId of [old.sessionId, earlier]) {
      const key = { workerId: old.workerId, sessionId };
      expect(await refusal(world(), () => world().sessions.register(key, registration()))).toBe(
        'worker_session_fenced',
      );
    }
  });

  it.each(['for the first time', 'in the place of a session'])(
    'is fenced %s for a session id that lies in the future, and does not lock the worker out',
    async (when) => {
      const workerId = `worker-${randomUUID()}`;
      await world().workers.put(OPERATOR, workerId, { status: 'active', projects: [PROJECT], labels: {} });
      if (when !== 'for the first time') await world().register(workerId, newSessionId());
      const ahead = (byMs: number) => sessionIdAt(Date.now() + byMs);
      for (const sessionId of ['ffffffff-ffff-7fff-bfff-ffffffffffff', ahead(DAY_MS + 60_000)]) {
        const key = { workerId, sessionId };
        expect(await refusal(world(), () => world().sessions.register(key, registration()))).toBe(
          'worker_session_fenced',
        );
      }
      const { generation } = await world().register(workerId, newSessionId());
      expect(await world().register(workerId, ahead(DAY_MS - 60_000))).toMatchObject({
        generation: generation + 1,
      });
    },
  );

  it('is fenced for the same session id with other capabilities', async () => {
    const worker = await world().worker();
    const capabilitiesJson = writeCapabilities({
      architecture: 'arm64',
      executors: ['remote-worker'],
      protocolVersion: '1.0.0',
      supportTier: 'tier1',
    });
    const other = registration({ capabilitiesJson, capabilitiesHash: sha256Hex(capabilitiesJson) });
    expect(await refusal(world(), () => world().sessions.register(worker, other))).toBe(
      'worker_session_fenced',
    );
  });

  it('is refused to a revoked worker and to one that nobody put', async () => {
    const worker = await world().worker();
    await world().workers.put(OPERATOR, worker.workerId, {
      status: 'revoked',
      projects: [PROJECT],
      labels: {},
    });
    expect(await refusal(world(), () => world().sessions.register(worker, registration()))).toBe(
      'worker_identity_mismatch',
    );
    const stranger = { ...worker, workerId: 'nobody-put-it' };
    expect(await refusal(world(), () => world().sessions.register(stranger, registration()))).toBe(
      'worker_identity_mismatch',
    );
  });

  it('does not undo an operator’s draining', async () => {
    const worker = await world().worker(undefined, { status: 'draining' });
    await world().sessions.register(worker, registration());
    expect((await world().workers.get(worker.workerId)).status).toBe('draining');
  });

  it('ends with one newest session when several ids register at the same moment', async () => {
    const { workerId } = await world().worker();
    const ids = Array.from({ length: 6 }, () => newSessionId());
    await Promise.allSettled(ids.map((sessionId) => world().register(workerId, sessionId)));
    const [row] = await database().query<{ session_id: string }>(
      'SELECT session_id FROM worker_sessions WHERE worker_id = $1',
      [workerId],
    );
    expect(row?.session_id).toBe(ids.at(-1));
  });
});

describe('a heartbeat', () => {
  it('moves expiry and version, late or repeated', async () => {
    const worker = await world().worker();
    const first = await world().sessions.heartbeat(worker, heartbeat(worker, 0));
    expect(first).toMatchObject({ version: 1, status: 'online' });
    await database().query('UPDATE worker_sessions SET expires_at_ms = 1 WHERE worker_id = $1', [
      worker.workerId,
    ]);
    const second = await world().sessions.heartbeat(worker, heartbeat(worker, 0));
    expect(second.version).toBe(2);
    expect(second.leaseExpiresAtMs).toBeGreaterThanOrEqual(first.leaseExpiresAtMs);
  });

  it('keeps a draining session draining', async () => {
    const worker = await world().worker();
    await world().sessions.transition(worker, leave(worker, 0, 'draining'));
    expect(await world().sessions.heartbeat(worker, heartbeat(worker, 1))).toMatchObject({
      status: 'draining',
    });
  });

  it.each([
    ['a version that never was', { expectedVersion: 9 }, {}],
    ['another generation', { generation: 2 }, {}],
    ['another session', {}, { sessionId: '01890000-0000-7000-8000-000000000000' }],
    ['another worker', {}, { workerId: 'nobody' }],
  ])('is fenced with %s', async (_what, change, key) => {
    const worker = await world().worker();
    const request = { ...heartbeat(worker, 0), ...change };
    expect(await refusal(world(), () => world().sessions.heartbeat({ ...worker, ...key }, request))).toBe(
      'worker_session_fenced',
    );
  });

  it('is fenced once the session has ended', async () => {
    const worker = await world().worker();
    await world().sessions.transition(worker, leave(worker, 0, 'offline'));
    expect(await refusal(world(), () => world().sessions.heartbeat(worker, heartbeat(worker, 1)))).toBe(
      'worker_session_fenced',
    );
  });

  it('lets the slots that it reports count from then on', async () => {
    const worker = await world().worker(undefined, {}, { maxConcurrentRuns: 2, availableSlots: 2 });
    await world().held('claimed', {}, worker);
    await world().sessions.heartbeat(worker, { ...heartbeat(worker, 0), availableSlots: 1 });
    await world().held('claimed', {}, worker);
    await world().queuedRun();
    await expect(world().claim(worker)).rejects.toThrow('nothing was queued');
  });
});

describe('a transition', () => {
  it('goes forward only, and a repeat answers the current truth', async () => {
    const worker = await world().worker();
    const draining = leave(worker, 0, 'draining');
    expect(await world().sessions.transition(worker, draining)).toMatchObject({
      status: 'draining',
      version: 1,
    });
    expect(await world().sessions.transition(worker, draining)).toMatchObject({
      status: 'draining',
      version: 1,
    });
    const offline = leave(worker, 1, 'offline');
    expect(await world().sessions.transition(worker, offline)).toMatchObject({
      status: 'offline',
      version: 2,
    });
    expect(await world().sessions.transition(worker, draining)).toMatchObject({
      status: 'offline',
      version: 2,
    });
  });

  it.each([
    ['an older version', 0],
    ['a later version', 2],
  ])('is fenced with %s: here the version is exact', async (_what, expectedVersion) => {
    const worker = await world().worker();
    await world().sessions.heartbeat(worker, heartbeat(worker, 0));
    const request = leave(worker, expectedVersion, 'offline');
    expect(await refusal(world(), () => world().sessions.transition(worker, request))).toBe(
      'worker_session_fenced',
    );
  });

  it('leaves what the session holds alone', async () => {
    const held = await world().held('running');
    await world().sessions.transition(held.worker, leave(held.worker, 0, 'offline'));
    expect(await world().leases.renew(held.worker, renewal(held))).toMatchObject({ status: 'renewed' });
  });
});
