import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { useDatabase } from '../../../../test/support/postgres.js';
import { OPERATOR, plainSpec, PROJECT, publication } from '../../../../test/support/published-task.js';
import { codeOf } from '../../../../test/support/refusal.js';
import { useWorld } from '../../../../test/support/world.js';
import type { AuditRecord } from './audit.js';
import { AuditService } from './audit.service.js';

const database = useDatabase();
const world = useWorld(database);

let audit: AuditService;
let close: () => Promise<void>;
beforeAll(async () => {
  const operator = await world().connect('valise_operator', 2);
  audit = operator.get(AuditService);
  close = () => operator.close();
});
afterAll(() => close());

/** Reads on until nothing comes any more. */
async function readFrom(after: string | null, limit: number): Promise<AuditRecord[]> {
  const read: AuditRecord[] = [];
  for (;;) {
    const page = await audit.list(read.at(-1)?.cursor ?? after, limit);
    if (page.length === 0) return read;
    read.push(...page);
  }
}

const newest = async (): Promise<string | null> => (await readFrom(null, 1000)).at(-1)?.cursor ?? null;
const put = (workerId: string) =>
  world().workers.put(OPERATOR, workerId, { status: 'active', projects: [PROJECT], labels: {} });

describe('the audit trail', () => {
  it('has one row of every management mutation, none of a replay, and none of a refused one', async () => {
    const after = await newest();
    const taskId = `task-${randomUUID()}`;
    const published = publication({ spec: plainSpec() });
    const [started, cancelled, retried] = [mutation(), mutation(), mutation()];
    await twice(() => world().tasks.publish(OPERATOR, PROJECT, taskId, published));
    const { runId } = await twice(() => world().runs.start(OPERATOR, PROJECT, taskId, started));
    await twice(() => world().runs.cancel(OPERATOR, PROJECT, runId, cancelled));
    await twice(() => world().runs.retry(OPERATOR, PROJECT, runId, retried));
    await put('audited');
    expect(await codeOf(world().runs.retry(OPERATOR, PROJECT, runId, mutation()))).toBe('run_not_retryable');
    expect(await codeOf(world().runs.cancel(OPERATOR, PROJECT, randomUUID(), mutation()))).toBe('not_found');
    const events = await readFrom(after, 2);
    expect(events.map(({ action, subjectId, projectId }) => [action, subjectId, projectId])).toEqual([
      ['publish_task', taskId, PROJECT],
      ['start_run', runId, PROJECT],
      ['cancel_run', runId, PROJECT],
      ['retry_run', runId, PROJECT],
      ['put_worker', 'audited', null],
    ]);
    expect(new Set(events.map(({ actorId }) => actorId))).toEqual(new Set(['operator-1']));
  });

  it.each<[string, () => Promise<() => Promise<unknown>>]>([
    ['putting a worker', () => Promise.resolve(() => put('unwritten'))],
    ['publishing', () => Promise.resolve(task)],
    [
      'starting a run',
      async () => {
        const taskId = await task();
        return () => world().runs.start(OPERATOR, PROJECT, taskId, mutation());
      },
    ],
    [
      'cancelling a run',
      async () => {
        const runId = await world().queuedRun();
        return () => world().runs.cancel(OPERATOR, PROJECT, runId, mutation());
      },
    ],
    [
      'a retry',
      async () => {
        const runId = await world().queuedRun();
        await world().runs.cancel(OPERATOR, PROJECT, runId, mutation());
        return () => world().runs.retry(OPERATOR, PROJECT, runId, mutation());
      },
    ],
  ])('that cannot be written lets nothing of %s happen', async (_what, prepare) => {
    const mutate = await prepare();
    const before = await world().snapshot();
    await database().query('REVOKE INSERT ON audit_events FROM valise_operator');
    try {
      await expect(mutate()).rejects.toThrow('sqlState=42501');
    } finally {
      await database().query(
        `GRANT INSERT (occurred_at_ms, actor_kind, actor_id, action, project_id, subject_id, facts)
           ON audit_events TO valise_operator`,
      );
    }
    expect(await world().snapshot()).toEqual(before);
    await mutate();
  });

  it('leaves events of younger transactions for later while an older one is open', async () => {
    const after = await newest();
    const slow = new Client({ connectionString: database().adminUrl, options: '-c search_path=valise' });
    await slow.connect();
    await slow.query('BEGIN');
    await slow.query(`INSERT INTO audit_events (occurred_at_ms, actor_kind, actor_id, action, subject_id, facts)
      VALUES (clock_ms(), 'operator', 'slow', 'put_worker', 'the older', '{}')`);
    await put('the younger');
    expect(await readFrom(after, 10)).toEqual([]);
    await slow.query('COMMIT');
    await slow.end();
    const events = await readFrom(after, 10);
    expect(events.map(({ subjectId }) => subjectId)).toEqual(['the older', 'the younger']);
  });

  it('is read completely, once, and in one order while writers are active', async () => {
    const after = await newest();
    const WRITERS = 6;
    const EACH = 20;
    let writing = WRITERS;
    const writers = Array.from({ length: WRITERS }, async (_none, writer) => {
      for (let event = 0; event < EACH; event += 1) await put(`w-${writer}`);
      writing -= 1;
    });
    const followed: AuditRecord[] = [];
    const follow = async (): Promise<void> => {
      for (let idle = false; !idle;) {
        const last = writing === 0;
        const page = await audit.list(followed.at(-1)?.cursor ?? after, 7);
        followed.push(...page);
        idle = last && page.length === 0;
      }
    };
    await Promise.all([...writers, follow()]);
    expect(followed).toHaveLength(WRITERS * EACH);
    expect(await readFrom(after, 1000)).toEqual(followed);
    expect(new Set(followed.map(({ cursor }) => cursor)).size).toBe(WRITERS * EACH);
  });

  it('has pages that say where the next one begins, also where there is none yet', async () => {
    const first = await audit.page(null);
    const end = await audit.page(first.next);
    expect(end).toEqual({ events: [], next: first.next });
    await put('paged');
    const { events, next } = await audit.page(end.next);
    expect(events).toEqual([
      expect.objectContaining({
        action: 'put_worker',
        subjectId: 'paged',
        cursor: next,
        facts: expect.anything(),
      }),
    ]);
    expect(events[0]).not.toHaveProperty('projectId');
    expect(await audit.page('0.0')).toMatchObject({ next });
  });

  it.each(['', '1', '1.', '.1', '1.2.3', '-1.2', '01.2', '1.2 ', "1.2'", `${'9'.repeat(20)}.1`])(
    'has no event at %j',
    async (cursor) => {
      expect(await codeOf(Promise.resolve().then(() => audit.list(cursor, 1)))).toBe('invalid_request');
    },
  );
});

function mutation(): { mutationId: string } {
  return { mutationId: randomUUID() };
}

async function task(): Promise<string> {
  const taskId = `task-${randomUUID()}`;
  await world().tasks.publish(OPERATOR, PROJECT, taskId, publication());
  return taskId;
}

/** The same mutation once more, after its answer was lost. */
async function twice<T>(mutate: () => Promise<T>): Promise<T> {
  await mutate();
  return mutate();
}
