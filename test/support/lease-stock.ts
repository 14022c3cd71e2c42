import { randomUUID } from 'node:crypto';
import type { PublishTaskRequest } from '@valise/contracts/wire';
import type { Deployment } from './deployment.js';
import { delivery } from './held-attempt.js';
import type { PlayedWorker } from './played-worker.js';
import type { TestDatabase } from './postgres.js';
import { onlyFor, publication } from './published-task.js';
import { until } from './until.js';
import { postJson } from './wire/wire-request.js';

/** References of a task, with what lies in their files. */
export interface Material {
  readonly secrets: ReadonlyMap<string, Buffer>;
  readonly bundle: { readonly reference: string; readonly carrier: Buffer } | null;
}

/** Deliveries that a claim may have (state.md). */
const DELIVERIES_OF_A_CLAIM = 8;
const DAY_MS = 86_400_000;

/** `count` workers with sessions that outlive any measurement. */
export async function stockWorkers(deployment: Deployment, count: number): Promise<PlayedWorker[]> {
  const workers: PlayedWorker[] = [];
  for (let index = 0; index < count; index += 1) {
    workers.push(await deployment.playedWorker(`stock-${randomUUID()}`));
  }
  await deployment.database.query(
    `UPDATE worker_sessions SET expires_at_ms = clock_ms() + ${DAY_MS} WHERE worker_id LIKE 'stock-%'`,
  );
  return workers;
}

/** Attempts that wait for their secrets, so many for each worker: copies of one that the authority made. */
export class LeaseStock {
  private constructor(
    private readonly database: TestDatabase,
    private readonly name: string,
    private readonly workers: readonly PlayedWorker[],
    private readonly perWorker: number,
    private readonly request: Readonly<Record<string, unknown>>,
  ) {}

  static async prepare(
    deployment: Deployment,
    workers: readonly PlayedWorker[],
    perWorker: number,
    material: Material,
  ): Promise<LeaseStock> {
    for (const [reference, content] of material.secrets) deployment.secrets.lay(reference, content);
    if (material.bundle) deployment.secrets.lay(material.bundle.reference, material.bundle.carrier);
    // Copies count as held: whoever has some may have no room for the original.
    const claimant = await deployment.playedWorker();
    await deployment.run(taskOf(material, claimant.workerId));
    const held = await claimant.hold();
    const name = randomUUID().slice(0, 8);
    const { database } = deployment;
    await copyAttempts(database, held.fence.attemptId, name, workers, perWorker);
    const request = delivery(held, {
      secretRefs: [...material.secrets.keys()],
      environmentBundleRefs: material.bundle ? [material.bundle.reference] : [],
    });
    return new LeaseStock(database, name, workers, perWorker, { ...request });
  }

  /** Requests of one worker, a different attempt each time round. */
  requestsOf(worker: number, keepAlive: boolean): Buffer[] {
    const found = this.workers[worker];
    if (!found) throw new Error('the stock has this worker');
    return Array.from({ length: this.perWorker }, (_, index) => {
      const number = worker * this.perWorker + index;
      const body = {
        ...this.request,
        workerGeneration: found.generation,
        runId: `${this.name}-r${number}`,
        attemptId: `${this.name}-a${number}`,
        offerId: `${this.name}-o${number}`,
      };
      return postJson(found.pathOf('secrets'), body, keepAlive);
    });
  }

  /** How many deliveries a worker may have until the next `refill`. */
  get deliveriesPerWorker(): number {
    return this.perWorker * DELIVERIES_OF_A_CLAIM;
  }

  /** Every claim has its whole budget again. */
  async refill(): Promise<void> {
    await this.database.query(
      `UPDATE leases SET authorisations = 0, custody_failures = 0, open_record_id = NULL, open_since_ms = NULL,
              expires_at_ms = clock_ms() + ${DAY_MS}
        WHERE attempt_id >= $1 AND attempt_id < $2`,
      [`${this.name}-`, `${this.name}.`],
    );
  }

  /** Resolves once every delivery has its outcome on record, which comes after the answer; until then a claim gets no other. */
  async settled(): Promise<void> {
    await until('the outcome of every delivery', async () => {
      const open = await this.database.query(
        `SELECT FROM leases WHERE attempt_id >= $1 AND attempt_id < $2 AND open_record_id IS NOT NULL LIMIT 1`,
        [`${this.name}-`, `${this.name}.`],
      );
      return open.length === 0;
    });
  }
}

function taskOf({ secrets, bundle }: Material, workerId: string): Partial<PublishTaskRequest> {
  const { spec } = publication();
  const { placement } = onlyFor(workerId).spec?.config as { placement: unknown };
  const config = {
    command: { kind: 'argv', file: '/bin/true', args: [] },
    environment: [...secrets.keys()].map((secretRef, index) => ({
      name: `SECRET_${String(index).padStart(3, '0')}`,
      kind: 'secret',
      secretRef,
    })),
    ...(bundle && { environmentBundleRef: bundle.reference }),
    placement,
  };
  return { spec: { ...spec, config } };
}

async function copyAttempts(
  database: TestDatabase,
  attemptId: string,
  name: string,
  workers: readonly PlayedWorker[],
  perWorker: number,
): Promise<void> {
  const holders = JSON.stringify(
    workers.map(({ workerId, sessionId, generation }) => ({ workerId, sessionId, generation })),
  );
  const copy = (table: string, changes: string): Promise<unknown> =>
    database.query(
      `INSERT INTO ${table}
       SELECT made.* FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS holder (value, place)
        CROSS JOIN generate_series(0, $2::int - 1) AS copy
        CROSS JOIN LATERAL (SELECT (place - 1) * $2::int + copy AS i) AS numbered
        CROSS JOIN (SELECT to_jsonb(t) AS row FROM ${table} t WHERE ${
          table === 'runs'
            ? `run_id = (SELECT run_id FROM attempts WHERE attempt_id = $3)`
            : 'attempt_id = $3'
        }) AS original
        CROSS JOIN LATERAL jsonb_populate_record(NULL::${table}, original.row || jsonb_build_object(${changes})) AS made`,
      [holders, perWorker, attemptId],
    );
  const holder = `'worker_id', holder.value->>'workerId', 'session_id', holder.value->>'sessionId',
    'worker_generation', (holder.value->>'generation')::int, 'offer_id', '${name}-o' || i`;
  // Foreign keys are not checked row by row: the rows are right.
  await database.query(`SET session_replication_role = 'replica'`);
  try {
    await copy('runs', `'run_id', '${name}-r' || i`);
    await copy('attempts', `'attempt_id', '${name}-a' || i, 'run_id', '${name}-r' || i`);
    await copy(
      'leases',
      `'attempt_id', '${name}-a' || i, 'expires_at_ms', clock_ms() + ${DAY_MS}, ${holder}`,
    );
    await copy('lease_claims', `'attempt_id', '${name}-a' || i, ${holder}`);
  } finally {
    await database.query(`SET session_replication_role = 'origin'`);
  }
  await database.query('ANALYZE');
}
