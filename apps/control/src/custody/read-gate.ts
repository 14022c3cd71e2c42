/** A bounded piece of work: when it is too late, who hears of it, and what becomes of a result nobody waits for. */
export interface Read<T> {
  readonly read: () => Promise<T>;
  /** On the monotonic clock (`performance.now()`). */
  readonly deadlineAtMs: number;
  readonly late: () => Error;
  readonly discard: (result: T) => void;
}

/**
 * Bounds how many reads run at once: a hung file system holds a thread for each of them.
 */
export class ReadGate {
  private running = 0;
  private readonly waiting: (() => void)[] = [];

  constructor(private readonly limit: number) {}

  /**
   * Runs `read` once there is room, and answers or fails by the deadline. A read that hangs keeps its place until it
   * really ends, because its thread is still held; its result is then discarded.
   */
  run<T>({ read, deadlineAtMs, late, discard }: Read<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      let open = true;
      const timer = setTimeout(
        () => {
          open = false;
          const place = this.waiting.indexOf(start);
          if (place >= 0) this.waiting.splice(place, 1);
          reject(late());
        },
        Math.max(0, deadlineAtMs - performance.now()),
      );
      const start = (): void => {
        this.running += 1;
        read()
          .then((result) => {
            if (open) resolve(result);
            else discard(result);
          })
          .catch(reject)
          .finally(() => {
            clearTimeout(timer);
            this.running -= 1;
            this.waiting.shift()?.();
          });
      };
      if (this.running < this.limit) start();
      else this.waiting.push(start);
    });
  }
}
