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

/** Each hides the canary in another place, as text or as what text can be made of. */
const POISONS: Record<string, () => unknown> = {
  'message that imitates frames': () =>
    new Error(`x\n    at hunter2 (/hunter2.js:1:1)\n    at hunter2 (node:hunter2:1:1)`),
  'stack with another message than its own': () => {
    const error = new Error(`x\n    at hunter2 (/hunter2.js:1:1)\nhunter2`);
    error.message = 'other';
    return error;
  },
  name: () => Object.assign(new Error('x'), { name: CANARY }),
  constructor: () => Object.assign(new Error('x'), { constructor: { name: 'Hunter2'.toLowerCase() } }),
  code: () => Object.assign(new Error('x'), { code: 'hunter2' }),
  cause: () => new Error('x', { cause: new Error(CANARY, { cause: { text: CANARY } }) }),
  'cause that is text': () => new Error('x', { cause: CANARY }),
  'list of errors': () => new AggregateError([new Error(CANARY), CANARY], CANARY),
  toJSON: () => Object.assign(new Error('x'), { toJSON: () => CANARY }),
  'nested field': () => Object.assign(new Error('x'), { request: { headers: { authorization: CANARY } } }),
  'field under a symbol': () => Object.assign(new Error('x'), { [Symbol.for(CANARY)]: CANARY }),
  'getter that throws': () =>
    Object.defineProperties(new Error('x'), {
      stack: { get: thrower },
      message: { get: thrower },
      cause: { get: thrower },
      code: { get: thrower },
    }),
  'proxy that throws': () => new Proxy(new Error(CANARY), { get: thrower, getPrototypeOf: thrower }),
  'field of ours': () => Object.assign(new ValiseError('request_too_large'), { message: CANARY }),
};

function thrower(): never {
  throw new Error(CANARY);
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

  it.each(Object.entries(POISONS))('quotes nothing of an error with a poisoned %s', (_, poison) => {
    expect(JSON.stringify(describeError(poison()))).not.toContain('hunter2');
  });

  it('ends, for a cause that causes itself and for errors without end', () => {
    const error = new AggregateError([], CANARY);
    error.cause = error;
    error.errors = Array.from({ length: 1000 }, () => error);
    expect(JSON.stringify(describeError(error)).length).toBeLessThan(300_000);
  });
});
