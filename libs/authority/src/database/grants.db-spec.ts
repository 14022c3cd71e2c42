import { Client } from 'pg';
import { useDatabase } from '../../../../test/support/postgres.js';
import { PROCESS_ROLES, type ProcessRole } from './roles.js';

const database = useDatabase();

/** Table → the privileges of ingress, operator, sweeper and retention; lower case: on some columns only. */
const MATRIX: Readonly<Record<string, readonly [string, string, string, string]>> = {
  artifact_chunks: ['I', 'S', '-', '-'],
  artifact_uploads: ['SIuD', '-', 'SD', '-'],
  artifact_usage: ['SIu', '-', 'Su', '-'],
  artifacts: ['SI', 'S', 'SD', '-'],
  attempts: ['Su', 'SIu', 'Su', '-'],
  audit_events: ['-', 'Si', 'i', '-'],
  delivery_outcomes: ['I', 'S', '-', '-'],
  delivery_records: ['I', 'S', '-', '-'],
  denial_windows: ['Su', 'i', 'Su', '-'],
  late_reports: ['sI', 'S', '-', '-'],
  lease_claims: ['SI', '-', '-', '-'],
  leases: ['Su', 'Siu', 'Su', '-'],
  mutations: ['-', 'SI', '-', '-'],
  partitioned_tables: ['-', '-', '-', '-'],
  runs: ['Su', 'SIu', 'Su', '-'],
  schema_migrations: ['-', '-', '-', '-'],
  task_definition_revisions: ['-', 'SI', '-', '-'],
  task_execution_revisions: ['S', 'SI', 's', '-'],
  tasks: ['-', 'SIu', '-', '-'],
  worker_sessions: ['Su', 'Siu', 'Su', '-'],
  workers: ['S', 'SIu', '-', '-'],
};

async function privilegesOf(role: string): Promise<Record<string, string>> {
  const rows = await database().query<{ table_name: string; privileges: string }>(
    `SELECT relname AS table_name, concat(
        CASE WHEN has_table_privilege($1, oid, 'SELECT') THEN 'S'
             WHEN has_any_column_privilege($1, oid, 'SELECT') THEN 's' END,
        CASE WHEN has_table_privilege($1, oid, 'INSERT') THEN 'I'
             WHEN has_any_column_privilege($1, oid, 'INSERT') THEN 'i' END,
        CASE WHEN has_table_privilege($1, oid, 'UPDATE') THEN 'U'
             WHEN has_any_column_privilege($1, oid, 'UPDATE') THEN 'u' END,
        CASE WHEN has_table_privilege($1, oid, 'DELETE') THEN 'D' END,
        CASE WHEN has_table_privilege($1, oid, 'TRUNCATE') THEN 'T' END,
        CASE WHEN has_table_privilege($1, oid, 'TRIGGER') THEN 'R' END) AS privileges
       FROM pg_class WHERE relnamespace = 'valise'::regnamespace AND relkind IN ('r', 'p')`,
    [role],
  );
  return Object.fromEntries(rows.map((row) => [row.table_name, row.privileges || '-']));
}

const isPartition = (table: string): boolean => /_\d{4}_\d{2}$/.test(table);

async function as(role: ProcessRole, statement: string): Promise<string> {
  const client = new Client({ connectionString: database().url(role), options: '-c search_path=valise' });
  await client.connect();
  try {
    await client.query(statement);
    return 'allowed';
  } catch (error) {
    return (error as { code?: string }).code ?? 'unknown';
  } finally {
    await client.end();
  }
}

const DENIED = '42501';

