import { getEventListeners } from 'node:events';
import { pause } from './pause.js';

describe('a pause', () => {
  it('lasts its time, says so, and leaves nothing behind in its signals', async () => {
    const { signal } = new AbortController();
    const before = performance.now();
    expect(await pause(30, signal)).toBe(true);
    expect(performance.now() - before).toBeGreaterThanOrEqual(29);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('ends at once when one of its signals is aborted, before or meanwhile', async () => {
    const [early, late] = [new AbortController(), new AbortController()];
    const waiting = pause(2 ** 40, early.signal, late.signal);
    late.abort();
    expect(await waiting).toBe(false);
    expect(await pause(60_000, late.signal)).toBe(false);
    expect(getEventListeners(early.signal, 'abort')).toEqual([]);
  });
});
