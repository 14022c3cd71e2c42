import fc from 'fast-check';
import { fieldsOf, type DtoField, type FieldSchema } from '../src/wire/index.js';

type Dto = new () => object;

const MAX_TEXT = 160;
const MAX_ITEMS = 4;

/** Bodies whose fields are each within the published schema of their class; a rule over several fields may be broken. */
export function bodiesOf(type: Dto): fc.Arbitrary<Record<string, unknown>> {
  const fields = [...fieldsOf(type).values()];
  return fc.record(Object.fromEntries(fields.map((field) => [field.name, valuesOf(field)])), {
    requiredKeys: fields.filter(({ optional }) => !optional).map(({ name }) => name),
    noNullPrototype: true,
  });
}

function valuesOf({ schema, nested }: DtoField): fc.Arbitrary<unknown> {
  if (!nested) return ofSchema(schema);
  const one = bodiesOf(nested());
  const maxLength = Math.min(Number(schema.maxItems), MAX_ITEMS);
  return schema.type === 'array' ? fc.array(one, { maxLength }) : one;
}

function ofSchema(schema: FieldSchema): fc.Arbitrary<unknown> {
  if ('const' in schema) return fc.constant(schema.const);
  if ('enum' in schema) return fc.constantFrom(...(schema.enum as unknown[]));
  switch (schema.type) {
    case 'string':
      return texts(schema);
    case 'integer':
      return integers(schema);
    case 'boolean':
      return fc.boolean();
    case 'object':
      return fc.dictionary(fc.string({ maxLength: 8 }), fc.jsonValue({ maxDepth: 2 }), {
        maxKeys: MAX_ITEMS,
        noNullPrototype: true,
      });
    case 'array':
      return fc.uniqueArray(ofSchema(schema.items as FieldSchema), {
        minLength: Number(schema.minItems),
        maxLength: Math.min(Number(schema.maxItems), MAX_ITEMS),
      });
    default:
      return fc.option(integers(schema), { nil: null });
  }
}

function integers({ minimum, maximum }: FieldSchema): fc.Arbitrary<number> {
  return fc.maxSafeInteger().map((value) => {
    const [low, high] = [Number(minimum), Number(maximum)];
    return low + (Math.abs(value) % (high - low + 1));
  });
}

function texts({ minLength, maxLength, pattern }: FieldSchema): fc.Arbitrary<string> {
  const max = Number(maxLength);
  const fits = (text: string): boolean => text.isWellFormed() && Buffer.byteLength(text) <= max;
  const free = fc
    .string({ unit: 'binary', minLength: Number(minLength), maxLength: Math.min(max, MAX_TEXT) })
    .filter(fits);
  if (typeof pattern !== 'string') return free;
  const shape = new RegExp(pattern);
  const printable = fc.string({
    unit: 'grapheme',
    minLength: Number(minLength),
    maxLength: Math.min(max, MAX_TEXT),
  });
  const matching = fc.stringMatching(shape, { maxLength: Math.min(max, MAX_TEXT) });
  return (shape.test('\u20ac') ? printable : matching).filter((text) => fits(text) && shape.test(text));
}
