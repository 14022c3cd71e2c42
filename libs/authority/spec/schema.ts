/** Runs a statement in the schema's database. */
type Query = <Row extends object>(statement: string) => Promise<Row[]>;

/** Partitions come and go by the month; the list of what was migrated is TypeORM's. */
const TABLES = `
  SELECT oid, relname, relacl, pg_get_partkeydef(oid) AS partitioned FROM pg_class
   WHERE relnamespace = 'valise'::regnamespace AND relkind IN ('r', 'p')
     AND NOT relispartition AND relname <> 'schema_migrations'`;

const TEXT = `
  WITH tables AS (${TABLES}), granted AS (
    SELECT relname AS name, relacl AS acl FROM tables
    UNION ALL
    SELECT proname, proacl FROM pg_proc WHERE pronamespace = 'valise'::regnamespace), granted_columns AS (
    SELECT relname AS name, attname, privilege_type, grantee
      FROM tables JOIN pg_attribute ON attrelid = tables.oid, aclexplode(attacl)), pieces AS (
    SELECT relname AS name, 0 AS part, 0 AS place, format('CREATE TABLE %s (', relname) AS text FROM tables
    UNION ALL
    SELECT relname, 1, attnum, format('  %s %s%s%s', attname, format_type(atttypid, atttypmod),
           CASE WHEN attnotnull THEN ' NOT NULL' ELSE '' END,
           CASE WHEN attidentity <> '' THEN ' GENERATED ALWAYS AS IDENTITY'
                WHEN adbin IS NOT NULL THEN ' DEFAULT ' || pg_get_expr(adbin, adrelid) ELSE '' END)
      FROM tables JOIN pg_attribute ON attrelid = tables.oid AND attnum > 0 AND NOT attisdropped
      LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
    UNION ALL
    SELECT relname, 2, 0, format('  CONSTRAINT %s %s', conname, pg_get_constraintdef(pg_constraint.oid))
      FROM tables JOIN pg_constraint ON conrelid = tables.oid AND contype <> 'n'
    UNION ALL
    SELECT relname, 3, 0, ')' || coalesce(' PARTITION BY ' || partitioned, '') || ';' FROM tables
    UNION ALL
    SELECT relname, 4, 0, replace(pg_get_indexdef(indexrelid), 'valise.', '') || ';'
      FROM tables JOIN pg_index ON indrelid = tables.oid
     WHERE NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid)
    UNION ALL
    SELECT relname, 5, 0, pg_get_triggerdef(pg_trigger.oid) || ';'
      FROM tables JOIN pg_trigger ON tgrelid = tables.oid AND NOT tgisinternal
    UNION ALL
    SELECT proname, 6, 0, trim(pg_get_functiondef(oid), E'\\n') || ';'
      FROM pg_proc WHERE pronamespace = 'valise'::regnamespace
    UNION ALL
    SELECT name, 7, 0, format('GRANT %s ON %s TO %s;', string_agg(privilege_type, ', ' ORDER BY privilege_type), name,
           CASE WHEN grantee = 0 THEN 'PUBLIC' ELSE grantee::regrole::text END)
      FROM granted, aclexplode(acl) WHERE grantee <> 'valise_migration'::regrole GROUP BY name, grantee
    UNION ALL
    SELECT name, 8, 0, format('GRANT %s (%s) ON %s TO %s;', privilege_type, string_agg(attname, ', ' ORDER BY attname),
           name, grantee::regrole)
      FROM granted_columns GROUP BY name, privilege_type, grantee)
  SELECT name, part, text FROM pieces ORDER BY name, part, place, text`;

/** The whole schema as one reads it: each table with its constraints, indexes, triggers and rights; functions as well. */
export async function describeSchema(query: Query): Promise<string> {
  const pieces = await query<{ name: string; part: number; text: string }>(TEXT);
  const lines: string[] = [];
  let current = '';
  for (const [index, { name, part, text }] of pieces.entries()) {
    if (name !== current && current !== '') lines.push('');
    current = name;
    const isListed = part === 1 || part === 2;
    const follows = pieces[index + 1]?.part === 1 || pieces[index + 1]?.part === 2;
    lines.push(isListed && follows ? `${text},` : text);
  }
  return lines.map((line) => `${line}\n`).join('');
}
