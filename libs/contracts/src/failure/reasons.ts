/** Why an attempt ended as it did: the optional `reasonCode` of start-failure and completion (state.md, "Reasons"). */
export const REASON_CODES = [
  'secret_unavailable',
  'secret_response_invalid',
  'environment_budget_exceeded',
  'environment_name_refused',
  'environment_name_conflict',
  'delivery_denied',
  'delivery_budget_exhausted',
  'artifact_unavailable',
  'command_not_found',
  'command_not_executable',
  'argument_list_too_long',
  'out_of_memory',
  'killed_by_signal',
  'stopped_by_operator',
  'stopped_by_timeout',
  'lease_lost',
  'worker_restarted',
  'worker_shutdown',
  'worker_unavailable',
  'launch_outcome_unknown',
] as const;

export type ReasonCode = (typeof REASON_CODES)[number];

/** Why a worker that asked for an offer got none. */
export const IDLE_REASONS = [
  'worker_unavailable',
  'no_candidates',
  'no_match',
  'claim_raced',
  'plans_unavailable',
] as const;

export type IdleReason = (typeof IDLE_REASONS)[number];
