/** What must be undone at the end, in the reverse of the order in which it came into being. */
export class CleanUp {
  readonly #actions: (() => Promise<void> | void)[] = [];

  add(action: () => Promise<void> | void): void {
    this.#actions.push(action);
  }

  /** Undoes everything, and counts. One failure does not keep the rest from being undone. */
  async run(): Promise<{ readonly undone: number; readonly failures: number }> {
    let failures = 0;
    const actions = this.#actions.splice(0).reverse();
    for (const action of actions) {
      try {
        await action();
      } catch {
        failures += 1;
      }
    }
    return { undone: actions.length - failures, failures };
  }
}
