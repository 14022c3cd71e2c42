import { DENIALS } from '@valise/authority';
import { FAILURES, type FailureCode } from '@valise/contracts/failure';
import { CUSTODY_FAULTS } from '../custody/secret-custody.js';
import { KINDS } from '../admission/admission.js';
import { CERTIFICATE_REFUSALS, FILE_SETS, HANDSHAKE_FAILURES } from '../tls/transport-facts.js';

const codes = Object.keys(FAILURES) as FailureCode[];

/** The addresses of the program, and those that callers of certificates use: the plain one admits everybody. */
const LISTENERS = ['ingress', 'management', 'plain'] as const;
const ADMITTING = ['ingress', 'management'] as const;
export const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'other'] as const;
/** The pools of the program, by the role that they work under. */
const ROLES = ['ingress', 'operator', 'sweeper'] as const;

/** One metric: what it tells, and for each label every value that it can have. */
interface MetricEntry {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels: Readonly<Record<string, readonly string[]>>;
}

/** The patterns of our own routes, which are known once the listeners are made; `none` for what has no route. */
const OUR_ROUTES: readonly string[] = [];

/**
 * Everything that the program measures. Label values come from these lists alone, so that no identifier, reference,
 * name or other text of a request can become one. docs/reference/metrics.md is this list.
 */
