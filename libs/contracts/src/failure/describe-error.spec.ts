import { describeError } from './describe-error.js';
import { ValiseError } from './valise-error.js';

const CANARY = 'hunter2-canary';

/** Everything of an error that could quote an input does. */
function poisoned(): Error {
  const error = new TypeError(`${CANARY}\n    at ${CANARY}\n    at fn (${CANARY}:1:1)`, {
    cause: new Error(CANARY),
  });
  return Object.assign(error, {
    code: `not a code ${CANARY}`,
    detail: CANARY,
    query: CANARY,
    parameters: [CANARY],
  });
}

describe('what is logged of an error', () => {
  it('is its type, code and frames, and nothing that quotes an input', () => {
    const described = describeError(Object.assign(poisoned(), { code: '23505' }));
    expect(described).toMatchObject({ type: 'TypeError', code: '23505', cause: { type: 'Error' } });
    expect((described.frames as string[]).length).toBeGreaterThan(0);
    expect(JSON.stringify([described, describeError(poisoned()), describeError(CANARY)])).not.toContain(
      CANARY,
    );
  });

  it('has the facts of an error of ours', () => {
    expect(describeError(new ValiseError('request_too_large', { limit: 1 }))).toMatchObject({
      code: 'request_too_large',
      facts: { limit: 1 },
    });
  });
});
