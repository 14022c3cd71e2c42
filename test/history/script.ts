import type { AnyMove, Call, History, Rows } from './history.js';

/** Writes a history down, one transaction after the other. */
export class Script {
  private readonly moves: AnyMove[] = [];
  private readonly calls: Call[] = [];
  private readonly rows = new Map<keyof Rows, Map<string, object>>();
  private claimable: string[] = [];
  private clock = 0;

  /** One transaction: each change of the row of that key, as it is afterwards. */
  commit(
    role: AnyMove['role'],
    ...changes: { [T in keyof Rows]: readonly [T, string, Partial<Rows[T]>] }[keyof Rows][]
  ): this {
    this.clock += 1;
    for (const [table, key, change] of changes) {
      const rows = this.rows.get(table) ?? new Map<string, object>();
      this.rows.set(table, rows);
      const before = rows.get(key) ?? null;
      const after = { ...before, ...change };
      rows.set(key, after);
      this.moves.push({
        position: this.moves.length,
        transaction: String(this.clock),
        role,
        table,
        before,
        after,
      } as unknown as AnyMove);
    }
    return this;
  }

  call(call: Partial<Call> & Pick<Call, 'kind' | 'answer'>): this {
    this.clock += 1;
    const times = { invokedMs: this.clock, answeredMs: this.clock + 0.5 };
    const nothing = { attemptId: null, leaseGeneration: null, leaseVersion: null, recordId: null };
    this.calls.push({ workerId: 'w', fence: null, requestId: null, ...nothing, ...times, ...call });
    return this;
  }

  waits(attemptId: string): this {
    this.claimable.push(attemptId);
    return this;
  }

  get history(): History {
    const all = <Table extends keyof Rows>(table: Table): Rows[Table][] =>
      [...(this.rows.get(table)?.values() ?? [])] as Rows[Table][];
    const final = { leases: all('leases'), attempts: all('attempts'), runs: all('runs') };
    return { calls: this.calls, moves: this.moves, final, claimable: this.claimable };
  }
}
