import { parseJson } from '@valise/contracts/documents';
import { ValiseError, type FailureCode } from '@valise/contracts/failure';
import * as wire from '@valise/contracts/wire';

type Dto = new () => object;

/** Reads a body as the listener, or the worker that asked, does: strict JSON where it is text, then its DTO class. */
function reader(type: Dto, code: FailureCode): (input: unknown) => object {
  return (input) => wire.readBody(type, isText(input) ? parseAs(code, input) : input, code);
}

const request = (type: Dto): ((input: unknown) => object) => reader(type, 'invalid_worker_request');
const answer = (type: Dto): ((input: unknown) => object) => reader(type, 'control_answer_invalid');

const isText = (input: unknown): input is string | Uint8Array =>
  typeof input === 'string' || input instanceof Uint8Array;

function parseAs(code: FailureCode, text: string | Uint8Array): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    if (error instanceof ValiseError) throw new ValiseError(code, error.facts);
    throw error;
  }
}

/** The bodies of the worker's routes (wire.md §6): an object, or the text of one. */
export const BODY_KINDS = {
  'sessionRegister.read': request(wire.SessionRegisterRequest),
  'sessionRegisterResponse.read': answer(wire.SessionRegisterResponse),
  'sessionHeartbeat.read': request(wire.SessionHeartbeatRequest),
  'sessionHeartbeatResponse.read': answer(wire.SessionHeartbeatResponse),
  'sessionTransition.read': request(wire.SessionTransitionRequest),
  'sessionTransitionResponse.read': answer(wire.SessionTransitionResponse),
  'offerRequest.read': request(wire.OfferRequest),
  'offerResponse.read': answer(wire.OfferResponse),
  'starting.read': request(wire.StartingRequest),
  'startFailure.read': request(wire.StartFailureRequest),
  'running.read': request(wire.RunningRequest),
  'activationResponse.read': answer(wire.ActivationResponse),
  'leaseControl.read': request(wire.LeaseControlRequest),
  'leaseControlResponse.read': answer(wire.LeaseControlResponse),
  'artifactUpload.read': request(wire.ArtifactUploadHeader),
  'artifactUploadResponse.read': answer(wire.ArtifactUploadResponse),
  'completion.read': request(wire.CompletionRequest),
  'completionResponse.read': answer(wire.CompletionResponse),
};
