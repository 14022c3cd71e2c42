import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { DataSource } from 'typeorm';
import { sha256Hex } from '@valise/contracts/documents';
import { delivery, type Held, renewal } from '../../../../test/support/held-attempt.js';
import { useDatabase } from '../../../../test/support/postgres.js';
import { OPERATOR, PROJECT } from '../../../../test/support/published-task.js';
import { codeOf } from '../../../../test/support/refusal.js';
import { newSessionId } from '../../../../test/support/worker-session.js';
import { useWorld } from '../../../../test/support/world.js';
import { connectionOptions } from '../database/data-source.js';
import { TransactionRunner, type TransactionOptions } from '../database/transaction-runner.js';
import type { Tx } from '../database/tx.js';
import { DEFAULT_SETTINGS } from '../settings.js';
import type { DeliveryFacts } from './delivery.js';
import { DeliveryAuthority } from './delivery.authority.js';
import { DeliveryRepository } from './delivery.repository.js';

const database = useDatabase();
const world = useWorld(database);

/** What the records of deliveries to this worker decided, in their order. */
const decisionsFor = async (workerId: string): Promise<string[]> => {
  const records = await database().query<{ decision: string }>(
    'SELECT decision FROM delivery_records WHERE worker_id = $1 ORDER BY decided_at_ms',
    [workerId],
  );
  return records.map(({ decision }) => decision);
};

/** A delivery that something overtakes between its read and its write. */
class Overtaken extends DeliveryRepository {
  constructor(private readonly overtake: () => Promise<unknown>) {
    super();
  }

  override async readFacts(tx: Tx, workerId: string, attemptId: string): Promise<DeliveryFacts> {
    const facts = await super.readFacts(tx, workerId, attemptId);
    await this.overtake();
    return facts;
  }
}

/** A delivery that takes its time after each of its two statements, and when the second of them was sent. */
class Slow extends DeliveryRepository {
  sentAtMs = 0;

  override async readFacts(tx: Tx, workerId: string, attemptId: string): Promise<DeliveryFacts> {
    const facts = await super.readFacts(tx, workerId, attemptId);
    await tx.query('SELECT pg_sleep(0.1)');
    return facts;
  }

  override async authorise(...asked: Parameters<DeliveryRepository['authorise']>) {
    this.sentAtMs = performance.now();
    const written = await super.authorise(...asked);
    await pause(100);
    return written;
  }
}

class Lowered extends TransactionRunner {
  override run<T>(options: TransactionOptions, work: (tx: Tx) => Promise<T>): Promise<T> {
    return super.run({ ...options, isolation: 'READ COMMITTED' }, work);
  }
}

describe.each([
  ['SERIALIZABLE', TransactionRunner],
  ['lowered to READ COMMITTED', Lowered],
])('a delivery in a transaction that is %s', (_isolation, Runner) => {
  let dataSource: DataSource;

  beforeAll(async () => {
    const pool = { url: database().url('valise_ingress'), applicationName: 'race', poolSize: 8 };
    dataSource = await new DataSource(connectionOptions(pool, DEFAULT_SETTINGS)).initialize();
  });
  afterAll(() => dataSource.destroy());

  function overtaken(held: Held, overtake: () => Promise<unknown>): Promise<string> {
    let times = 0;
    const once = () => (times++ === 0 ? overtake() : Promise.resolve());
    const authority = new DeliveryAuthority(
      new Runner(dataSource, DEFAULT_SETTINGS),
      new Overtaken(once),
      DEFAULT_SETTINGS,
    );
    const caller = { ...held.worker, certificateSerial: '01' };
    return codeOf(authority.authorize(caller, delivery(held), sha256Hex('request')));
  }

  it('has the response deadline from the moment its write was sent, however long the rest took', async () => {
    const held = await world().held('starting');
    const slow = new Slow();
    const authority = new DeliveryAuthority(new Runner(dataSource, DEFAULT_SETTINGS), slow, DEFAULT_SETTINGS);
    const caller = { ...held.worker, certificateSerial: '01' };
    const { respondByMs } = await authority.authorize(caller, delivery(held), sha256Hex('request'));
    const allowedMs = respondByMs - slow.sentAtMs;
    expect(allowedMs).toBeLessThanOrEqual(DEFAULT_SETTINGS.responseDeadlineMs);
    expect(allowedMs).toBeGreaterThan(DEFAULT_SETTINGS.responseDeadlineMs - 90);
  });

  it.each<[string, (held: Held) => Promise<unknown>]>([
    ['a renewal', (held) => world().leases.renew(held.worker, renewal(held))],
    [
      'a cancellation',
      (held) => world().runs.cancel(OPERATOR, PROJECT, held.fence.runId, { mutationId: randomUUID() }),
    ],
    ['a new session', (held) => world().register(held.worker.workerId, newSessionId())],
    [
      'a revocation',
      (held) =>
        world().workers.put(OPERATOR, held.worker.workerId, { status: 'revoked', projects: [], labels: {} }),
    ],
    [
      'giving the attempt back and another claim',
      async (held) => {
        await world().attempts.startFailure(held.worker, { ...held.fence, reasonCode: 'worker_shutdown' });
        await world().claim(await world().worker());
      },
    ],
    [
      'expiry and the sweeper',
      async (held) => {
        await world().expireLease(held);
        await world().sweeper.sweep();
      },
    ],
    ['expiry alone', (held) => world().expireLease(held)],
  ])('is denied, on record, when %s overtakes it', async (_what, overtake) => {
    const held = await world().held('starting');
    expect(await overtaken(held, () => overtake(held))).toBe('worker_secret_delivery_fenced');
    expect(await decisionsFor(held.worker.workerId)).toEqual(['denied']);
    expect((await world().leaseOf(held)).authorisations).toBe(0);
  });

  it('is not granted when another delivery of the same claim overtakes it', async () => {
    const held = await world().held('starting');
    expect(await overtaken(held, () => world().authorize(held))).not.toBe('no refusal');
    expect(await world().leaseOf(held)).toMatchObject({ authorisations: 1 });
  });

  it('is not granted when custody fails its claim the fifth time meanwhile', async () => {
    const held = await world().held('starting');
    const fail = async () => world().deliveries.settle(await world().authorize(held), 'custody_failed');
    for (let time = 0; time < 4; time += 1) await fail();
    expect(await overtaken(held, fail)).not.toBe('no refusal');
    expect(await world().leaseOf(held)).toMatchObject({ authorisations: 0, custody_failures: 5 });
  });

  it('is granted once when the same request arrives twice at the same moment', async () => {
    const held = await world().held('starting');
    const codes = await Promise.all([
      overtaken(held, () => Promise.resolve()),
      overtaken(held, () => Promise.resolve()),
      overtaken(held, () => Promise.resolve()),
    ]);
    expect(codes.filter((code) => code === 'no refusal')).toHaveLength(1);
    expect(await world().leaseOf(held)).toMatchObject({ authorisations: 1 });
    const decisions = await decisionsFor(held.worker.workerId);
    expect(decisions.filter((decision) => decision === 'authorised')).toHaveLength(1);
  });
});
