import { EXAMPLES } from '@valise/contracts/examples';
import * as wire from '@valise/contracts/wire';

export type Schema = Readonly<Record<string, unknown>>;
type Dto = new () => object;

export const schemaPath = (type: Dto): string => `#/components/schemas/${type.name}`;

/** The JSON Schema of every DTO class of the wire, made from the rules that validate its bodies. */
export function wireSchemas(): Record<string, Schema> {
  const classes = (Object.values(wire) as unknown[]).filter(isDto);
  return Object.fromEntries(classes.map((type) => [type.name, objectSchema(type)]));
}

/** The schema of a field that stands in a path. */
export function pathSchema(name: string): Schema {
  const paths = [wire.WorkerSessionPath, wire.WorkerPath, wire.TaskPath, wire.RunPath, wire.AuditPath];
  const field = paths.map((path) => wire.fieldsOf(path).get(name)).find((found) => found !== undefined);
  if (!field) throw new Error(`no DTO describes the path parameter ${name}`);
  return field.schema;
}

function isDto(value: unknown): value is Dto {
  return typeof value === 'function' && wire.fieldsOf(value as Dto).size > 0;
}

function objectSchema(type: Dto): Schema {
  const fields = [...wire.fieldsOf(type).values()];
  const rules = wire.rulesOf(type).map(({ says }) => says);
  const example = EXAMPLES.get(type);
  return {
    type: 'object',
    ...(rules.length > 0 && { description: rules.join(' ') }),
    additionalProperties: false,
    required: fields.filter(({ optional }) => !optional).map(({ name }) => name),
    properties: Object.fromEntries(fields.map((field) => [field.name, fieldSchema(field)])),
    ...(example && { examples: [example] }),
  };
}

function fieldSchema({ schema, nested }: wire.DtoField): Schema {
  if (!nested) return schema;
  const reference = { $ref: schemaPath(nested()) };
  return schema.type === 'array' ? { ...schema, items: reference } : reference;
}
