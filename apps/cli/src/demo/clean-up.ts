import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** What must be undone at the end, in the reverse of the order in which it came into being. */
export class CleanUp {
  readonly #actions: (() => Promise<void> | void)[] = [];

  add(action: () => Promise<void> | void): void {
    this.#actions.push(action);
  }

  /** Removes a directory; of one that its owner keeps (`contentOnly`), what is in it. */
  removeDirectory(path: string, contentOnly: boolean): void {
    this.add(() => {
      const targets = contentOnly ? readdirSync(path).map((name) => join(path, name)) : [path];
      for (const target of targets) rmSync(target, { recursive: true, force: true, maxRetries: 5 });
    });
  }

  /** Undoes everything. One failure does not keep the rest from being undone. @returns how many failed */
  async run(): Promise<number> {
    let failures = 0;
    for (const action of this.#actions.splice(0).reverse()) {
      try {
        await action();
      } catch {
        failures += 1;
      }
    }
    return failures;
  }
}
