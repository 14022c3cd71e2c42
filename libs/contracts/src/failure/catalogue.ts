/** One line of the catalogue: the HTTP status the code is answered with, and what it means in plain words. */
interface FailureEntry {
  readonly status: number;
  readonly title: string;
}

/**
 * Every way Valise says no. Upper-case codes belong to documents and are QingLong 3's; lower-case codes belong to the
 * two listeners and the command line. Nothing outside this list is ever sent or thrown on purpose.
 */
export const FAILURES = {
  // Documents (wire.md §1–5, §10).
  JSON_INVALID: { status: 400, title: 'The text is not strict JSON.' },
  SECRET_REFERENCE_INVALID: { status: 400, title: 'The secret reference is not canonical.' },
  ENVIRONMENT_BUNDLE_INVALID: { status: 400, title: 'The environment bundle breaks its contract.' },
  TASK_DEFINITION_INVALID: { status: 400, title: 'The task definition breaks its contract.' },
  TASK_SPEC_UNSUPPORTED: { status: 400, title: 'The task specification has a schema that is not known.' },
  TASK_SPEC_SEMANTIC_INVALID: {
    status: 400,
    title: 'The task specification does not mean a runnable command.',
  },
  TASK_DEFINITION_COMPILATION_INVALID: { status: 409, title: 'The stored definition cannot be compiled.' },
  TASK_DEFINITION_COMPILATION_UNSUPPORTED: {
    status: 409,
    title: 'This compiler does not take such a definition.',
  },
  CLUSTER_EXECUTION_REVISION_INVALID: { status: 400, title: 'The execution revision breaks its contract.' },
  PLACEMENT_INVALID: { status: 400, title: 'The placement breaks its contract.' },
  WORKER_CAPABILITIES_INVALID: { status: 400, title: 'The capabilities of the worker break their contract.' },
  REMOTE_SECRET_DELIVERY_INVALID: { status: 400, title: 'The secret delivery breaks its contract.' },
  REMOTE_SECRET_DELIVERY_TOO_LARGE: {
    status: 422,
    title: 'The material does not fit one response once it is escaped.',
  },
  LEASE_TOKEN_INVALID: { status: 400, title: 'The lease token breaks its contract.' },
  LOG_ARTIFACT_INVALID: { status: 400, title: 'The log artefact breaks its contract.' },
  TRIGGER_INVALID: { status: 400, title: 'The trigger breaks its contract.' },
  TRIGGER_SPEC_UNSUPPORTED: {
    status: 400,
    title: 'The trigger specification has a schema that is not known.',
  },
  TRIGGER_SPEC_SEMANTIC_INVALID: {
    status: 400,
    title: 'The trigger specification does not mean a schedule.',
  },
  CLUSTER_LEGACY_ENV_MIGRATION_PLAN_INVALID: {
    status: 400,
    title: 'The migration plan breaks its contract.',
  },
  CLUSTER_LEGACY_ENV_MIGRATION_APPLICATION_INVALID: {
    status: 400,
    title: 'The migration application breaks its contract.',
  },

  // Both listeners.
  request_too_large: { status: 413, title: 'The body is larger than this route takes.' },
  unsupported_content_type: { status: 415, title: 'The body is not of the type this route takes.' },
  rate_limited: { status: 429, title: 'Too many requests, or too many refused ones; ask again later.' },
  revocation_unavailable: {
    status: 503,
    title: 'Whether the certificate is revoked cannot be known now; ask again.',
  },
  internal_error: { status: 500, title: 'The request failed for a reason that is not the caller’s.' },
  request_timeout: { status: 504, title: 'The request did not end within its deadline.' },

  // Worker ingress (wire.md §6).
  invalid_worker_request: { status: 400, title: 'The request breaks the contract of its route.' },
  worker_authentication_required: {
    status: 401,
    title: 'A certificate that names exactly one worker is required.',
  },
  worker_identity_mismatch: {
    status: 403,
    title: 'The certificate names another worker, or the worker may not do this.',
  },
  worker_route_not_found: { status: 404, title: 'There is no such route.' },
  worker_session_fenced: { status: 409, title: 'The session is not the worker’s current one.' },
  worker_offer_fenced: { status: 409, title: 'The offer id has claimed before and holds nothing.' },
  worker_activation_fenced: { status: 409, title: 'The lease is not the caller’s any more.' },
  worker_secret_delivery_fenced: { status: 409, title: 'The caller has no right to this material now.' },
  worker_lease_control_fenced: { status: 409, title: 'The lease cannot be renewed.' },
  worker_artifact_fenced: { status: 409, title: 'The artefact does not belong to a lease of the caller.' },
  worker_completion_fenced: {
    status: 409,
    title: 'The completion does not come from a holder of the attempt.',
  },
  worker_ingress_unavailable: {
    status: 503,
    title: 'The decision could not be made or recorded; ask again.',
  },
  worker_secret_delivery_unavailable: {
    status: 503,
    title: 'The material cannot be delivered now; ask again.',
  },
  delivery_budget_exhausted: { status: 409, title: 'This claim has used up its deliveries.' },

  // Management.
  invalid_request: { status: 400, title: 'The request breaks the contract of its route.' },
  operator_authentication_required: {
    status: 401,
    title: 'A certificate that names exactly one operator is required.',
  },
  operator_not_permitted: { status: 403, title: 'The operator has no role that allows this.' },
  not_found: { status: 404, title: 'There is no such thing.' },
  range_not_satisfiable: { status: 416, title: 'The range lies outside of what there is.' },
  revision_conflict: { status: 409, title: 'The expected revision is not the current one.' },
  mutation_conflict: { status: 409, title: 'The mutation id was used for something else.' },
  task_disabled: { status: 409, title: 'The task is disabled.' },
  run_not_retryable: { status: 409, title: 'The run has not ended, or has succeeded.' },
  run_may_still_run: { status: 409, title: 'The previous attempt may still run; confirm that to retry.' },
  management_unavailable: { status: 503, title: 'The decision could not be made or recorded; ask again.' },

  // The worker's own refusals; as `reasonCode` they reach control (state.md, "Reasons").
  secret_response_invalid: { status: 502, title: 'The delivery is not the one that was asked for.' },
  environment_budget_exceeded: {
    status: 422,
    title: 'The expanded environment is larger than a process may get.',
  },
  environment_name_refused: {
    status: 422,
    title: 'A name would change how programs are loaded or interpreted.',
  },
  environment_name_conflict: { status: 422, title: 'The bundle and the task name the same variable.' },
  control_unreachable: { status: 503, title: 'Control could not be reached or did not answer in time.' },
  control_answer_invalid: { status: 502, title: 'Control answered with something that breaks the contract.' },
  identity_expired: {
    status: 401,
    title: 'The worker’s certificate has ended; a new one belongs in its place.',
  },
  inbox_damaged: { status: 500, title: 'An inbox record cannot be read; an operator must look.' },
  inbox_in_use: { status: 409, title: 'Another process owns the inbox.' },

  // Start-up and the command line.
  configuration_invalid: { status: 500, title: 'A setting is missing, unknown or malformed.' },
} as const satisfies Record<string, FailureEntry>;

export type FailureCode = keyof typeof FAILURES;
