import { randomBytes, randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { sha256Hex } from '@valise/contracts/documents';
import type { ValiseError } from '@valise/contracts/failure';
import { completion, type Held, newLeaseToken, upload } from '../../../../test/support/held-attempt.js';
import { useDatabase } from '../../../../test/support/postgres.js';
import { OPERATOR, PROJECT } from '../../../../test/support/published-task.js';
import { codeOf, refusal } from '../../../../test/support/refusal.js';
import { newSessionId } from '../../../../test/support/worker-session.js';
import { useWorld } from '../../../../test/support/world.js';
import { DEFAULT_SETTINGS } from '../settings.js';

const QUOTA = 4_000_000;
const MEBIBYTE = 1024 * 1024;
const database = useDatabase();
const world = useWorld(database, { artifactQuotaBytes: QUOTA, sweepBytes: 10 });

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
  for await (const chunk of found.read(0, found.byteLength)) chunks.push(chunk);
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

  it('is read in part, also across its chunks', async () => {
    await database().query('DELETE FROM artifact_usage');
    const held = await world().held('running');
    const content = randomBytes(2_500_000);
    await world().artifacts.store(held.worker, upload(held, content.length), pieces(content));
    const found = (await world().logs.open(PROJECT, held.fence.runId, held.fence.attemptId))!;
    for (const [start, end] of [
      [0, 1],
      [1_048_575, 1_048_577],
      [1_048_576, 2_097_152],
      [5, 2_499_999],
      [2_499_999, 2_500_000],
    ] as const) {
      const parts = [];
      for await (const part of found.read(start, end)) parts.push(part);
      expect(Buffer.concat(parts).equals(content.subarray(start, end))).toBe(true);
    }
  });

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
    const worker = await world().register(held.worker.workerId, newSessionId());
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

  it('of several uploads at the same moment is stored once, and the others may ask again', async () => {
    const held = await world().held('running');
    const content = randomBytes(100_000);
    const store = () => world().artifacts.store(held.worker, upload(held, content.length), pieces(content));
    const outcomes = await Promise.allSettled([store(), store(), store()]);
    const answers = outcomes.map((outcome) =>
      outcome.status === 'fulfilled' ? outcome.value.status : (outcome.reason as ValiseError).code,
    );
    expect(answers.filter((answer) => answer === 'stored')).toHaveLength(1);
    expect(['already_stored', 'stored', 'worker_ingress_unavailable']).toEqual(
      expect.arrayContaining([...new Set(answers)]),
    );
    expect(await digest(held)).toBe(sha256Hex(content));
    expect(await store()).toMatchObject({ status: 'already_stored' });
  });

  it('does not show in another project or run', async () => {
    const held = await world().held('running');
    await world().artifacts.store(held.worker, upload(held, 3), pieces(Buffer.from('log')));
    const { runId, attemptId } = held.fence;
    expect(await world().logs.open('another', runId, attemptId)).toBeNull();
    expect(await world().logs.open(PROJECT, randomUUID(), attemptId)).toBeNull();
  });
});

