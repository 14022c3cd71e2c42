import { tellWorkerEvents } from './worker-events.js';

describe('the worker’s way through a run', () => {
  it('is told in words, with the time since the claim, of that run alone', () => {
    const at = (ms: number): string => new Date(1_800_000_000_000 + ms).toISOString();
    const lines = [
      { event: 'registered', time: at(0) },
      { event: 'claimed', runId: 'r', time: at(1000) },
      { event: 'claimed', runId: 'other', time: at(1100) },
      { event: 'a later version’s own', runId: 'r', time: at(1150) },
      { event: 'exited', runId: 'r', time: at(1250) },
    ];
    expect(tellWorkerEvents(lines, 'r')).toEqual([
      '+0.00 s  the worker wrote the offer down, so that a crash cannot start the task twice',
      '+0.25 s  the worker saw it end, with every process that it left behind',
    ]);
  });
});
