const MAX_TIMER_MS = 2 ** 31 - 1;

/** Waits `ms`, or until one of the signals is aborted. Returns whether the time has passed without that. */
export async function pause(ms: number, ...until: AbortSignal[]): Promise<boolean> {
  const signal = AbortSignal.any(until);
  for (let rest = ms; rest > 0 && !signal.aborted; rest -= MAX_TIMER_MS) {
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      const timer = setTimeout(wake, Math.min(rest, MAX_TIMER_MS));
      signal.addEventListener('abort', wake);
    });
  }
  return !signal.aborted;
}

/** `ms`, give or take a tenth, so that many workers do not ask at once. */
export function jittered(ms: number): number {
  return ms * (0.9 + Math.random() * 0.2);
}