describe('a log on its way', () => {
  /** What logs take of the database: rows, chunks, and room of the project. */
  const taken = async () => {
    const [row] = await database().query<{ uploads: number; chunks: number; bytes: number }>(
      `SELECT (SELECT count(*) FROM artifact_uploads)::int AS uploads,
              (SELECT count(*) FROM artifact_chunks)::int AS chunks,
              (SELECT coalesce(sum(byte_length), 0) FROM artifact_usage)::int AS bytes`,
    );
    return row;
  };
  const NOTHING = { uploads: 0, chunks: 0, bytes: 0 };

  /** An upload of three chunks that has sent two and waits to be told how to go on. */
  async function underWay(held: Held) {
    const events = new EventEmitter();
    const sent = once(events, 'sent');
    async function* content(): AsyncGenerator<Buffer> {
      yield Buffer.alloc(2 * MEBIBYTE, 'old');
      const goesOn = once(events, 'on');
      events.emit('sent');
      await goesOn;
      yield Buffer.alloc(MEBIBYTE, 'old');
    }
    const outcome = world().artifacts.store(held.worker, upload(held, 3 * MEBIBYTE), content());
    outcome.catch(() => undefined);
    await sent;
    return {
      outcome,
      goOn: () => events.emit('on'),
      leave: () => events.emit('error', new Error('the sender left')),
    };
  }

  beforeEach(() => database().query('TRUNCATE artifacts, artifact_chunks, artifact_uploads, artifact_usage'));

  it('takes the room that it announced, and gives it back when its sender leaves', async () => {
    const first = await underWay(await world().held('running'));
    expect(await taken()).toEqual({ uploads: 1, chunks: 2, bytes: 3 * MEBIBYTE });
    const second = await world().held('running');
    const store = () =>
      world().artifacts.store(second.worker, upload(second, MEBIBYTE), pieces(Buffer.alloc(MEBIBYTE)));
    expect(await refusal(world(), store)).toBe('request_too_large');
    first.leave();
    await expect(first.outcome).rejects.toThrow('the sender left');
    expect(await taken()).toEqual(NOTHING);
    expect(await store()).toMatchObject({ status: 'stored' });
    expect(await taken()).toEqual({ uploads: 1, chunks: 1, bytes: MEBIBYTE });
  });

  it('is ended by a later upload of the same log, and may then be sent again', async () => {
    const held = await world().held('running');
    const older = await underWay(held);
    const content = Buffer.from('the newer log');
    const newer = world().artifacts.store(held.worker, upload(held, content.length), pieces(content));
    expect(await newer).toMatchObject({ status: 'stored' });
    older.goOn();
    expect(await codeOf(older.outcome)).toBe('worker_ingress_unavailable');
    expect(await taken()).toEqual({ uploads: 1, chunks: 1, bytes: content.length });
    expect(await digest(held)).toBe(sha256Hex(content));
  });

  it('is not ended by a later one that the project has no room for', async () => {
    const held = await world().held('running');
    const older = await underWay(held);
    const store = () =>
      world().artifacts.store(held.worker, upload(held, QUOTA + 1), pieces(Buffer.alloc(1)));
    expect(await refusal(world(), store)).toBe('request_too_large');
    older.goOn();
    expect(await older.outcome).toMatchObject({ status: 'stored' });
  });

  it('is removed with its chunks when it is not what was announced', async () => {
    const held = await world().held('running');
    const bytes = Buffer.alloc(MEBIBYTE + 1);
    const stored = world().artifacts.store(held.worker, upload(held, MEBIBYTE + 2), pieces(bytes));
    expect(await codeOf(stored)).toBe('invalid_worker_request');
    expect(await taken()).toEqual(NOTHING);
  });

  it('may be sent again once the sweeper has removed it', async () => {
    const slow = await underWay(await world().held('running'));
    await database().query('UPDATE artifact_uploads SET started_at_ms = 1');
    expect(await world().sweeper.sweep()).toMatchObject({ uploadsRemoved: 1 });
    expect(await taken()).toEqual(NOTHING);
    slow.goOn();
    expect(await codeOf(slow.outcome)).toBe('worker_ingress_unavailable');
    expect(await taken()).toEqual(NOTHING);
  });
});

describe('a log that is older than logs are kept', () => {
  it('is removed with its chunks and gives back its room; a younger one stays', async () => {
    await database().query('TRUNCATE artifacts, artifact_chunks, artifact_uploads, artifact_usage');
    const [old, young] = [await world().held('running'), await world().held('running')];
    for (const held of [old, young]) {
      await world().artifacts.store(held.worker, upload(held, 7), pieces(Buffer.from('the log')));
    }
    expect(await world().sweeper.sweep()).toMatchObject({ artifactsRemoved: 0, failures: [] });
    await database().query(
      `UPDATE artifacts SET stored_at_ms = clock_ms() - $2::bigint WHERE attempt_id = $1`,
      [old.fence.attemptId, DEFAULT_SETTINGS.artifactLifetimeMs],
    );
    expect(await world().sweeper.sweep()).toMatchObject({ artifactsRemoved: 1, failures: [] });
    expect(await digest(old)).toBeNull();
    expect(await digest(young)).toBe(sha256Hex('the log'));
    expect(await database().query('SELECT sum(byte_length)::int AS bytes FROM artifact_usage')).toEqual([
      { bytes: 7 },
    ]);
    expect(await world().sweeper.sweep()).toMatchObject({ artifactsRemoved: 0, failures: [] });
  });

  it('is removed with so many others as hold few bytes together, and so is an upload that was left', async () => {
    await database().query('TRUNCATE artifacts, artifact_chunks, artifact_uploads, artifact_usage');
    for (const [index, byteLength] of [4, 5, 50, 1].entries()) {
      const [kept, left] = [randomUUID(), randomUUID()];
      await database().query(
        `INSERT INTO artifact_uploads (upload_id, log_artifact_id, project_id, byte_length, started_at_ms, finished)
         VALUES ($1::uuid, $1::uuid, $3, $4, $5, true), ($2::uuid, $2::uuid, $3, $4, $5, false)`,
        [kept, left, PROJECT, byteLength, index],
      );
      await database().query(
        `INSERT INTO artifacts (log_artifact_id, upload_id, project_id, run_id, attempt_id, byte_length, sha256,
           truncated, stored_at_ms)
         VALUES ($1::uuid, $1::uuid, $2, 'run', 'attempt', $3, '', false, $4)`,
        [kept, PROJECT, byteLength, index],
      );
    }
    for (const removed of [3, 1, 0]) {
      expect(await world().sweeper.sweep()).toMatchObject({
        artifactsRemoved: removed,
        uploadsRemoved: removed,
        failures: [],
      });
    }
  });
});
