import type { FailureCode } from '@valise/contracts/failure';
import { Admission, type AdmissionLimits, type Kind } from './admission.js';

/** A request that has been let in is over by then, whatever it does; its connection is cut. */
export const LIFETIME_MS: Readonly<Record<Kind, number>> = {
  call: 30_000,
  delivery: 30_000,
  transfer: 120_000,
};

/** The admissions of one listener, so that requests that are slow by nature hold up their own kind alone. */
export type Admissions = Readonly<Record<Kind, Admission>>;

/** Limits that suit a pool of `connections`. */
export function admissionsFor(
  connections: number,
  unavailable: FailureCode & `${string}_unavailable`,
): Admissions {
  const limits: Record<Kind, AdmissionLimits> = {
    // Enough to keep the pool busy; who waits, waits here, where turns are fair.
    call: { running: 2 * connections, places: 1024, placesPerCaller: 128, waitMs: 2000 },
    // Their connection is back in the pool while they wait for files.
    delivery: { running: Math.max(64, 2 * connections), places: 512, placesPerCaller: 128, waitMs: 2000 },
    // A mebibyte each, for as long as the other side takes.
    transfer: { running: 16, places: 64, placesPerCaller: 16, waitMs: 10_000 },
  };
  return {
    call: new Admission(limits.call, unavailable),
    delivery: new Admission(limits.delivery, unavailable),
    transfer: new Admission(limits.transfer, unavailable),
  };
}