describe('the grants', () => {
  it.each(PROCESS_ROLES.map((role, index) => [role, index] as const))(
    'give %s what the matrix says and nothing else',
    async (role, index) => {
      const privileges = await privilegesOf(role);
      const tables = Object.keys(privileges).filter((table) => !isPartition(table));
      expect(Object.fromEntries(tables.map((table) => [table, privileges[table]]))).toEqual(
        Object.fromEntries(Object.entries(MATRIX).map(([table, roles]) => [table, roles[index]])),
      );
      const partitions = Object.entries(privileges).filter(([table]) => isPartition(table));
      expect(partitions.length).toBeGreaterThan(0);
      expect(partitions.filter(([, given]) => given !== '-')).toEqual([]);
    },
  );

  it('give everybody else nothing', async () => {
    const open = await database().query(`
      SELECT relname FROM pg_class, aclexplode(relacl) WHERE relnamespace = 'valise'::regnamespace AND grantee = 0
      UNION ALL
      SELECT proname FROM pg_proc, aclexplode(coalesce(proacl, acldefault('f', proowner)))
       WHERE pronamespace = 'valise'::regnamespace AND grantee = 0
      UNION ALL
      SELECT nspname FROM pg_namespace, aclexplode(nspacl) WHERE nspname = 'valise' AND grantee = 0
      UNION ALL
      SELECT datname FROM pg_database, aclexplode(coalesce(datacl, acldefault('d', datdba)))
       WHERE datname = current_database() AND grantee = 0`);
    expect(open).toEqual([]);
  });

  it.each([
    'delivery_records',
    'delivery_outcomes',
    'late_reports',
    'lease_claims',
    'audit_events',
    'mutations',
  ])('let no process change or remove a row of %s', async (table) => {
    for (const role of PROCESS_ROLES) {
      expect(await as(role, `DELETE FROM ${table}`)).toBe(DENIED);
      expect(await as(role, `TRUNCATE ${table}`)).toBe(DENIED);
      const [column] = await database().query<{ attname: string }>(
        'SELECT attname FROM pg_attribute WHERE attrelid = $1::regclass AND attnum = 2',
        [table],
      );
      const name = column?.attname ?? '';
      expect(await as(role, `UPDATE ${table} SET ${name} = ${name}`)).toBe(DENIED);
    }
  });

  it('keep published revisions from those who publish', async () => {
    for (const table of ['task_definition_revisions', 'task_execution_revisions']) {
      expect(await as('valise_operator', `UPDATE ${table} SET content_digest = ''`)).toBe(DENIED);
      expect(await as('valise_operator', `DELETE FROM ${table}`)).toBe(DENIED);
    }
  });

  it('keep the registry of workers from the listener that workers reach', async () => {
    expect(await as('valise_ingress', `UPDATE workers SET projects = '{*}'`)).toBe(DENIED);
    expect(await as('valise_ingress', `INSERT INTO workers VALUES ('w', 'active', '{*}', '{}', 0, 0)`)).toBe(
      DENIED,
    );
    expect(await as('valise_ingress', 'SELECT FROM workers FOR UPDATE')).toBe(DENIED);
  });

  it('let operators neither claim nor authorise', async () => {
    expect(await as('valise_operator', `UPDATE leases SET token_digest = ''`)).toBe(DENIED);
    expect(await as('valise_operator', 'UPDATE leases SET authorisations = 0')).toBe(DENIED);
    expect(await as('valise_operator', 'UPDATE runs SET revision = 1')).toBe(DENIED);
  });

  it('let nobody make a table', async () => {
    for (const role of PROCESS_ROLES) {
      expect(await as(role, 'CREATE TABLE valise.mine (id integer)')).toBe(DENIED);
      expect(await as(role, 'CREATE TEMP TABLE mine (id integer)')).toBe(DENIED);
      expect(await as(role, 'CREATE TABLE public.mine (id integer)')).toBe(DENIED);
    }
  });

  it('let the retention role drop the months that have ended, and nobody else', async () => {
    await database().query('SELECT create_partitions(2, 0)');
    for (const role of ['valise_ingress', 'valise_operator', 'valise_sweeper'] as const) {
      expect(await as(role, 'SELECT drop_partitions(9007199254740991)')).toBe(DENIED);
    }
    const before = await countMonths();
    expect(await as('valise_retention', 'SELECT drop_partitions(9007199254740991)')).toBe('allowed');
    expect(before).toBe(6);
    expect(await countMonths()).toBe(4);
  });
});

async function countMonths(): Promise<number> {
  const [row] = await database().query<{ months: number }>(
    `SELECT count(*)::int AS months FROM pg_inherits WHERE inhparent = 'audit_events'::regclass`,
  );
  return row?.months ?? 0;
}
