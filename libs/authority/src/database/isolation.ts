import type { TransactionOptions } from './transaction-runner.js';

/** What workers do all the time: row locks in the order worker, session, run, attempt, lease (state.md, "Isolation"). */
export const INGRESS: TransactionOptions = {
  isolation: 'READ COMMITTED',
  unavailable: 'worker_ingress_unavailable',
};

/** What operators do, with the same locks. */
export const MANAGEMENT: TransactionOptions = {
  isolation: 'READ COMMITTED',
  unavailable: 'management_unavailable',
};

/** Publishing reads many facts and must be right about all of them. */
export const PUBLISHING: TransactionOptions = {
  isolation: 'SERIALIZABLE',
  unavailable: 'management_unavailable',
};

/** A delivery reads many facts and must be right about all of them. */
export const DELIVERY: TransactionOptions = {
  isolation: 'SERIALIZABLE',
  unavailable: 'worker_secret_delivery_unavailable',
  shape: 'reads_first',
};

/** The record of a denial that the conditional write decided: one statement, which reads nothing but its counter. */
export const DENIAL: TransactionOptions = {
  isolation: 'READ COMMITTED',
  unavailable: 'worker_secret_delivery_unavailable',
  shape: 'one_statement',
};

/** What became of a delivery: one insert, and the lease's counter given back, in one statement. */
export const SETTLEMENT: TransactionOptions = {
  isolation: 'READ COMMITTED',
  unavailable: 'worker_secret_delivery_unavailable',
  shape: 'one_statement',
};
