import { ValiseError } from '../failure/index.js';
import { CompletionRequest, COMPLETION_SCHEMA } from './completion.dto.js';
import { readBody } from './read.js';

const digest = 'a'.repeat(64);
const completion = () => ({
  runId: 'run',
  attemptId: 'attempt',
  workerGeneration: 1,
  offerId: '0a0b0c0d-0000-4000-8000-000000000001',
  leaseGeneration: 1,
  leaseToken: 'A'.repeat(43),
  expectedLeaseVersion: 0,
  schema: COMPLETION_SCHEMA,
  callbackSequence: 2,
  callbackTokenDigest: digest,
  result: { outcome: 'succeeded', startedAtMs: 1, finishedAtMs: 2, exitCode: 0 },
  artifact: { logArtifactId: `wlog-${'0'.repeat(30)}`, byteLength: 0, sha256: digest, truncated: false },
});

const refusal = (json: unknown): unknown => {
  try {
    readBody(CompletionRequest, json, 'invalid_worker_request');
    return null;
  } catch (error) {
    return error instanceof ValiseError ? { code: error.code, ...error.facts } : error;
  }
};

describe('a body', () => {
  it('becomes an instance of its class, nested objects included', () => {
    const body = readBody(CompletionRequest, completion(), 'invalid_worker_request');
    expect(body).toBeInstanceOf(CompletionRequest);
    expect(body).toEqual(completion());
  });

  it.each([
    ['an unknown key', (c: any) => (c.extra = 1), { field: 'body', rule: 'unknown_key' }],
    ['an unknown nested key', (c: any) => (c.result.extra = 1), { field: 'result', rule: 'unknown_key' }],
    [
      'an own __proto__ key',
      (c: any) => Object.defineProperty(c.artifact, '__proto__', { value: {}, enumerable: true }),
      { field: 'artifact', rule: 'unknown_key' },
    ],
    ['a missing key', (c: any) => delete c.runId, { field: 'runId', rule: 'required' }],
    ['null for an optional key', (c: any) => (c.reasonCode = null), { field: 'reasonCode', rule: 'one_of' }],
    [
      'a number as text',
      (c: any) => (c.callbackSequence = '2'),
      { field: 'callbackSequence', rule: 'integer' },
    ],
    ['a list for an object', (c: any) => (c.result = [c.result]), { field: 'result', rule: 'object' }],
    [
      'too many bytes in few characters',
      (c: any) => (c.runId = '€'.repeat(43)),
      { field: 'runId', rule: 'max_bytes', limit: 128, actual: 129 },
    ],
    ['a lone surrogate', (c: any) => (c.runId = 'a\ud800'), { field: 'runId', rule: 'well_formed' }],
  ])('is refused with %s', (_, damage, facts) => {
    const body = completion();
    damage(body);
    expect(refusal(body)).toEqual({ code: 'invalid_worker_request', ...facts });
  });
});
