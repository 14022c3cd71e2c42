import type { AnyMove, Database, History, Rows } from './history.js';

const TABLES: readonly (keyof Rows)[] = [
  'leases',
  'attempts',
  'runs',
  'worker_sessions',
  'workers',
  'lease_claims',
  'delivery_records',
  'delivery_outcomes',
  'late_reports',
  'audit_events',
];

/** From now on every committed change of a row leaves a line, which stands or falls with its transaction. */
export async function layTrail(database: Database): Promise<void> {
  await database.query(`
    CREATE TABLE public.trail (
      position bigint GENERATED ALWAYS AS IDENTITY,
      transaction text NOT NULL,
      role text NOT NULL,
      table_name text NOT NULL,
      before jsonb,
      after jsonb NOT NULL
    )`);
  // The table's owner writes, whoever causes it; session_user stays who that is.
  await database.query(`
    CREATE FUNCTION public.leave_trail() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
    BEGIN
      INSERT INTO public.trail (transaction, role, table_name, before, after)
      VALUES (pg_current_xact_id()::text, session_user, TG_ARGV[0],
              CASE WHEN TG_OP = 'UPDATE' THEN to_jsonb(OLD) END, to_jsonb(NEW));
      RETURN NULL;
    END $$`);
  for (const table of TABLES) {
    await database.query(`
      CREATE TRIGGER leave_trail AFTER INSERT OR UPDATE ON valise.${table}
        FOR EACH ROW EXECUTE FUNCTION public.leave_trail('${table}')`);
  }
}

interface TrailRow {
  readonly position: string;
  readonly transaction: string;
  readonly role: string;
  readonly table_name: string;
  readonly before: unknown;
  readonly after: unknown;
}

export async function readTrail(database: Database): Promise<AnyMove[]> {
  const rows = await database.query<TrailRow>('SELECT * FROM public.trail ORDER BY position');
  return rows.map(
    (row) =>
      ({
        position: Number(row.position),
        transaction: row.transaction,
        role: row.role.startsWith('valise_') ? row.role : 'time',
        table: row.table_name,
        before: row.before,
        after: row.after,
      }) as AnyMove,
  );
}

export async function readFinal(database: Database): Promise<History['final']> {
  const rowsOf = async <Row>(table: keyof Rows): Promise<Row[]> => {
    const rows = await database.query<{ row: Row }>(`SELECT to_jsonb(t) AS row FROM ${table} t`);
    return rows.map(({ row }) => row);
  };
  return { leases: await rowsOf('leases'), attempts: await rowsOf('attempts'), runs: await rowsOf('runs') };
}
