/** Whoever awaits it later hears of its failure; it may come before that. */
export function heard<T>(later: Promise<T>): Promise<T> {
  later.catch(() => undefined);
  return later;
}
