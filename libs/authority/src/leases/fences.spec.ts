import { ValiseError } from '@valise/contracts/failure';
import { ATTEMPT_EVENTS, under } from '../../spec/events.js';
import { EARLIER_ID } from '../../spec/facts.js';

type Given = ReturnType<typeof under>;

/** What a worker shows with every call about an attempt; each is wrong in one thing. */
const WRONG: Readonly<Record<string, (given: Given) => Given>> = {
  worker: (given) => ({ ...given, key: { ...given.key, workerId: 'x' } }),
  session: (given) => ({ ...given, key: { ...given.key, sessionId: EARLIER_ID } }),
  'worker generation': (given) => ({ ...given, fence: { ...given.fence, workerGeneration: 9 } }),
  attempt: (given) => ({ ...given, fence: { ...given.fence, attemptId: 'x' } }),
  // Nobody has claimed with that id.
  offer: (given) => ({
    ...given,
    fence: { ...given.fence, offerId: 'x' },
    claimant: { ...given.claimant, claim: null },
  }),
  generation: (given) => ({ ...given, fence: { ...given.fence, leaseGeneration: 9 } }),
  token: (given) => ({ ...given, fence: { ...given.fence, leaseToken: 'x'.repeat(43) } }),
  version: (given) => ({ ...given, fence: { ...given.fence, expectedLeaseVersion: 9 } }),
};
const NAMES = Object.keys(WRONG);
const PAIRS = NAMES.flatMap((one, index) => NAMES.slice(index).map((other) => [one, other] as const));

const CALLS = [
  ['starting', 'claimed', 'worker_activation_fenced'],
  ['running', 'starting', 'worker_activation_fenced'],
  ['start-failure', 'starting', 'worker_activation_fenced'],
  ['renew', 'running', 'worker_lease_control_fenced'],
  ['completion, failed', 'running', 'worker_completion_fenced'],
] as const;

describe.each(CALLS)('the fence of %s', (event, state, code) => {
  it.each(PAIRS)('refuses a wrong %s, with a wrong %s, like any other', (one, other) => {
    const given = WRONG[other]?.(WRONG[one]?.(under('holder', state)) ?? under('holder', state));
    expect(codeOf(() => given && ATTEMPT_EVENTS[event](given))).toBe(code);
  });
});

function codeOf(decide: () => unknown): string {
  try {
    decide();
  } catch (error) {
    if (error instanceof ValiseError) return error.code;
    throw error;
  }
  return 'no refusal';
}
