/** Milliseconds on the monotonic clock: no one sets it, and it goes on while the process is stopped. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint() / 1000n) / 1000;
}
