import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import type { FailureCode } from '@valise/contracts/failure';
import {
  ARTIFACT_CONTENT_TYPE,
  ArtifactUploadHeader,
  MAX_ARTIFACT_HEADER_BYTES,
} from '@valise/contracts/wire';
import { REFUSALS } from '../http/answers.js';
import { problemResponses } from './refusals.js';
import { pathSchema, schemaPath, wireSchemas, type Schema } from './schemas.js';

interface Operation {
  parameters?: unknown;
  requestBody?: unknown;
  responses: Record<string, unknown>;
  [REFUSALS]?: readonly FailureCode[];
}

const WORKER_ROUTES = '/api/v3/worker-ingress/';

/** One OpenAPI 3.1 document for both listeners. Schemas come from the rules that validate the bodies. */
export function createOpenApiDocument(listeners: readonly INestApplication[]): OpenAPIObject {
  const info = new DocumentBuilder()
    .setTitle('Valise control')
    .setDescription(
      'Worker ingress and management. Both ask for a client certificate (mutual TLS 1.3). Sizes of texts count UTF-8 bytes, ' +
        'as each description says; JSON Schema’s minLength and maxLength count characters and are the wider bounds.',
    )
    .setVersion('3')
    .setOpenAPIVersion('3.1.0')
    .build();
  const documents = listeners.map((listener) => SwaggerModule.createDocument(listener, info));
  const paths = Object.fromEntries(documents.flatMap((document) => Object.entries(document.paths)));
  for (const [template, item] of Object.entries(paths)) {
    const operations = item as Record<string, Operation>;
    for (const [method, operation] of Object.entries(operations)) {
      operations[method] = complete(operation, template);
    }
  }
  return { ...info, paths, components: { schemas: wireSchemas() } };
}

/** The operation with everything that Swagger cannot see in its handler. */
function complete({ [REFUSALS]: own = [], ...operation }: Operation, template: string): Operation {
  const requestBody = template.endsWith('/artifacts') ? ARTIFACT_BODY : operation.requestBody;
  const isWorkerRoute = template.startsWith(WORKER_ROUTES);
  const refusals = problemResponses(own, { isWorkerRoute, hasBody: requestBody !== undefined });
  return {
    ...operation,
    parameters: pathParameters(template),
    ...(requestBody !== undefined && { requestBody }),
    responses: { ...operation.responses, ...refusals },
  };
}

function pathParameters(template: string): { name: string; in: string; required: true; schema: Schema }[] {
  const names = [...template.matchAll(/\{(\w+)\}/g)].map((match) => String(match[1]));
  return names.map((name) => ({ name, in: 'path', required: true, schema: pathSchema(name) }));
}

const ARTIFACT_BODY = {
  required: true,
  description: `A big-endian uint32, the length in bytes (at most ${MAX_ARTIFACT_HEADER_BYTES}) of the JSON header after it, which is described by ${schemaPath(ArtifactUploadHeader)}; then exactly as many bytes as the header's byteLength says. Content-Length is the sum.`,
  content: { [ARTIFACT_CONTENT_TYPE]: {} },
};
