/**
 * Bounds how many transactions of transfers run at once. A transfer has hundreds of them and no hurry: with turns of
 * their own, all transfers together hold a quarter of the pool, and the rest is there for calls.
 */
export class TransferTurns {
  private running = 0;
  private readonly waiting: (() => void)[] = [];
  private readonly limit: number;

  constructor(poolSize: number) {
    this.limit = Math.max(1, Math.floor(poolSize / 4));
  }

  /** Runs `work` once its turn has come, in the order of asking. */
  async take<T>(work: () => Promise<T>): Promise<T> {
    if (this.running < this.limit) this.running += 1;
    else await new Promise<void>((resolve) => this.waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.waiting.shift();
      // The turn is handed on as it is: nobody who comes in between gets it.
      if (next) next();
      else this.running -= 1;
    }
  }
}
