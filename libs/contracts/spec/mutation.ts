import fc from 'fast-check';

/** One byte of a document replaced, added or taken out. */
export interface Mutation {
  readonly kind: 'replace' | 'insert' | 'remove';
  /** Modulo the length of the document. */
  readonly position: number;
  readonly byte: number;
}

/** Half of the bytes mean something to JSON, so that many mutants get past the parser. */
export const mutations: fc.Arbitrary<Mutation> = fc.record({
  kind: fc.constantFrom('replace', 'insert', 'remove'),
  position: fc.nat(),
  byte: fc.oneof(fc.integer({ min: 0, max: 255 }), fc.constantFrom(...Buffer.from('{}[]",:\\0159aeEu-+. '))),
});

/** The document's bytes after the mutation. */
export function mutated(document: string, { kind, position, byte }: Mutation): Buffer {
  const bytes = Buffer.from(document, 'utf8');
  const at = position % bytes.length;
  const added = kind === 'remove' ? [] : [byte];
  return Buffer.concat([
    bytes.subarray(0, at),
    Buffer.from(added),
    bytes.subarray(kind === 'insert' ? at : at + 1),
  ]);
}
