import fc from 'fast-check';
import { holds } from '../../../spec/property.js';
import { ValiseError } from '../../failure/index.js';
import { createSecretReference, parseSecretReference, projectionFileName } from './secret-reference.js';

const ids = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 24 })
  .filter((id) => id.isWellFormed() && Buffer.byteLength(id) <= 128 && !/[\u0000-\u001f\u007f]/.test(id));
const secrets = fc.record(
  { projectId: ids, name: ids, version: fc.integer({ min: 1, max: 2147483647 }) },
  { requiredKeys: ['projectId', 'name'] },
);

/** The last character may hold bits that no byte uses. */
const positions = fc.oneof(fc.nat(), fc.nat(), fc.constant(-1));
const characters = fc.oneof(
  fc.stringMatching(/^[A-Za-z0-9_-]$/),
  fc.string({ unit: 'binary-ascii', minLength: 1, maxLength: 1 }),
);

describe('a secret reference', () => {
  it('comes back as it was made', () => {
    holds(
      'reference/identity',
      fc.property(secrets, (secret) => {
        const text = createSecretReference(secret);
        expect(parseSecretReference(text)).toEqual({ text, ...secret });
        expect(projectionFileName(text)).toMatch(/^[0-9a-f]{64}$/);
      }),
    );
  });

  it('is refused, or another canonical reference, when one byte of it changes', () => {
    holds(
      'reference/mutation',
      fc.property(secrets, positions, characters, (secret, position, character) => {
        const text = createSecretReference(secret);
        const at = position < 0 ? text.length - 1 : position % text.length;
        const changed = text.slice(0, at) + character + text.slice(at + 1);
        try {
          const { projectId, name, version } = parseSecretReference(changed);
          const parsed = { projectId, name, ...(version !== undefined && { version }) };
          expect(createSecretReference(parsed)).toBe(changed);
        } catch (error) {
          if (!(error instanceof ValiseError)) throw error;
          expect(error.code).toBe('SECRET_REFERENCE_INVALID');
        }
      }),
    );
  });

  it('names another file for another version', () => {
    const file = (version: number): string =>
      projectionFileName(createSecretReference({ projectId: 'p', name: 'n', version }));
    expect(file(1)).not.toBe(file(2));
  });
});
