import { ValiseError } from '@valise/contracts/failure';

/** In bytes (wire.md §2, design.md step 6): names and values of a whole environment; one `NAME=value` of execve(2). */
export const ENVIRONMENT_LIMITS = { names: 256, bytes: 64 * 1024, stringBytes: 131071 } as const;

/** Counts an environment while it is put together, and refuses the variable that passes a limit. */
export class EnvironmentBudget {
  #names = 0;
  #bytes = 0;

  /** @throws ValiseError environment_budget_exceeded with the rule, the limit and the count */
  take(name: string, value: Uint8Array): void {
    this.#names += 1;
    this.#bytes += name.length + value.length;
    const { names, bytes, stringBytes } = ENVIRONMENT_LIMITS;
    assertWithin('names', names, this.#names);
    assertWithin('string_bytes', stringBytes, name.length + 1 + value.length);
    assertWithin('total_bytes', bytes, this.#bytes);
  }
}

function assertWithin(rule: string, limit: number, actual: number): void {
  if (actual > limit) throw new ValiseError('environment_budget_exceeded', { rule, limit, actual });
}
