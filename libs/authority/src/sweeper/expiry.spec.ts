import { ATTEMPT_STATUSES } from '@valise/contracts/wire';
import { execution, EXPIRES_AT_MS } from '../../spec/facts.js';
import { decideExpiry, isOverdue } from './expiry.js';

const LIMITS = { responseDeadlineMs: 5000, maxClaims: 5 };
const given = execution('claimed');
const swept = (nowMs: number, change: Partial<typeof given.lease> = {}) =>
  decideExpiry({ ...given, lease: { ...given.lease, ...change } }, { nowMs, hasReferences: true }, LIMITS)
    .kind;

describe('an expired lease', () => {
  it('is expired at its last millisecond, not before', () => {
    expect(swept(EXPIRES_AT_MS - 1)).toBe('none');
    expect(swept(EXPIRES_AT_MS)).toBe('requeue');
  });

  it('waits while a delivery without an outcome is younger than the response deadline', () => {
    expect(swept(5199, { openSinceMs: 200 })).toBe('wait');
    expect(swept(5200, { openSinceMs: 200 })).toBe('requeue');
  });

  it('fails its attempt for want of a worker after the last claim', () => {
    const worn = { ...given, attempt: { ...given.attempt, claims: 5 } };
    expect(decideExpiry(worn, { nowMs: EXPIRES_AT_MS, hasReferences: true }, LIMITS)).toEqual({
      kind: 'end',
      status: 'failed',
      reason: 'worker_unavailable',
    });
  });
});

describe('a deadline', () => {
  it.each(ATTEMPT_STATUSES)('that has passed asks nobody to stop but what starts or runs: %s', (status) => {
    const { run, ...rest } = execution(status);
    const overdue = isOverdue({ ...rest, run: { ...run, deadlineAtMs: 40 } }, 50, 10);
    expect(overdue).toBe(status === 'starting' || status === 'running');
  });
});
