import { DatabaseProbe, type ProcessRole } from '@valise/authority';
import type { Drain } from '../http/drain.js';

/** A login and the role that it works under. */
export interface RoleLogin {
  readonly role: ProcessRole;
  readonly url: string;
}

/** Whether the program can do its work now: it is not about to end, and the database lets every role of it in. */
export class Readiness {
  private asking: Promise<boolean> | null = null;

  private constructor(
    private readonly probes: readonly { readonly role: ProcessRole; readonly probe: DatabaseProbe }[],
    private readonly drain: Drain,
  ) {}

  /** Opens one connection per login, for this question alone. @throws Error of the driver */
  static async open(logins: readonly RoleLogin[], drain: Drain): Promise<Readiness> {
    const probes: { role: ProcessRole; probe: DatabaseProbe }[] = [];
    try {
      for (const { role, url } of logins) probes.push({ role, probe: await DatabaseProbe.open(url) });
    } catch (error) {
      await Promise.all(probes.map(({ probe }) => probe.close()));
      throw error;
    }
    return new Readiness(probes, drain);
  }

  /** Never throws. Whoever asks while the database is being asked gets the same answer. */
  async isReady(): Promise<boolean> {
    this.asking ??= this.ask().finally(() => (this.asking = null));
    return (await this.asking) && !this.drain.hasBegun;
  }

  async close(): Promise<void> {
    await Promise.all(this.probes.map(({ probe }) => probe.close()));
  }

  private async ask(): Promise<boolean> {
    const answers = await Promise.all(this.probes.map(({ role, probe }) => probe.permits(role)));
    return answers.every(Boolean);
  }
}
