import type { Client } from 'pg';
import { PROCESS_ROLES, type ProcessRole } from '@valise/authority';

const PASSWORD = 'valise-test-role';

/** Every process role may log in. Roles belong to the cluster: another suite may be doing the same, with the same password. */
export async function allowLogins(administrator: Client): Promise<void> {
  await administrator.query('SELECT pg_advisory_lock(4960299)');
  for (const role of PROCESS_ROLES) {
    await administrator.query(`ALTER ROLE ${role} LOGIN PASSWORD '${PASSWORD}'`);
  }
}

/** The database of `url`, as one of the product's roles. */
export function urlAs(role: ProcessRole, url: string): string {
  const changed = new URL(url);
  changed.username = role;
  changed.password = PASSWORD;
  return changed.href;
}
