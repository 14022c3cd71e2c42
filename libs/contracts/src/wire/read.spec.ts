import { refusal } from '../../spec/refusal.js';
import { ValiseError } from '../failure/index.js';
import { CompletionRequest, COMPLETION_SCHEMA } from './completion.dto.js';
import { OfferResponse } from './offer.dto.js';
import { PublishTaskRequest } from './task.dto.js';
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

type Loose = Record<string, unknown> & { result: Record<string, unknown>; artifact: object };

const refusalOf = (json: unknown): unknown =>
  refusal(() => readBody(CompletionRequest, json, 'invalid_worker_request'));

describe('a body', () => {
  it('becomes an instance of its class, nested objects included', () => {
    const body = readBody(CompletionRequest, completion(), 'invalid_worker_request');
    expect(body).toBeInstanceOf(CompletionRequest);
    expect(body).toEqual(completion());
  });

  it.each([
    ['an unknown key', (c: Loose) => (c.extra = 1), { field: 'body', rule: 'unknown_key' }],
    ['an unknown nested key', (c: Loose) => (c.result.extra = 1), { field: 'result', rule: 'unknown_key' }],
    [
      'an own __proto__ key',
      (c: Loose) => Object.defineProperty(c.artifact, '__proto__', { value: {}, enumerable: true }),
      { field: 'artifact', rule: 'unknown_key' },
    ],
    ['a missing key', (c: Loose) => delete c.runId, { field: 'runId', rule: 'required' }],
    [
      'null for an optional key',
      (c: Loose) => (c.reasonCode = null),
      { field: 'reasonCode', rule: 'one_of' },
    ],
    [
      'a number as text',
      (c: Loose) => (c.callbackSequence = '2'),
      { field: 'callbackSequence', rule: 'integer' },
    ],
    [
      'a list for an object',
      (c: Loose) => Object.assign(c, { result: [c.result] }),
      { field: 'result', rule: 'object' },
    ],
    [
      'too many bytes in few characters',
      (c: Loose) => (c.runId = '€'.repeat(43)),
      { field: 'runId', rule: 'max_bytes', limit: 128, actual: 129 },
    ],
    ['a lone surrogate', (c: Loose) => (c.runId = 'a\ud800'), { field: 'runId', rule: 'well_formed' }],
  ])('is refused with %s', (_, damage, facts) => {
    const body = completion();
    damage(body);
    expect(refusalOf(body)).toEqual({ code: 'invalid_worker_request', ...facts });
  });

  it('hands an opaque document on as it was parsed, own __proto__ and constructor keys included', () => {
    const json = `{"expectedRevision":null,"mutationId":"018f0000-0000-7000-8000-000000000001","name":"n","kind":"command",
      "spec":{"schema":"s","config":{"constructor":1,"__proto__":{"x":1},"a":[{"__proto__":2}]}},
      "labels":{"constructor":"c"},"enabled":true}`;
    const body = readBody(PublishTaskRequest, JSON.parse(json), 'invalid_request');
    expect(JSON.stringify(body.spec)).toBe(JSON.stringify(JSON.parse(json).spec));
    expect(Object.keys(body.labels)).toEqual(['constructor']);
  });

  it('is refused when a nested object is a text or a list of lists', () => {
    for (const offer of ['x', [[]], 1, null]) {
      const json = { schema: 'qinglong/remote-execution-offer@v1', status: 'offered', offer };
      expect(() => readBody(OfferResponse, json, 'control_answer_invalid')).toThrow(ValiseError);
    }
  });
});
