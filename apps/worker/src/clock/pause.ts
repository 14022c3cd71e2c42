const MAX_TIMER_MS = 2 ** 31 - 1;

/** Waits `ms`, or until one of the signals is aborted. Returns whether the time has passed without that. */
export async function pause(ms: number, ...until: AbortSignal[]): Promise<boolean> {
  const isWoken = (): boolean => until.some(({ aborted }) => aborted);
  for (let rest = ms; rest > 0 && !isWoken(); rest -= MAX_TIMER_MS) {
    await timer(Math.min(rest, MAX_TIMER_MS), until);
  }
  return !isWoken();
}

/** Listens by hand: `AbortSignal.any` would leave something behind in a signal that lives as long as the worker. */
function timer(ms: number, until: readonly AbortSignal[]): Promise<void> {
  return new Promise((resolve) => {
    const wake = (): void => {
      clearTimeout(timeout);
      for (const signal of until) signal.removeEventListener('abort', wake);
      resolve();
    };
    const timeout = setTimeout(wake, ms);
    for (const signal of until) signal.addEventListener('abort', wake);
  });
}

/** `ms`, give or take a tenth, so that many workers do not ask at once. */
export function jittered(ms: number): number {
  return ms * (0.9 + Math.random() * 0.2);
}
