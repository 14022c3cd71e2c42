import type { FailureCode } from '@valise/contracts/failure';
import { ARTIFACT_UPLOAD_DEADLINE_MS } from '@valise/contracts/wire';
import { Admission, type Kind } from './admission.js';

/**
 * A request that has been let in is over by then, whatever it does; its connection is cut. A transfer has as long as a
 * worker waits for it: one that is merely slow would be begun again and again otherwise.
 */
export const LIFETIME_MS: Readonly<Record<Kind, number>> = {
  call: 30_000,
  transfer: ARTIFACT_UPLOAD_DEADLINE_MS,
};

/** The admissions of one listener, so that requests that are slow by nature hold up their own kind alone. */
export type Admissions = Readonly<Record<Kind, Admission>>;

/** Limits that suit a pool of `connections`: who waits, waits here, where turns are fair, and not for the pool. */
export function admissionsFor(
  connections: number,
  unavailable: FailureCode & `${string}_unavailable`,
): Admissions {
  const call = {
    running: connections,
    // Whatever one caller's calls are stuck in, there are connections for the others.
    runningPerCaller: Math.ceil(connections / 2),
    places: 1024,
    placesPerCaller: 128,
    waitMs: 2000,
  };
  // A mebibyte each, for as long as the other side takes; a connection only now and then, and a quarter of them at most.
  const transfer = { running: 32, runningPerCaller: 4, places: 96, placesPerCaller: 16, waitMs: 10_000 };
  return { call: new Admission(call, unavailable), transfer: new Admission(transfer, unavailable) };
}
