import type { Client } from 'pg';
import { SCHEMA } from './data-source.js';

/** The owner of the schema; nothing that runs uses it. */
export const OWNER_ROLE = 'valise_migration';

/** What the product's processes log in as; each has the grants of migration `Grants` and no other. */
export const PROCESS_ROLES = [
  'valise_ingress',
  'valise_operator',
  'valise_sweeper',
  'valise_retention',
] as const;
export type ProcessRole = (typeof PROCESS_ROLES)[number];

/**
 * The roles and the schema exist, without a login or a password: the operator gives those.
 * Roles belong to the cluster: another database may be creating the same ones at this moment.
 */
export async function ensureRoles(administrator: Client): Promise<void> {
  for (const role of [OWNER_ROLE, ...PROCESS_ROLES]) {
    await administrator.query(`
      DO $$ BEGIN
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '${role}') THEN
          CREATE ROLE ${role} NOLOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOINHERIT;
        END IF;
      EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
      END $$`);
  }
  await administrator.query(`
    DO $$ BEGIN
      IF NOT (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
        EXECUTE format('GRANT ${OWNER_ROLE} TO %I', current_user);
      END IF;
      EXECUTE format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database());
      EXECUTE format('GRANT CONNECT ON DATABASE %I TO ${[OWNER_ROLE, ...PROCESS_ROLES].join(', ')}', current_database());
    END $$`);
  await administrator.query(`CREATE SCHEMA IF NOT EXISTS ${SCHEMA} AUTHORIZATION ${OWNER_ROLE}`);
}
