import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The clock that decides, and the months of the append-only tables. */
export class Foundation1764460800001 implements MigrationInterface {
  readonly name = 'Foundation1764460800001';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC');

    // Milliseconds now, not at the start of the transaction: read it after a lock is held.
    await queryRunner.query(`
      CREATE FUNCTION clock_ms() RETURNS bigint LANGUAGE sql VOLATILE PARALLEL SAFE
      RETURN floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint`);

    // The tables that are kept by month, and the column that says which.
    await queryRunner.query(`
      CREATE TABLE partitioned_tables (
        table_name text CONSTRAINT pk_partitioned_tables PRIMARY KEY
      )`);

    await queryRunner.query(`
      CREATE FUNCTION month_start_ms(moment timestamptz) RETURNS bigint LANGUAGE sql IMMUTABLE
      RETURN (extract(epoch FROM date_trunc('month', moment AT TIME ZONE 'UTC')) * 1000)::bigint`);

    // Creates what is missing of the months from now - months_back to now + months_ahead.
    await queryRunner.query(`
      CREATE FUNCTION create_partitions(months_back integer, months_ahead integer) RETURNS integer
      LANGUAGE plpgsql SECURITY DEFINER SET search_path = valise, pg_temp AS $$
      DECLARE
        entry record;
        first_day timestamptz;
        partition_name text;
        created integer := 0;
      BEGIN
        PERFORM pg_advisory_xact_lock(4960202);
        FOR entry IN SELECT table_name FROM partitioned_tables ORDER BY table_name LOOP
          FOR months IN -months_back .. months_ahead LOOP
            first_day := date_trunc('month', clock_timestamp() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'
              + make_interval(months => months);
            partition_name := entry.table_name || '_' || to_char(first_day AT TIME ZONE 'UTC', 'YYYY_MM');
            IF to_regclass(partition_name) IS NULL THEN
              -- Attaching blocks nobody; CREATE … PARTITION OF would lock all writers out.
              EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS)',
                partition_name, entry.table_name);
              EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)',
                entry.table_name, partition_name,
                month_start_ms(first_day), month_start_ms(first_day + interval '1 month'));
              created := created + 1;
            END IF;
          END LOOP;
        END LOOP;
        RETURN created;
      END $$`);

    // Drops the months that have ended and ended before keep_from_ms; the only way records ever leave.
    await queryRunner.query(`
      CREATE FUNCTION drop_partitions(keep_from_ms bigint) RETURNS integer
      LANGUAGE plpgsql SECURITY DEFINER SET search_path = valise, pg_temp AS $$
      DECLARE
        entry record;
        dropped integer := 0;
      BEGIN
        PERFORM pg_advisory_xact_lock(4960202);
        FOR entry IN
          WITH partitions AS MATERIALIZED (
            SELECT child.relname AS partition_name
              FROM partitioned_tables
              JOIN pg_inherits ON inhparent = to_regclass(table_name)
              JOIN pg_class child ON child.oid = inhrelid)
          SELECT partition_name FROM partitions
           WHERE month_start_ms(to_timestamp(right(partition_name, 7) || '_01 +00', 'YYYY_MM_DD TZH')
                   + interval '1 month') <= LEAST(keep_from_ms, clock_ms())
           ORDER BY partition_name
        LOOP
          EXECUTE format('DROP TABLE %I', entry.partition_name);
          dropped := dropped + 1;
        END LOOP;
        RETURN dropped;
      END $$`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('DROP FUNCTION drop_partitions(bigint)');
    await queryRunner.query('DROP FUNCTION create_partitions(integer, integer)');
    await queryRunner.query('DROP FUNCTION month_start_ms(timestamptz)');
    await queryRunner.query('DROP TABLE partitioned_tables');
    await queryRunner.query('DROP FUNCTION clock_ms()');
    await queryRunner.query('ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON FUNCTIONS TO PUBLIC');
  }
}
