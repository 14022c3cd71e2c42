import { leaseTokenDigest } from '@valise/contracts/documents';
import type { Lease } from '../attempts/execution.js';
import { claim, claimant, execution, fence, key, LATER_ID } from '../../spec/facts.js';
import { standing, type Claimant } from './holder.js';

const { lease } = execution('starting');
const later = { workerId: 'w', sessionId: LATER_ID };
const underLater: Claimant = { ...claimant, sessionId: later.sessionId, sessionGeneration: 2 };

describe('the standing of a caller', () => {
  it('is holder with everything the live lease has', () => {
    expect(standing(key, fence, lease, claimant)).toBe('holder');
  });

  it('stays holder in the claim’s session when a later one exists: expiry is what ends that lease', () => {
    expect(standing(key, fence, lease, underLater)).toBe('holder');
  });

  it.each([1, 2])('is former holder under a later session that names generation %i', (workerGeneration) => {
    expect(standing(later, { ...fence, workerGeneration }, lease, underLater)).toBe('former_holder');
  });

  it.each<[string, Partial<Lease>]>([
    ['was released', { state: 'released' }],
    ['was completed', { state: 'completed' }],
    ['has another generation', { generation: 2 }],
    ['has another offer', { offerId: 'o2' }],
    ['has another token', { tokenDigest: leaseTokenDigest('u'.repeat(43)) }],
  ])('is past once the lease %s, for holder and former holder alike', (_what, change) => {
    expect(standing(key, fence, { ...lease, ...change }, claimant)).toBe('past');
    expect(standing(later, fence, { ...lease, ...change }, underLater)).toBe('past');
  });

  it.each<[string, () => ReturnType<typeof standing>]>([
    ['without a claim of that offer', () => standing(key, fence, lease, { ...claimant, claim: null })],
    ['with another token', () => standing(key, { ...fence, leaseToken: 'u'.repeat(43) }, lease, claimant)],
    ['with another lease generation', () => standing(key, { ...fence, leaseGeneration: 2 }, lease, claimant)],
    [
      'with another worker generation',
      () => standing(key, { ...fence, workerGeneration: 2 }, lease, claimant),
    ],
    ['with another attempt', () => standing(key, { ...fence, attemptId: 'b' }, lease, claimant)],
    ['as another worker', () => standing({ ...key, workerId: 'x' }, fence, lease, claimant)],
    [
      'in a session that is neither the claim’s nor the newest',
      () => standing(later, fence, lease, claimant),
    ],
    [
      'in an older session than the claim’s',
      () =>
        standing(later, fence, lease, {
          ...underLater,
          sessionGeneration: 1,
          claim: { ...claim, workerGeneration: 2 },
        }),
    ],
    [
      'in a later session with a generation of neither',
      () => standing(later, { ...fence, workerGeneration: 3 }, lease, underLater),
    ],
  ])('is stranger %s', (_what, position) => {
    expect(position()).toBe('stranger');
  });
});
