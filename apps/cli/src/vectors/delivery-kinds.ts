import {
  readDeliveryResponse,
  writeDeliveryResponse,
  type Delivered,
  type DeliveryReferences,
  type DeliverySubject,
} from '@valise/contracts/documents';
import { ValiseError } from '@valise/contracts/failure';
import {
  fieldsOf,
  readBody,
  SECRET_DELIVERY_SCHEMA,
  SecretDeliveryRequest,
  SecretDeliveryResponse,
  WorkerSessionPath,
} from '@valise/contracts/wire';

const CODE = 'REMOTE_SECRET_DELIVERY_INVALID';

interface TextItem {
  readonly secretRef: string;
  readonly value: string;
}

interface TextMaterial extends DeliverySubject {
  readonly values: readonly TextItem[];
  readonly environmentBundles: readonly TextItem[];
}

type Expected = DeliverySubject & DeliveryReferences;

/** A request as a vector gives it: the body without its schema, beside the identity of the path. */
export function deliveryRequest(input: unknown): unknown {
  const { path, body } = readRequest(input);
  const members = Object.entries(body).filter(([name]) => name !== 'schema');
  return { workerId: path.workerId, workerSessionId: path.sessionId, ...Object.fromEntries(members) };
}

/** The body's text: the DTO's fields in the order they are declared. */
export function deliveryBody(input: unknown): string {
  const { body } = readRequest(input);
  return JSON.stringify(
    Object.fromEntries(
      [...fieldsOf(SecretDeliveryRequest).keys()].map((name) => [
        name,
        body[name as keyof SecretDeliveryRequest],
      ]),
    ),
  );
}

export function deliveryResponse({
  serialized,
  expected,
}: {
  serialized: unknown;
  expected: Expected;
}): unknown {
  const { values, environmentBundles } = readDeliveryResponse(utf8(serialized), expected);
  const { runId, attemptId, offerId, executionDigest } = expected;
  return {
    runId,
    attemptId,
    offerId,
    executionDigest,
    values: values.map(asText),
    environmentBundles: environmentBundles.map(asText),
  };
}

/** The text of a response, which the reader must take as an answer to the expected lists. */
export function writtenResponse({ result, expected }: { result: TextMaterial; expected: Expected }): string {
  readBody(SecretDeliveryResponse, { schema: SECRET_DELIVERY_SCHEMA, ...result }, CODE);
  const document = writeDeliveryResponse({
    ...result,
    values: result.values.map(asBytes),
    environmentBundles: result.environmentBundles.map(asBytes),
  });
  const { secretRefs, environmentBundleRefs } = expected;
  readDeliveryResponse(document, { ...result, secretRefs, environmentBundleRefs });
  return document.toString('utf8');
}

function readRequest(input: unknown): { path: WorkerSessionPath; body: SecretDeliveryRequest } {
  if (typeof input !== 'object' || input === null)
    throw new ValiseError(CODE, { field: 'request', rule: 'object' });
  const { workerId, workerSessionId, ...rest } = input as Record<string, unknown>;
  const path = readBody(WorkerSessionPath, { workerId, sessionId: workerSessionId }, CODE);
  const body = readBody(SecretDeliveryRequest, { schema: SECRET_DELIVERY_SCHEMA, ...rest }, CODE);
  return { path, body };
}

const asText = ({ secretRef, value }: Delivered): TextItem => ({
  secretRef,
  value: Buffer.from(value).toString('utf8'),
});

const asBytes = ({ secretRef, value }: TextItem): Delivered => ({ secretRef, value: utf8(value) });

function utf8(text: unknown): Uint8Array {
  if (text instanceof Uint8Array) return text;
  if (typeof text !== 'string' || !text.isWellFormed())
    throw new ValiseError(CODE, { field: 'value', rule: 'well_formed' });
  return Buffer.from(text, 'utf8');
}
