import fc from 'fast-check';
import { holds } from '../../../spec/property.js';
import { refusal } from '../../../spec/refusal.js';
import { ValiseError } from '../../failure/index.js';
import { readDeliveryResponse } from './delivery-response-reader.js';
import { writeDeliveryResponse } from './delivery-response-writer.js';
import { createSecretReference } from '../environment/secret-reference.js';

const subject = {
  runId: 'run-1',
  attemptId: 'attempt-1',
  offerId: 'offer-1',
  executionDigest: 'a'.repeat(64),
};
const secret = (index: number): string => createSecretReference({ projectId: 'p', name: `s${index}` });
const BUNDLE = createSecretReference({ projectId: 'p', name: 'bundle', version: 1 });

const delivered = (values: readonly string[], bundle?: string) => ({
  ...subject,
  values: values.map((value, index) => ({ secretRef: secret(index), value: Buffer.from(value, 'utf8') })),
  environmentBundles: bundle === undefined ? [] : [{ secretRef: BUNDLE, value: Buffer.from(bundle, 'utf8') }],
});

const expected = (count: number, bundles = 0) => ({
  ...subject,
  secretRefs: Array.from({ length: count }, (_, index) => secret(index)),
  environmentBundleRefs: bundles > 0 ? [BUNDLE] : [],
});

const material = fc
  .string({ unit: 'binary', maxLength: 60 })
  .filter((value) => value.isWellFormed() && !value.includes('\0'));

describe('a delivery response', () => {
  it('is the JSON that JSON.stringify writes, and is read back byte for byte', () => {
    holds(
      'delivery/identity',
      fc.property(
        fc.array(material, { maxLength: 5 }),
        fc.option(material, { nil: undefined }),
        (values, bundle) => {
          const response = delivered(values, bundle);
          const document = writeDeliveryResponse(response);
          const text = ({ secretRef, value }: { secretRef: string; value: Uint8Array }) => ({
            secretRef,
            value: Buffer.from(value).toString('utf8'),
          });
          const json = {
            schema: 'qinglong/remote-secret-delivery@v2',
            ...subject,
            values: response.values.map(text),
            environmentBundles: response.environmentBundles.map(text),
          };
          expect(document.toString('utf8')).toBe(JSON.stringify(json));
          const open = readDeliveryResponse(document, expected(values.length, bundle === undefined ? 0 : 1));
          expect(open.values.map(text)).toEqual(json.values);
          expect(open.environmentBundles.map(text)).toEqual(json.environmentBundles);
        },
      ),
    );
  });

  it('is refused, or gives the same material, when one byte of it changes outside a value', () => {
    const clean = writeDeliveryResponse(delivered(['one', 'two'], '{}'));
    holds(
      'delivery/mutation',
      fc.property(fc.nat(clean.length - 1), fc.integer({ min: 0, max: 255 }), (position, byte) => {
        const bytes = Buffer.from(clean);
        bytes[position] = byte;
        const result = refusal(() => {
          const open = readDeliveryResponse(bytes, expected(2, 1));
          expect(open.values.map(({ secretRef }) => secretRef)).toEqual([secret(0), secret(1)]);
          expect(open.values.reduce((sum, { value }) => sum + value.length, 0)).toBeLessThanOrEqual(6);
        });
        if (result !== null) expect(result).toMatchObject({ code: 'REMOTE_SECRET_DELIVERY_INVALID' });
      }),
    );
  });

  it('takes 64 references and refuses the 65th', () => {
    const empty = (count: number) => delivered(Array.from({ length: count }, () => ''));
    expect(refusal(() => writeDeliveryResponse(empty(64)))).toBeNull();
    expect(refusal(() => writeDeliveryResponse(empty(65)))).toMatchObject({ rule: 'max_items', limit: 64 });
  });

  it.each([
    ['a value', 'values[0]', (bytes: number) => delivered(['x'.repeat(bytes)]), 16_384],
    [
      'all values',
      'values',
      (bytes: number) =>
        delivered([...Array.from({ length: 4 }, () => 'x'.repeat(16_000)), 'x'.repeat(bytes - 64_000)]),
      65_536,
    ],
    ['a bundle', 'environmentBundles[0]', (bytes: number) => delivered([], 'x'.repeat(bytes)), 98_304],
  ])('holds the limit of %s in bytes', (_, __, make, limit) => {
    expect(refusal(() => writeDeliveryResponse(make(limit - 1)))).toBeNull();
    expect(refusal(() => writeDeliveryResponse(make(limit)))).toBeNull();
    expect(refusal(() => writeDeliveryResponse(make(limit + 1)))).toMatchObject({
      code: 'REMOTE_SECRET_DELIVERY_INVALID',
      limit,
      actual: limit + 1,
    });
  });

  it('is too large once legal material passes 256 KiB escaped, and fits with exactly 256 KiB', () => {
    const escaped = (controls: number, plain: number) =>
      delivered([
        ...Array.from({ length: 2 }, () => '\u0001'.repeat(16_384)),
        '\u0001'.repeat(controls) + 'x'.repeat(plain),
      ]);
    const overhead = writeDeliveryResponse(escaped(0, 0)).length;
    const rest = 262_144 - overhead;
    const controls = Math.floor(rest / 6);
    expect(controls).toBeLessThan(16_384);
    expect(writeDeliveryResponse(escaped(controls, rest % 6))).toHaveLength(262_144);
    expect(refusal(() => writeDeliveryResponse(escaped(controls, (rest % 6) + 1)))).toEqual({
      code: 'REMOTE_SECRET_DELIVERY_TOO_LARGE',
      field: 'response',
      rule: 'max_bytes',
      limit: 262_144,
      actual: 262_145,
    });
  });

  it.each([
    ['ill-formed UTF-8', Buffer.from('61ff62', 'hex'), 'utf8'],
    ['NUL', Buffer.from('hunter2-\0-tail'), 'nul'],
  ])('is not written from %s', (_, value, rule) => {
    const response = { ...subject, values: [{ secretRef: secret(0), value }], environmentBundles: [] };
    expect(refusal(() => writeDeliveryResponse(response))).toMatchObject({
      code: 'REMOTE_SECRET_DELIVERY_INVALID',
      rule,
    });
  });

  it('lies outside the heap of V8, however small its values are', () => {
    const document = writeDeliveryResponse(delivered(['x']));
    expect(document.byteOffset).toBe(0);
    expect(document.buffer.byteLength).toBe(document.length);
    const open = readDeliveryResponse(document, expected(1));
    expect(open.values[0]!.value.buffer.byteLength).toBe(document.length);
  });

  it('leaves zeroes where a refused response was read', () => {
    const document = writeDeliveryResponse(delivered(['hunter2']));
    const open = readDeliveryResponse(document, expected(1));
    const arena = Buffer.from(open.values[0]!.value.buffer);
    open.wipe();
    expect(arena.every((byte) => byte === 0)).toBe(true);
  });

  it('never quotes a value in its refusal', () => {
    const text = writeDeliveryResponse(delivered(['hunter2-secret'])).toString('utf8');
    const damaged = [
      text.slice(0, -30),
      text.replace('"value"', '"hunter2-key"'),
      `${text}hunter2`,
      text.replace('run-1', 'hunter2'),
    ];
    for (const each of damaged) {
      try {
        readDeliveryResponse(Buffer.from(each), expected(1));
        throw new Error('accepted');
      } catch (error) {
        expect(error).toBeInstanceOf(ValiseError);
        expect(`${String(error)} ${(error as Error).stack ?? ''} ${JSON.stringify(error)}`).not.toContain(
          'hunter2',
        );
      }
    }
  });
});