export const METRICS = {
  valise_requests_total: {
    type: 'counter',
    help: 'Requests that ended: well, with a code, or with a connection that broke first.',
    labels: {
      listener: LISTENERS,
      method: METHODS,
      route: OUR_ROUTES,
      outcome: ['ok', 'aborted', ...codes],
    },
  },
  valise_request_duration_seconds: {
    type: 'histogram',
    help: 'From a request’s head to the end of its answer.',
    labels: { listener: LISTENERS, route: OUR_ROUTES },
  },
  valise_connections: { type: 'gauge', help: 'Open connections.', labels: { listener: LISTENERS } },
  valise_connections_refused_total: {
    type: 'counter',
    help: 'Connections closed at once: the listener’s or one caller’s were too many.',
    labels: { listener: LISTENERS, reason: ['listener', 'caller'] },
  },
  valise_admission_running: {
    type: 'gauge',
    help: 'Requests at work.',
    labels: { listener: ADMITTING, kind: KINDS },
  },
  valise_admission_waiting: {
    type: 'gauge',
    help: 'Requests that wait for their turn, or for their body.',
    labels: { listener: ADMITTING, kind: KINDS },
  },
  valise_admission_refused_total: {
    type: 'counter',
    help: 'Requests refused because the caller had too many (429), all had (503), or the turn did not come in time (503).',
    labels: { listener: ADMITTING, kind: KINDS, reason: ['caller', 'listener', 'late'] },
  },
  valise_admission_wait_seconds: {
    type: 'histogram',
    help: 'How long a request waited for its turn, once its body was there.',
    labels: { kind: KINDS },
  },
  valise_delivery_phase_seconds: {
    type: 'histogram',
    help: 'What a delivery spends its time on, beside its wait for its turn.',
    labels: { phase: ['authorise', 'custody', 'write'] },
  },
  valise_deliveries_total: {
    type: 'counter',
    help: 'Authorised deliveries, by what became of them.',
    labels: { outcome: ['sent', 'aborted', 'custody_failed'] },
  },
  valise_delivered_bytes_total: { type: 'counter', help: 'Bytes of documents that were sent.', labels: {} },
  valise_delivery_denials_total: {
    type: 'counter',
    help: 'Denied deliveries, by the reason on record.',
    labels: { denial: DENIALS },
  },
  valise_custody_failures_total: {
    type: 'counter',
    help: 'Deliveries whose material could not be handed out.',
    labels: { fault: [...CUSTODY_FAULTS, 'invalid'] },
  },
  valise_transactions_total: {
    type: 'counter',
    help: 'Transactions, by their end.',
    labels: { role: ROLES, outcome: ['committed', 'refused', 'unavailable', 'unknown'] },
  },
  valise_transaction_retries_total: {
    type: 'counter',
    help: 'Transactions run again.',
    labels: { role: ROLES, sqlstate: ['40001', '40P01'] },
  },
  valise_pool_connections: {
    type: 'gauge',
    help: 'Connections to PostgreSQL.',
    labels: { role: ROLES, state: ['busy', 'idle'] },
  },
  valise_pool_waiting: {
    type: 'gauge',
    help: 'Transactions that wait for a connection.',
    labels: { role: ROLES },
  },
  valise_pool_connections_taken_total: {
    type: 'counter',
    help: 'Connections that transactions asked for.',
    labels: { role: ROLES },
  },
  valise_pool_wait_seconds_total: {
    type: 'counter',
    help: 'How long transactions have waited for a connection, together.',
    labels: { role: ROLES },
  },
  valise_certificate_not_after_timestamp_seconds: {
    type: 'gauge',
    help: 'When control’s own certificate ends, and the first of its callers’ authorities.',
    labels: { certificate: ['own', 'authority'] },
  },
  valise_revocation_next_update_timestamp_seconds: {
    type: 'gauge',
    help: 'The earliest nextUpdate of a revocation list; absent without lists.',
    labels: {},
  },
  valise_revocation_overdue: {
    type: 'gauge',
    help: '1 while a revocation list is past its nextUpdate.',
    labels: {},
  },
  valise_reloads_total: {
    type: 'counter',
    help: 'How often files were read again because they had changed, or on SIGHUP.',
    labels: { files: FILE_SETS, result: ['succeeded', 'failed'] },
  },
  valise_reload_failing: {
    type: 'gauge',
    help: '1 while the files on the disk are not those in force, because they are not good.',
    labels: { files: FILE_SETS },
  },
  valise_handshake_failures_total: {
    type: 'counter',
    help: 'Handshakes that failed, by the server’s reason.',
    labels: { reason: HANDSHAKE_FAILURES },
  },
  valise_certificate_refusals_total: {
    type: 'counter',
    help: 'Requests refused because of what is wrong with the caller’s certificate.',
    labels: { reason: CERTIFICATE_REFUSALS },
  },
  valise_connections_destroyed_total: {
    type: 'counter',
    help: 'Live connections cut because their certificate is not good any more.',
    labels: { reason: CERTIFICATE_REFUSALS },
  },
  valise_sweeper_lag_seconds: {
    type: 'gauge',
    help: 'Since the end of the last sweep that did everything; about the sweep interval when all is well.',
    labels: {},
  },
  valise_sweep_duration_seconds: { type: 'histogram', help: 'How long a sweep took.', labels: {} },
  valise_swept_total: {
    type: 'counter',
    help: 'What the sweeper did.',
    labels: {
      act: [
        'requeued',
        'ended',
        'waiting',
        'stops_requested',
        'sessions_ended',
        'uploads_removed',
        'artifacts_removed',
      ],
    },
  },
  valise_sweep_failures_total: {
    type: 'counter',
    help: 'What the sweeper could not do.',
    labels: {
      step: [
        'expire_leases',
        'request_stops',
        'end_sessions',
        'count_denials',
        'remove_uploads',
        'remove_artifacts',
        'create_partitions',
      ],
    },
  },
  valise_ready: { type: 'gauge', help: '1 while the program takes traffic, 0 while it drains.', labels: {} },
} as const satisfies Record<string, MetricEntry>;

export type MetricName = keyof typeof METRICS;
type Lists<Name extends MetricName> = (typeof METRICS)[Name]['labels'];

/** The labels of a metric, each with one of its values. */
export type LabelsOf<Name extends MetricName> = {
  readonly [Label in keyof Lists<Name>]: Lists<Name>[Label] extends readonly (infer Value extends string)[]
    ? Value
    : never;
};

export type ListenerName = (typeof LISTENERS)[number];
export type AdmittingListener = (typeof ADMITTING)[number];
export type PoolName = (typeof ROLES)[number];
