import type { PoolClient } from 'pg';
import { Tx } from '../database/tx.js';
import { CandidateRepository, type QueuedRevision } from './candidate.repository.js';
import { Placements } from './placements.js';

/** The queue's placements by digest, and which of them were asked for. */
class Stored extends CandidateRepository {
  readonly asked: string[] = [];
  readonly texts = new Map<string, string | null>();

  override readPlacements(_tx: Tx, revisions: readonly QueuedRevision[]) {
    this.asked.push(...revisions.map(({ executionDigest }) => executionDigest));
    return Promise.resolve(
      revisions.flatMap(({ executionDigest }) => {
        const placementJson = this.texts.get(executionDigest);
        return placementJson === undefined ? [] : [{ executionDigest, placementJson }];
      }),
    );
  }
}

const MEBIBYTE = 1024 * 1024;
const tx = Tx.of({} as PoolClient);

describe('the placements of what is queued', () => {
  let stored: Stored;
  let placements: Placements;
  beforeEach(() => {
    stored = new Stored();
    placements = new Placements(stored);
  });

  async function read(...digests: string[]): Promise<Record<string, unknown>> {
    const judged: Record<string, unknown> = {};
    const revisions = digests.map((executionDigest) => ({ projectId: 'p', executionDigest }));
    await placements.read(tx, revisions, (digest, placement) => {
      judged[digest] = placement;
    });
    return judged;
  }

  it('are read once, and judged each time', async () => {
    stored.texts.set('a', '{"required":{"executors":["remote-worker"]}}').set('b', null);
    const expected = { required: { executors: ['remote-worker'] } };
    expect(await read('a', 'b')).toEqual({ a: expected, b: expected });
    expect(await read('b', 'a')).toEqual({ a: expected, b: expected });
    expect(stored.asked).toEqual(['a', 'b']);
  });

  it('are read again where they were damaged, and not judged where nothing has them any more', async () => {
    stored.texts.set('a', '{');
    expect(await read('a', 'gone')).toEqual({ a: null });
    stored.texts.set('a', '{}');
    expect(await read('a')).toEqual({ a: {} });
  });

  it('are forgotten, the longest unasked first, before they take too much room', async () => {
    for (const digest of ['a', 'b', 'c']) stored.texts.set(digest, `${' '.repeat(15 * MEBIBYTE)}{}`);
    await read('a');
    await read('b');
    await read('a');
    await read('c');
    stored.asked.length = 0;
    await read('a', 'c');
    expect(stored.asked).toEqual([]);
    await read('b');
    expect(stored.asked).toEqual(['b']);
  });
});
