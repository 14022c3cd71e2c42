import type { Client } from 'pg';
import type { Search } from './search.js';

interface Column {
  readonly schema: string;
  readonly table: string;
  readonly column: string;
  /** How the column's content is read without losing a byte of it. */
  readonly reading: 'bytes' | 'json' | 'text';
}

const ROWS_AT_ONCE = 200;

/**
 * Every column of every table the connection may read, system catalogues and partitions included, plus the statements
 * that PostgreSQL remembers of each session. Types, schemas and names are taken from the catalogue, so a table that is
 * added tomorrow is searched tomorrow. Long values lie compressed on disk, so only this way are they seen.
 */
const COLUMNS = `
  SELECT n.nspname AS schema, c.relname AS table, a.attname AS column,
         CASE WHEN a.atttypid = 'bytea'::regtype THEN 'bytes'
              WHEN t.typcategory IN ('A', 'C') AND t.typtype <> 'p' THEN 'json'
              ELSE 'text' END AS reading
    FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    JOIN pg_type t ON t.oid = a.atttypid
   WHERE (c.relkind IN ('r', 'm') OR c.oid = 'pg_stat_activity'::regclass)
     AND has_schema_privilege(n.oid, 'USAGE')
     AND has_column_privilege(c.oid, a.attnum, 'SELECT')
   ORDER BY n.nspname, c.relname, a.attnum`;

/** Feeds the content of the database to `search`, in one snapshot. */
export async function searchDatabase(client: Client, search: Search): Promise<void> {
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  try {
    const { rows } = await client.query<Column>(COLUMNS);
    for (const [table, columns] of byTable(rows)) await searchTable(client, table, columns, search);
  } finally {
    await client.query('ROLLBACK');
  }
}

async function searchTable(
  client: Client,
  table: string,
  columns: readonly Column[],
  search: Search,
): Promise<void> {
  const list = columns.map((column) => readingOf(client, column)).join(', ');
  await client.query(`DECLARE searched NO SCROLL CURSOR FOR SELECT ${list} FROM ${table}`);
  for (;;) {
    const { rows } = await client.query<(Buffer | string | null)[]>({
      text: `FETCH ${ROWS_AT_ONCE} FROM searched`,
      rowMode: 'array',
    });
    if (rows.length === 0) break;
    for (const row of rows) {
      for (const [index, cell] of row.entries()) {
        const column = columns[index];
        if (cell === null || !column) continue;
        search.bytes(
          typeof cell === 'string' ? Buffer.from(cell) : cell,
          `${column.schema}.${column.table}.${column.column}`,
        );
      }
    }
  }
  await client.query('CLOSE searched');
}

function readingOf(client: Client, { column, reading }: Column): string {
  const name = client.escapeIdentifier(column);
  switch (reading) {
    case 'bytes':
      return name;
    // The text form of arrays and rows doubles quotes and backslashes; JSON escapes as our patterns do.
    case 'json':
      return `to_json(${name})::text`;
    case 'text':
      return `${name}::text`;
  }
}

function byTable(columns: readonly Column[]): Map<string, Column[]> {
  const tables = new Map<string, Column[]>();
  for (const column of columns) {
    const name = `"${column.schema.replaceAll('"', '""')}"."${column.table.replaceAll('"', '""')}"`;
    const known = tables.get(name);
    if (known) known.push(column);
    else tables.set(name, [column]);
  }
  return tables;
}
