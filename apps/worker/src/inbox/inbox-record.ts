import type { ReasonCode } from '@valise/contracts/failure';
import type { CompletionResult, Offer } from '@valise/contracts/wire';
import type { Message } from '../ingress/message.js';

/** What the worker chose and wrote down before it asked: a repeated question finds the same claim. */
export interface Claim {
  readonly offerId: string;
  readonly leaseToken: string;
}

/** What is fixed before the process exists. */
export interface Launch {
  readonly logArtifactId: string;
  /** 32 random bytes in base64url; control knows its digest. */
  readonly callbackToken: string;
  /** On the worker's clock; for display only. */
  readonly launchedAtMs: number;
}

/** Names one process for ever on one boot: pids come again, with another start time. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Field 22 of /proc/PID/stat, in clock ticks since boot. */
  readonly startTime: number;
}

/** How the attempt ended, as it will be reported. */
export interface Exit {
  readonly result: Message<CompletionResult>;
  readonly reasonCode: ReasonCode | null;
  readonly signal: string | null;
}

interface Claimed {
  readonly claim: Claim;
  readonly offer: Message<Offer>;
}

interface Launched extends Claimed {
  readonly launch: Launch;
}

/**
 * One slot's record: wire.md §6's states, and the two that only this disk knows: `claiming` (an offer is being asked
 * for) and `exited` (the end is known, control has not acknowledged it). Each holds what its successors need; none
 * holds a secret value or a name out of a bundle.
 */
export type InboxRecord =
  | { readonly state: 'claiming'; readonly claim: Claim }
  | ({ readonly state: 'accepted' | 'starting_acknowledged' } & Claimed)
  | ({ readonly state: 'launching' } & Launched)
  | ({
      readonly state: 'started' | 'running_acknowledged';
      readonly process: ProcessIdentity;
    } & Launched)
  | ({ readonly state: 'recovery_required'; readonly reasonCode: ReasonCode } & Launched)
  | ({ readonly state: 'exited' | 'completion_acknowledged'; readonly exit: Exit } & Launched)
  | ({
      readonly state: 'start_failed' | 'start_failure_acknowledged';
      readonly reasonCode: ReasonCode | null;
    } & Claimed);

export type InboxState = InboxRecord['state'];
/** The records that may be in one of these states. */
export type RecordIn<S extends InboxState> = Exclude<InboxRecord, { state: Exclude<InboxState, S> }>;

/** A record that has an offer. */
export type ClaimedRecord = Exclude<InboxRecord, { state: 'claiming' }>;
