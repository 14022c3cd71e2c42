import { DataSource } from 'typeorm';
import { DEFAULT_SETTINGS } from '../settings.js';
import { connectionOptions } from './data-source.js';
import type { ProcessRole } from './roles.js';

/** Asks whether one role could work now, over a connection of its own, so that it never waits behind traffic. */
export class DatabaseProbe {
  private constructor(private readonly dataSource: DataSource) {}

  /** @throws Error of the driver when the database is not there */
  static async open(url: string): Promise<DatabaseProbe> {
    const pool = { url, applicationName: 'valise-health', poolSize: 1 };
    return new DatabaseProbe(await new DataSource(connectionOptions(pool, DEFAULT_SETTINGS)).initialize());
  }

  /** Whether the database answers, can be written to, and the login has the role's rights. Never throws. */
  async permits(role: ProcessRole): Promise<boolean> {
    try {
      const [answer] = await this.dataSource.query<{ permits: boolean }[]>(
        `SELECT pg_has_role(current_user, $1, 'USAGE') AND NOT pg_is_in_recovery() AS permits`,
        [role],
      );
      return answer?.permits === true;
    } catch {
      return false;
    }
  }

  close(): Promise<void> {
    return this.dataSource.destroy();
  }
}
