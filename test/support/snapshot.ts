import type { TestDatabase } from './postgres.js';

/** Every row of every table but the denial counters: equal before and after means that nothing was written. */
export async function snapshotOf(database: TestDatabase): Promise<Record<string, unknown>> {
  const [row] = await database.query<{ everything: Record<string, unknown> }>(`
    SELECT jsonb_build_object(
      'workers', (SELECT jsonb_agg(t ORDER BY worker_id) FROM workers t),
      'worker_sessions', (SELECT jsonb_agg(t ORDER BY worker_id) FROM worker_sessions t),
      'tasks', (SELECT jsonb_agg(t ORDER BY project_id, task_id) FROM tasks t),
      'definitions', (SELECT count(*) FROM task_definition_revisions),
      'executions', (SELECT count(*) FROM task_execution_revisions),
      'mutations', (SELECT count(*) FROM mutations),
      'runs', (SELECT jsonb_agg(t ORDER BY run_id) FROM runs t),
      'attempts', (SELECT jsonb_agg(t ORDER BY attempt_id) FROM attempts t),
      'leases', (SELECT jsonb_agg(t ORDER BY attempt_id) FROM leases t),
      'claims', (SELECT count(*) FROM lease_claims),
      'records', (SELECT count(*) FROM delivery_records),
      'outcomes', (SELECT count(*) FROM delivery_outcomes),
      'late_reports', (SELECT count(*) FROM late_reports),
      'audit', (SELECT count(*) FROM audit_events),
      'artifacts', (SELECT count(*) FROM artifacts),
      'uploads', (SELECT count(*) FROM artifact_uploads)) AS everything`);
  return row?.everything ?? {};
}
