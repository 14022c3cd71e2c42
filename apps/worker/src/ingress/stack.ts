const DEPTH = 2000;

/**
 * Overwrites more than 64 KiB of the thread's stack, where TLS has decrypted into, once the current callbacks have
 * returned. Resolves when that is done.
 */
export function scrubStack(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(() => {
      descend(DEPTH, 0, 0, 0, 0, 0, 0, 0);
      resolve();
    });
  });
}

/** Eight numbers of frame per step keep the interpreter's registers busy. */
function descend(
  depth: number,
  a: number,
  b: number,
  c: number,
  d: number,
  e: number,
  f: number,
  g: number,
): number {
  return depth === 0 ? a + b + c + d + e + f + g : descend(depth - 1, b, c, d, e, f, g, a) + a;
}
