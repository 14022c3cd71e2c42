import { randomBytes, randomUUID } from 'node:crypto';
import { sha256Hex } from '@valise/contracts/documents';
import { useDatabase } from '../../../../test/support/postgres.js';
import {
  codeOf,
  completion,
  newLeaseToken,
  OPERATOR,
  PROJECT,
  refusal,
  upload,
  useWorld,
  type Held,
} from '../../../../test/support/postgres-world.js';

const QUOTA = 4_000_000;
const database = useDatabase();
const world = useWorld(database, { artifactQuotaBytes: QUOTA });

async function* pieces(content: Buffer, size = 60_000): AsyncGenerator<Buffer> {
  for (let at = 0; at < content.length; at += size) {
    yield await Promise.resolve(content.subarray(at, at + size));
  }
}

/** Of what is stored, or null. */
async function digest(held: Held): Promise<string | null> {
  const found = await world().logs.open(PROJECT, held.fence.runId, held.fence.attemptId);
  if (!found) return null;
  const chunks = [];
  for await (const chunk of found.chunks) chunks.push(chunk);
  return sha256Hex(...chunks);
}

describe('a log artefact', () => {
  it.each([0, 1, 1024 * 1024, 1024 * 1024 + 1, 2_500_000])(
    'of %i bytes is read as it was stored',
    async (size) => {
      await database().query('DELETE FROM artifact_usage');
      const held = await world().held('running');
      const content = randomBytes(size);
      expect(await world().artifacts.store(held.worker, upload(held, size), pieces(content))).toEqual({
        status: 'stored',
        byteLength: size,
        sha256: sha256Hex(content),
      });
      expect(await digest(held)).toBe(sha256Hex(content));
    },
  );

  it('may be sent again as it was, also after the attempt has ended', async () => {
    const held = await world().held('running');
    const content = Buffer.from('the log');
    const store = (bytes: Buffer) =>
      world().artifacts.store(held.worker, upload(held, bytes.length), pieces(bytes));
    await store(content);
    await world().attempts.complete(held.worker, completion(held));
    const before = await world().snapshot();
    expect(await store(content)).toMatchObject({ status: 'already_stored', sha256: sha256Hex(content) });
    expect(await codeOf(store(Buffer.from('another')))).toBe('worker_artifact_fenced');
    expect(await world().snapshot()).toEqual(before);
  });

  it('is nobody’s to see until it is complete', async () => {
    const held = await world().held('running');
    const seen: (string | null)[] = [];
    async function* watched(): AsyncGenerator<Buffer> {
      yield Buffer.alloc(1024 * 1024);
      seen.push(await digest(held));
      yield Buffer.alloc(1);
    }
    await world().artifacts.store(held.worker, upload(held, 1024 * 1024 + 1), watched());
    expect(seen).toEqual([null]);
  });

  it.each([
    ['more', 4],
    ['fewer', 9],
  ])('is refused with %s bytes than announced', async (_what, announced) => {
    const held = await world().held('running');
    const stored = world().artifacts.store(
      held.worker,
      upload(held, announced),
      pieces(Buffer.from('seven b')),
    );
    expect(await codeOf(stored)).toBe('invalid_worker_request');
    expect(await digest(held)).toBeNull();
  });

  it('is fenced when the fence moved while it was sent', async () => {
    const held = await world().held('running');
    async function* overtaken(): AsyncGenerator<Buffer> {
      yield Buffer.from('log');
      const { workerId } = held.worker;
      await world().workers.put(OPERATOR, workerId, { status: 'revoked', projects: [], labels: {} });
    }
    expect(await codeOf(world().artifacts.store(held.worker, upload(held, 3), overtaken()))).toBe(
      'worker_artifact_fenced',
    );
    expect(await digest(held)).toBeNull();
  });

  it('is taken from a former holder', async () => {
    const held = await world().held('running');
    const worker = await world().register(held.worker.workerId, world().nextSessionId());
    expect(await world().artifacts.store(worker, upload(held, 3), pieces(Buffer.from('log')))).toMatchObject({
      status: 'stored',
    });
  });

  it.each<[string, Partial<ReturnType<typeof upload>>]>([
    ['another token', { leaseToken: newLeaseToken() }],
    ['another offer', { offerId: randomUUID() }],
    ['another run', { runId: randomUUID() }],
    ['the name of another log', { logArtifactId: `wlog-${'0'.repeat(30)}` }],
    ['a version that never was', { expectedLeaseVersion: 9 }],
  ])('is fenced with %s', async (_what, change) => {
    const held = await world().held('running');
    const header = { ...upload(held, 3), ...change };
    const store = () => world().artifacts.store(held.worker, header, pieces(Buffer.from('log')));
    expect(await refusal(world(), store)).toBe('worker_artifact_fenced');
  });

  it('is fenced for another worker, and before the attempt starts', async () => {
    const held = await world().held('claimed');
    const other = await world().worker();
    const store = (worker: Held['worker']) => () =>
      world().artifacts.store(worker, upload(held, 3), pieces(Buffer.from('log')));
    expect(await refusal(world(), store(other))).toBe('worker_artifact_fenced');
    expect(await refusal(world(), store(held.worker))).toBe('worker_artifact_fenced');
  });

  it('is refused when the project has no room for it', async () => {
    const held = await world().held('running');
    const store = () =>
      world().artifacts.store(held.worker, upload(held, QUOTA + 1), pieces(Buffer.alloc(1)));
    expect(await refusal(world(), store)).toBe('request_too_large');
  });

  it('of two uploads at the same moment is stored once', async () => {
    const held = await world().held('running');
    const content = randomBytes(100_000);
    const answers = await Promise.all(
      [1, 2, 3].map(() =>
        world().artifacts.store(held.worker, upload(held, content.length), pieces(content)),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([
      'already_stored',
      'already_stored',
      'stored',
    ]);
    expect(await digest(held)).toBe(sha256Hex(content));
  });

  it('does not show in another project or run', async () => {
    const held = await world().held('running');
    await world().artifacts.store(held.worker, upload(held, 3), pieces(Buffer.from('log')));
    const { runId, attemptId } = held.fence;
    expect(await world().logs.open('another', runId, attemptId)).toBeNull();
    expect(await world().logs.open(PROJECT, randomUUID(), attemptId)).toBeNull();
  });
});
