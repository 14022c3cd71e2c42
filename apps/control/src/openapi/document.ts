import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import * as wire from '@valise/contracts/wire';

type Schema = Readonly<Record<string, unknown>>;
type Dto = new () => object;
interface Operation {
  parameters?: unknown[];
}

const PATHS: readonly Dto[] = [wire.WorkerSessionPath, wire.WorkerPath, wire.TaskPath, wire.RunPath];

/** One OpenAPI 3.1 document for both listeners. Schemas come from the rules that validate the bodies. */
export function createOpenApiDocument(listeners: readonly INestApplication[]): OpenAPIObject {
  const info = new DocumentBuilder()
    .setTitle('Valise control')
    .setDescription('Worker ingress and management. Both ask for a client certificate (mutual TLS 1.3).')
    .setVersion('3')
    .setOpenAPIVersion('3.1.0')
    .build();
  const documents = listeners.map((listener) => SwaggerModule.createDocument(listener, info));
  const paths = Object.fromEntries(documents.flatMap((document) => Object.entries(document.paths)));
  for (const [template, item] of Object.entries(paths)) {
    for (const operation of Object.values(item) as Operation[])
      operation.parameters = pathParameters(template);
  }
  return { ...info, paths, components: { schemas: wireSchemas() } };
}

function pathParameters(template: string): { name: string; in: string; required: true; schema: Schema }[] {
  const names = [...template.matchAll(/\{(\w+)\}/g)].map((match) => String(match[1]));
  return names.map((name) => {
    const field = PATHS.map((path) => wire.fieldsOf(path).get(name)).find((found) => found !== undefined);
    if (!field) throw new Error(`no DTO describes the path parameter ${name}`);
    return { name, in: 'path', required: true, schema: field.schema };
  });
}

/** The JSON Schema of every DTO class of the wire. */
function wireSchemas(): Record<string, Schema> {
  const classes = (Object.values(wire) as unknown[]).filter(isDto);
  return Object.fromEntries(classes.map((type) => [type.name, objectSchema(type)]));
}

function isDto(value: unknown): value is Dto {
  return typeof value === 'function' && wire.fieldsOf(value as Dto).size > 0;
}

function objectSchema(type: Dto): Schema {
  const fields = [...wire.fieldsOf(type).values()];
  return {
    type: 'object',
    additionalProperties: false,
    required: fields.filter(({ optional }) => !optional).map(({ name }) => name),
    properties: Object.fromEntries(fields.map((field) => [field.name, fieldSchema(field)])),
  };
}

function fieldSchema({ schema, nested }: wire.DtoField): Schema {
  if (!nested) return schema;
  const reference = { $ref: `#/components/schemas/${nested().name}` };
  return schema.type === 'array' ? { ...schema, items: reference } : reference;
}
