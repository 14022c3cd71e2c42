import { type Held, upload } from '../../../../test/support/held-attempt.js';
import { useDatabase } from '../../../../test/support/postgres.js';
import { until } from '../../../../test/support/until.js';
import { useWorld } from '../../../../test/support/world.js';

/** More uploads than the pool has connections, of which a quarter is theirs. */
const UPLOADS = 12;
const CONNECTIONS = 8;
const DEADLINE_MS = 20_000;

const database = useDatabase();
// What hangs does so until the test lets it go.
const world = useWorld(database, {
  statementTimeoutMs: DEADLINE_MS,
  lockTimeoutMs: DEADLINE_MS,
  idleTimeoutMs: DEADLINE_MS,
  transactionDeadlineMs: DEADLINE_MS,
});

async function* oneChunk(): AsyncGenerator<Buffer> {
  yield await Promise.resolve(Buffer.from('log'));
}

/** Until the answer is called, no chunk of a log can be written. */
const holdChunks = (): Promise<() => Promise<void>> =>
  database().hold('LOCK TABLE artifact_chunks IN EXCLUSIVE MODE');

const busy = (): number => world().transactions.poolUse.open - world().transactions.poolUse.idle;

describe('uploads whose chunks the database does not take', () => {
  it('hold a quarter of the pool and no delivery up; each is stored once it goes on', async () => {
    const uploading: Held[] = [];
    for (let count = 0; count < UPLOADS; count += 1) uploading.push(await world().held('running'));
    const starting = await world().held('starting');
    const release = await holdChunks();
    let begun = 0;
    let ended = 0;
    const stored = uploading.map(async (held) => {
      async function* watched(): AsyncGenerator<Buffer> {
        begun += 1;
        yield* oneChunk();
      }
      const { status } = await world().artifacts.store(held.worker, upload(held, 3), watched());
      ended += 1;
      return status;
    });
    try {
      await until(
        'all uploads to wait for the database',
        () => begun === UPLOADS && busy() === CONNECTIONS / 4,
        { deadlineMs: DEADLINE_MS },
      );
      expect(world().transactions.poolUse.waiting).toBe(0);
      expect(await world().authorize(starting)).toBeDefined();
      expect([busy(), ended]).toEqual([CONNECTIONS / 4, 0]);
    } finally {
      await release();
    }
    expect(await Promise.all(stored)).toEqual(Array.from({ length: UPLOADS }, () => 'stored'));
  });
});
