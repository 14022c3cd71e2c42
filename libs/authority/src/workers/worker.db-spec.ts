import type { Held } from '../../../../test/support/held-attempt.js';
import { useDatabase } from '../../../../test/support/postgres.js';
import { OPERATOR, PROJECT } from '../../../../test/support/published-task.js';
import { codeOf, refusal } from '../../../../test/support/refusal.js';
import { useWorld } from '../../../../test/support/world.js';

const database = useDatabase();
const world = useWorld(database);

const expired = async (held: Held): Promise<boolean> => {
  const { expires_at_ms: expiresAtMs, updated_at_ms: updatedAtMs } = await world().leaseOf(held);
  return Number(expiresAtMs) <= Number(updatedAtMs);
};

describe('putting a worker', () => {
  it('makes it, and leaves one audit row', async () => {
    const view = await world().workers.put(OPERATOR, 'w-new', {
      status: 'active',
      projects: [PROJECT],
      labels: { zone: 'a' },
    });
    expect(view).toMatchObject({
      workerId: 'w-new',
      status: 'active',
      projects: [PROJECT],
      labels: { zone: 'a' },
    });
    expect(await world().workers.get('w-new')).toEqual(view);
    const events = await database().query(
      `SELECT actor_id, action FROM audit_events WHERE subject_id = 'w-new'`,
    );
    expect(events).toEqual([{ actor_id: 'operator-1', action: 'put_worker' }]);
  });

  it('as revoked ends its session and expires all it holds', async () => {
    const held = await world().held('running');
    const { workerId } = held.worker;
    await world().workers.put(OPERATOR, workerId, { status: 'revoked', projects: ['*'], labels: {} });
    expect(await world().leaseOf(held)).toMatchObject({ state: 'leased', version: 2 });
    expect(await expired(held)).toBe(true);
    const [session] = await database().query('SELECT status FROM worker_sessions WHERE worker_id = $1', [
      workerId,
    ]);
    expect(session).toEqual({ status: 'offline' });
  });

  it('without a project expires what it holds there, and nothing else', async () => {
    const worker = await world().worker(undefined, { projects: [PROJECT, 'project-2'] });
    const held = await world().held('claimed', {}, worker);
    await world().workers.put(OPERATOR, worker.workerId, {
      status: 'active',
      projects: [PROJECT, 'project-3'],
      labels: {},
    });
    expect(await expired(held)).toBe(false);
    expect(await world().leaseOf(held)).toMatchObject({ version: 1 });
    await world().workers.put(OPERATOR, worker.workerId, {
      status: 'active',
      projects: ['project-2'],
      labels: {},
    });
    expect(await expired(held)).toBe(true);
    expect(await world().leaseOf(held)).toMatchObject({ version: 2 });
  });

  it('as draining touches no lease', async () => {
    const held = await world().held();
    await world().workers.put(OPERATOR, held.worker.workerId, {
      status: 'draining',
      projects: ['*'],
      labels: {},
    });
    expect(await world().leaseOf(held)).toMatchObject({ version: 1 });
    expect(await expired(held)).toBe(false);
  });

  it.each([
    ['a label key with a space', { labels: { 'a b': 'x' } }],
    ['an empty label', { labels: { a: '' } }],
    ['a label of 257 bytes', { labels: { a: 'x'.repeat(257) } }],
    ['every project and one more', { projects: ['*', 'p'] }],
  ])('is refused with %s', async (_what, change) => {
    const request = { status: 'active' as const, projects: ['p'], labels: {}, ...change };
    expect(await refusal(world(), async () => world().workers.put(OPERATOR, 'w-bad', request))).toBe(
      'invalid_request',
    );
  });

  it('leaves one worker when two operators put it at the same moment', async () => {
    const put = (zone: string) =>
      world().workers.put(OPERATOR, 'w-both', { status: 'active', projects: ['*'], labels: { zone } });
    await Promise.all([put('a'), put('b'), put('c')]);
    expect((await world().workers.get('w-both')).projects).toEqual(['*']);
  });

  it('knows no worker that was never put', async () => {
    expect(await codeOf(world().workers.get('w-nobody'))).toBe('not_found');
  });
});
