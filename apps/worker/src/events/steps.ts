import { Injectable } from '@nestjs/common';
import { EventLog, type EventFields } from './event-log.js';

/** The steps of one attempt, in their order, as the worker's log names them. */
export const ATTEMPT_STEPS = [
  'claimed',
  'starting_acknowledged',
  'secrets_received',
  'artifact_allocated',
  'spawned',
  'started',
  'running_acknowledged',
  'exited',
  'slot_empty',
  'artifact_stored',
  'completed',
  'start_failed',
] as const;
export type AttemptStep = (typeof ATTEMPT_STEPS)[number];

/**
 * Hears of every boundary at which the worker may be killed: each step of an attempt, and each change of the inbox
 * before and after it is on the disk. The one place for whoever wants to be there.
 */
@Injectable()
export class Steps {
  constructor(private readonly log: EventLog) {}

  /** The step is done. */
  reached(step: AttemptStep, fields: EventFields): void {
    if (step === 'spawned' || step === 'slot_empty') this.log.debug(step, fields);
    else this.log.info(step, fields);
  }

  /** The inbox is about to write a change, or has written it. */
  journal(moment: 'before' | 'after', change: string): void {
    this.log.debug('journal', { moment, change });
  }
}
