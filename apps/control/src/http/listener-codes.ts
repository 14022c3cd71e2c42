import type { FailureCode } from '@valise/contracts/failure';

/** The codes in which a listener says what both of them have to say. */
export class ListenerCodes {
  private constructor(
    readonly invalid: FailureCode,
    readonly notFound: FailureCode,
  ) {}

  static readonly INGRESS = new ListenerCodes('invalid_worker_request', 'worker_route_not_found');
  static readonly MANAGEMENT = new ListenerCodes('invalid_request', 'not_found');
}
