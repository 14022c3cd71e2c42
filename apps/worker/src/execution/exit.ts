import type { ReasonCode } from '@valise/contracts/failure';
import type { CompletionOutcome } from '@valise/contracts/wire';
import type { Exit, Launch } from '../inbox/inbox-record.js';
import type { ProcessEnd } from './launcher.js';

/** How an attempt ended whose process was seen to end; `haltedBy` is why it was stopped, if it was. */
export function exitOf({ exitCode, signal }: ProcessEnd, haltedBy: ReasonCode | null, launch: Launch): Exit {
  const [outcome, reasonCode] = outcomeOf(exitCode, signal !== null, haltedBy);
  const result = { outcome, startedAtMs: launch.launchedAtMs, finishedAtMs: finishedAtMs(launch), exitCode };
  return { result, reasonCode, signal: reasonCode === 'killed_by_signal' ? signal : null };
}

/** How an attempt ended whose process nobody saw end. */
export function unseenExit(reasonCode: ReasonCode, launch: Launch): Exit {
  const { launchedAtMs: startedAtMs } = launch;
  const result = {
    outcome: 'failed',
    startedAtMs,
    finishedAtMs: finishedAtMs(launch),
    exitCode: null,
  } as const;
  return { result, reasonCode, signal: null };
}

function outcomeOf(
  exitCode: number | null,
  wasKilled: boolean,
  haltedBy: ReasonCode | null,
): [CompletionOutcome, ReasonCode | null] {
  if (exitCode === 0) return ['succeeded', null];
  if (haltedBy === 'stopped_by_operator') return ['cancelled', haltedBy];
  if (haltedBy === 'stopped_by_timeout') return ['timed_out', haltedBy];
  if (haltedBy !== null) return ['failed', haltedBy];
  return ['failed', wasKilled ? 'killed_by_signal' : null];
}

/** The wall clock may have been set back meanwhile. */
const finishedAtMs = ({ launchedAtMs }: Launch): number => Math.max(launchedAtMs, Date.now());
