/**
 * Bounds how many transactions of transfers run at once. A transfer has hundreds of them and no hurry: all transfers
 * together hold a quarter of the pool, and the rest is there for calls.
 */
export class TransferShare {
  private running = 0;
  private readonly waiting: (() => void)[] = [];
  private readonly limit: number;

  constructor(poolSize: number) {
    this.limit = Math.max(1, Math.floor(poolSize / 4));
  }

  /** Runs `work` once there is room for it, in the order of asking. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.running < this.limit) this.running += 1;
    else await new Promise<void>((resolve) => this.waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.waiting.shift();
      // The room is handed on as it is: nobody who comes in between gets it.
      if (next) next();
      else this.running -= 1;
    }
  }
}
