import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A lease counts how often custody failed its claim. */
export class CustodyFailures1764460800010 implements MigrationInterface {
  readonly name = 'CustodyFailures1764460800010';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      ALTER TABLE leases ADD COLUMN custody_failures integer NOT NULL DEFAULT 0
        CONSTRAINT ck_leases_custody_failures CHECK (custody_failures BETWEEN 0 AND 5)`);
    await queryRunner.query('GRANT UPDATE (custody_failures) ON leases TO valise_ingress');
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('ALTER TABLE leases DROP COLUMN custody_failures');
  }
}
