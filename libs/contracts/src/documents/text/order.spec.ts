import fc from 'fast-check';
import { holds } from '../../../spec/property.js';
import { compareFixed } from './order.js';

const words = fc.stringMatching(/^[A-Za-z0-9_./+-]{0,8}$/);

describe('the fixed order', () => {
  it('equals ICU en-US for every name a document can hold', () => {
    const collator = new Intl.Collator('en-US');
    holds(
      'order/icu',
      fc.property(words, words, (a, b) => {
        expect(Math.sign(compareFixed(a, b))).toBe(Math.sign(collator.compare(a, b)));
      }),
    );
  });

  it('is a total order: equal only when the texts are', () => {
    holds(
      'order/total',
      fc.property(words, words, words, (a, b, c) => {
        expect(compareFixed(a, b) === 0).toBe(a === b);
        expect(Math.sign(compareFixed(a, b))).toBe(0 - Math.sign(compareFixed(b, a)));
        if (compareFixed(a, b) <= 0 && compareFixed(b, c) <= 0)
          expect(compareFixed(a, c)).toBeLessThanOrEqual(0);
      }),
    );
  });
});
