import { randomUUID } from 'node:crypto';
import type { Held } from '../../../../test/support/held-attempt.js';
import { useDatabase } from '../../../../test/support/postgres.js';
import { OPERATOR, PROJECT, publication } from '../../../../test/support/published-task.js';
import { useWorld } from '../../../../test/support/world.js';

const DELIVERIES = 200;
const database = useDatabase();
const world = useWorld(database);

describe('many deliveries at once', () => {
  it('on distinct leases of tiny tables all succeed, with few retries', async () => {
    const taskId = `task-${randomUUID()}`;
    await world().tasks.publish(OPERATOR, PROJECT, taskId, publication());
    const workers = await Promise.all(Array.from({ length: 8 }, () => world().worker()));
    const start = () => world().runs.start(OPERATOR, PROJECT, taskId, { mutationId: randomUUID() });
    await Promise.all(Array.from({ length: DELIVERIES }, start));
    const held: Held[] = [];
    await Promise.all(
      workers.map(async (worker) => {
        for (let claims = 0; claims < DELIVERIES / workers.length; claims += 1) {
          const claimed = await world().claim(worker);
          await world().attempts.starting(worker, claimed.fence);
          held.push(claimed);
        }
      }),
    );
    const before = { ...world().transactions.counts };
    const grants = await Promise.all(held.map((each) => world().authorize(each)));
    const after = world().transactions.counts;
    expect(new Set(grants.map(({ recordId }) => recordId)).size).toBe(DELIVERIES);
    expect(after.unavailable).toBe(before.unavailable);
    expect(after.retried - before.retried).toBeLessThan(DELIVERIES / 20);
    await Promise.all(grants.map((grant) => world().deliveries.settle(grant, 'sent')));
    const [row] = await database().query<{ sent: number; open: number }>(
      `SELECT (SELECT count(*) FROM delivery_outcomes)::int AS sent,
              (SELECT count(*) FROM leases WHERE open_record_id IS NOT NULL)::int AS open`,
    );
    expect(row).toEqual({ sent: DELIVERIES, open: 0 });
  }, 60_000);
});
