import type { DeliveryAuthority, TransactionRunner } from '@valise/authority';
import type { Admissions } from '../admission/admissions.js';
import { KINDS } from '../admission/admission.js';
import type { Connections } from '../http/connections.js';
import type { TransportFacts } from '../tls/transport-facts.js';
import type { AdmittingListener, ListenerName, PoolName } from './catalogue.js';
import type { Metrics } from './metrics.js';

/** What a role's pool and its transactions count. */
export function measureTransactions(metrics: Metrics, role: PoolName, runner: TransactionRunner): void {
  const { counts } = runner;
  metrics.read('valise_transactions_total', (report) => {
    report({ role, outcome: 'committed' }, counts.committed);
    report({ role, outcome: 'refused' }, counts.refused);
    report({ role, outcome: 'unavailable' }, counts.unavailable);
    report({ role, outcome: 'unknown' }, counts.unknownOutcome);
  });
  metrics.read('valise_transaction_retries_total', (report) => {
    for (const [sqlstate, count] of entriesOf(counts.retriedBySqlState)) report({ role, sqlstate }, count);
  });
  metrics.read('valise_pool_connections', (report) => {
    const { open, idle } = runner.poolUse;
    report({ role, state: 'busy' }, open - idle);
    report({ role, state: 'idle' }, idle);
  });
  metrics.read('valise_pool_waiting', (report) => {
    report({ role }, runner.poolUse.waiting);
  });
  metrics.read('valise_pool_connections_taken_total', (report) => {
    report({ role }, counts.connections);
  });
  metrics.read('valise_pool_wait_seconds_total', (report) => {
    report({ role }, counts.connectionWaitMs / 1000);
  });
}

/** Why deliveries were denied. */
export function measureDenials(metrics: Metrics, authority: DeliveryAuthority): void {
  metrics.read('valise_delivery_denials_total', (report) => {
    for (const [denial, count] of entriesOf(authority.denials)) report({ denial }, count);
  });
}

/** Who is at work, who waits, who was turned away. */
export function measureAdmissions(
  metrics: Metrics,
  listener: AdmittingListener,
  admissions: Admissions,
): void {
  metrics.read('valise_admission_running', (report) => {
    for (const kind of KINDS) report({ listener, kind }, admissions[kind].load.running);
  });
  metrics.read('valise_admission_waiting', (report) => {
    for (const kind of KINDS) report({ listener, kind }, admissions[kind].load.waiting);
  });
  metrics.read('valise_admission_refused_total', (report) => {
    for (const kind of KINDS) {
      for (const [reason, count] of entriesOf(admissions[kind].refused))
        report({ listener, kind, reason }, count);
    }
  });
}

/** The sockets of a listener. */
export function measureConnections(metrics: Metrics, listener: ListenerName, connections: Connections): void {
  metrics.read('valise_connections', (report) => {
    report({ listener }, connections.open);
  });
  metrics.read('valise_connections_refused_total', (report) => {
    for (const [reason, count] of entriesOf(connections.refused)) report({ listener, reason }, count);
  });
}

/** Certificates, revocation lists, and what they kept out. */
export function measureTransport(metrics: Metrics, facts: TransportFacts): void {
  metrics.read('valise_certificate_not_after_timestamp_seconds', (report) => {
    report({ certificate: 'own' }, facts.certificateNotAfterMs / 1000);
    report({ certificate: 'authority' }, facts.authorityNotAfterMs / 1000);
  });
  metrics.read('valise_revocation_next_update_timestamp_seconds', (report) => {
    if (facts.revocationNextUpdateMs !== null) report({}, facts.revocationNextUpdateMs / 1000);
  });
  metrics.read('valise_revocation_overdue', (report) => {
    report({}, facts.revocationOverdue ? 1 : 0);
  });
  metrics.read('valise_reloads_total', (report) => {
    for (const [files, { succeeded, failed }] of entriesOf(facts.reloads)) {
      report({ files, result: 'succeeded' }, succeeded);
      report({ files, result: 'failed' }, failed);
    }
  });
  metrics.read('valise_reload_failing', (report) => {
    for (const [files, { failing }] of entriesOf(facts.reloads)) report({ files }, failing ? 1 : 0);
  });
  metrics.read('valise_handshake_failures_total', (report) => {
    for (const [reason, count] of entriesOf(facts.handshakeFailures)) report({ reason }, count);
  });
  metrics.read('valise_certificate_refusals_total', (report) => {
    for (const [reason, count] of entriesOf(facts.refusedRequests)) report({ reason }, count);
  });
  metrics.read('valise_connections_destroyed_total', (report) => {
    for (const [reason, count] of entriesOf(facts.destroyedSockets)) report({ reason }, count);
  });
}

function entriesOf<Key extends string, Value>(record: Readonly<Record<Key, Value>>): [Key, Value][] {
  return Object.entries(record) as [Key, Value][];
}
