import { randomUUID } from 'node:crypto';
import type { TestDatabase } from '../support/postgres.js';
import { OPERATOR, PROJECT } from '../support/published-task.js';
import type { World } from '../support/world.js';

/** `attempts` that have ended and been delivered to, each with all its rows, as years of work leave them. */
export async function populate(world: World, database: TestDatabase, attempts: number): Promise<void> {
  await insertRuns(world, database, attempts, 'succeeded');
  await bulk(
    database,
    `INSERT INTO lease_claims (offer_id, attempt_id, lease_generation, worker_id, session_id, worker_generation,
                               token_digest, placement_score, claimed_at_ms)
     SELECT 'succeeded-o' || i, 'succeeded-a' || i, 1, 'w', 's', 1, 't', 0, 0 FROM generate_series(1, $1::int) i`,
    attempts,
  );
  await bulk(
    database,
    `INSERT INTO delivery_records (record_id, decided_at_ms, decision, worker_id, run_id, attempt_id,
                                   lease_generation, secret_count, bundle_count, certificate_serial, request_digest)
     SELECT gen_random_uuid(), clock_ms(), 'authorised', 'w', 'succeeded-r' || i, 'succeeded-a' || i, 1, 1, 1, '01',
            md5(i::text) || md5(i::text)
       FROM generate_series(1, $1::int) i`,
    attempts,
  );
  await bulk(
    database,
    `INSERT INTO artifact_uploads (upload_id, log_artifact_id, project_id, byte_length, started_at_ms, finished)
     SELECT md5(i::text)::uuid, 'succeeded-l' || i, $2, 1, 0, true FROM generate_series(1, $1::int) i`,
    attempts,
    PROJECT,
  );
  await bulk(
    database,
    `INSERT INTO artifacts (log_artifact_id, upload_id, project_id, run_id, attempt_id, byte_length, sha256,
                            truncated, stored_at_ms)
     SELECT 'succeeded-l' || i, md5(i::text)::uuid, $2, 'succeeded-r' || i, 'succeeded-a' || i, 1, '', false, 0
       FROM generate_series(1, $1::int) i`,
    attempts,
    PROJECT,
  );
  await bulk(
    database,
    `INSERT INTO audit_events (occurred_at_ms, actor_kind, actor_id, action, subject_id, facts)
     SELECT clock_ms(), 'operator', 'o', 'start_run', 'succeeded-r' || i, '{}' FROM generate_series(1, $1::int) i`,
    attempts,
  );
  await database.query('ANALYZE');
}

/** `attempts` that wait for a worker. */
export async function queue(world: World, database: TestDatabase, attempts: number): Promise<void> {
  await insertRuns(world, database, attempts, 'queued');
  await database.query('ANALYZE');
}

/** Copies of a run that the authority made, so that they are as it makes them. */
async function insertRuns(
  world: World,
  database: TestDatabase,
  attempts: number,
  status: 'queued' | 'succeeded',
): Promise<void> {
  const runId = await world.queuedRun();
  const copies = [
    ['runs', `'run_id', '${status}-r' || i, 'status', '${status}'`],
    [
      'attempts',
      `'attempt_id', '${status}-a' || i, 'run_id', '${status}-r' || i, 'status', '${status}', 'queued_at_ms', i`,
    ],
    [
      'leases',
      `'attempt_id', '${status}-a' || i, 'state', '${status === 'queued' ? 'released' : 'completed'}'`,
    ],
  ] as const;
  for (const [table, changes] of copies) {
    await bulk(
      database,
      `INSERT INTO ${table}
       SELECT made.* FROM generate_series(1, $1::int) i
        CROSS JOIN (SELECT to_jsonb(${table}) AS row FROM ${table}
                     WHERE ${table === 'runs' ? 'run_id' : 'attempt_id'} =
                           (SELECT ${table === 'runs' ? 'run_id' : 'attempt_id'} FROM attempts WHERE run_id = '${runId}')
                   ) AS original
        CROSS JOIN LATERAL jsonb_populate_record(NULL::${table}, original.row || jsonb_build_object(${changes})) AS made`,
      attempts,
    );
  }
  await world.runs.cancel(OPERATOR, PROJECT, runId, { mutationId: randomUUID() });
}

/** Foreign keys are not checked row by row: the rows are right. */
async function bulk(database: TestDatabase, statement: string, ...parameters: unknown[]): Promise<void> {
  await database.query(`SET session_replication_role = 'replica'`);
  try {
    await database.query(statement, parameters);
  } finally {
    await database.query(`SET session_replication_role = 'origin'`);
  }
}
