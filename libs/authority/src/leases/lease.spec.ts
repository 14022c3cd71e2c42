import { execution } from '../../spec/facts.js';
import { isClaimable } from './lease.js';

const queued = execution('queued');
const claimed = execution('claimed');

describe('what may be claimed', () => {
  it('is queued, with a lease that nobody holds', () => {
    expect(isClaimable(queued)).toBe(true);
  });

  it.each([
    ['its attempt is not queued', { ...queued, attempt: { ...queued.attempt, status: 'claimed' as const } }],
    ['its run is not queued', { ...queued, run: { ...queued.run, status: 'dispatching' as const } }],
    ['its run has a newer attempt', { ...queued, run: { ...queued.run, newestAttemptNumber: 2 } }],
    ['a cancellation is requested', { ...queued, run: { ...queued.run, cancelRequestedAtMs: 1 } }],
    ['somebody holds its lease', { ...queued, lease: claimed.lease }],
  ])('is not claimed where %s', (_what, given) => {
    expect(isClaimable(given)).toBe(false);
  });
});
