import type { AttemptStatus, SessionStatus, WorkerStatus } from '@valise/contracts/wire';

/**
 * Event × state → verdict, for every event of state.md, every state, and everybody who may bring the event: what is
 * allowed and what is not. A verdict is the decision's word, or the code of its refusal.
 */

/** Who brings an event, with what in hand, and what else is so. */
export type Circumstance =
  | 'holder'
  | 'cancellation requested'
  | 'stop requested'
  | 'older version'
  | 'version that never was'
  | 'lease expired'
  | 'former holder'
  | 'revoked worker'
  | 'worker that nobody put'
  | 'another worker'
  | 'another token'
  | 'another offer'
  | 'secrets authorised'
  | 'delivery under way'
  | 'a later attempt exists'
  | 'fifth claim'
  | 'by itself';

type Row = Readonly<Record<AttemptStatus, string>>;
type Rows = readonly (readonly [circumstances: readonly Circumstance[], row: Row])[];

function row(queued: string, claimed: string, starting: string, running: string, over: string): Row {
  const ends = { succeeded: over, failed: over, cancelled: over, timed_out: over, lost: over };
  return { queued, claimed, starting, running, ...ends };
}
const always = (word: string): Row => row(word, word, word, word, word);

const ACTIVATION = 'worker_activation_fenced';
const CONTROL = 'worker_lease_control_fenced';
const COMPLETION = 'worker_completion_fenced';
const OFFER = 'worker_offer_fenced';

const denied = (why: string): string => `deny ${why}`;
const NOT_HELD = denied('lease_not_held');
const NOT_STARTING = denied('attempt_not_starting');
/** What a delivery comes to where the only thing wrong is one that is looked at after the attempt's state. */
const secrets = (starting: string): Row => row(NOT_HELD, NOT_STARTING, starting, NOT_STARTING, NOT_HELD);

const started = (end: string): Row => row('late', COMPLETION, end, end, 'late');
const STRANGERS = ['another worker', 'another token', 'another offer'] as const;
const UNTRUSTED = ['revoked worker', 'worker that nobody put'] as const;
const ASKED = ['cancellation requested', 'stop requested'] as const;

/** An ended attempt was ended by the sweeper here. */
export const ATTEMPT_TABLE = {
  claim: [
    [['by itself', 'stop requested'], row('yes', 'no', 'no', 'no', 'no')],
    [['cancellation requested', 'a later attempt exists'], always('no')],
  ],
  'claim repeated': [
    [['holder', ...ASKED], row(OFFER, 'yes', 'yes', 'yes', OFFER)],
    [STRANGERS, always(OFFER)],
  ],
  starting: [
    [
      ['holder', ...ASKED, 'older version'],
      row(ACTIVATION, 'apply', 'already_starting', 'already_running', 'already_terminal'),
    ],
    [
      ['version that never was', 'lease expired', 'former holder', ...UNTRUSTED],
      row(ACTIVATION, ACTIVATION, ACTIVATION, ACTIVATION, 'already_terminal'),
    ],
    [STRANGERS, always(ACTIVATION)],
  ],
  secrets: [
    [['holder'], secrets('authorise')],
    [['delivery under way'], secrets('busy')],
    [ASKED, secrets(denied('stop_requested'))],
    [['older version', 'version that never was'], secrets(denied('lease_version_mismatch'))],
    [['lease expired'], secrets(denied('lease_expired'))],
    [['former holder', 'another worker'], always(NOT_HELD)],
    [['revoked worker'], always(denied('worker_revoked'))],
    [['worker that nobody put'], always(denied('worker_unknown'))],
    [['a later attempt exists'], secrets(denied('attempt_not_newest'))],
    [['another token'], secretsOf('token_mismatch')],
    [['another offer'], secretsOf('offer_mismatch')],
  ],
  'start-failure': [
    [
      ['holder', 'older version', 'lease expired', 'former holder', 'fifth claim'],
      beforeRunning('end failed'),
    ],
    [['cancellation requested'], beforeRunning('end cancelled')],
    [['stop requested'], beforeRunning('end timed_out')],
    [['version that never was'], beforeRunning(ACTIVATION)],
    [UNTRUSTED, always('late')],
    [STRANGERS, always(ACTIVATION)],
  ],
  'start-failure, nothing started': [
    [['holder', 'older version', 'lease expired', 'former holder'], beforeRunning('requeue')],
    [['fifth claim'], beforeRunning('end failed')],
    [['cancellation requested'], beforeRunning('end cancelled')],
    [['stop requested'], beforeRunning('end timed_out')],
    [['version that never was'], beforeRunning(ACTIVATION)],
    [UNTRUSTED, always('late')],
    [STRANGERS, always(ACTIVATION)],
  ],
  running: [
    [
      ['holder', ...ASKED, 'older version'],
      row(ACTIVATION, ACTIVATION, 'apply', 'already_running', 'already_terminal'),
    ],
    [
      ['version that never was', 'lease expired', 'former holder', ...UNTRUSTED],
      row(ACTIVATION, ACTIVATION, ACTIVATION, ACTIVATION, 'already_terminal'),
    ],
    [STRANGERS, always(ACTIVATION)],
  ],
  renew: [
    [['holder', 'older version'], row(CONTROL, 'renew', 'renew', 'renew', 'terminal')],
    [['cancellation requested'], row(CONTROL, 'renew user', 'renew user', 'renew user', 'terminal')],
    [['stop requested'], row(CONTROL, 'renew timeout', 'renew timeout', 'renew timeout', 'terminal')],
    [
      ['version that never was', 'lease expired', 'former holder', ...UNTRUSTED],
      row(CONTROL, CONTROL, CONTROL, CONTROL, 'terminal'),
    ],
    [STRANGERS, always(CONTROL)],
  ],
  'completion, failed': [
    [['holder', ...ASKED, 'older version', 'lease expired', 'former holder'], started('end failed')],
    ...completionByOthers(),
  ],
  'completion, cancelled': [
    [['holder', 'stop requested', 'older version', 'lease expired', 'former holder'], started('end failed')],
    [['cancellation requested'], started('end cancelled')],
    ...completionByOthers(),
  ],
  'completion, timed out': [
    [
      ['holder', 'cancellation requested', 'older version', 'lease expired', 'former holder'],
      started('end failed'),
    ],
    [['stop requested'], started('end timed_out')],
    ...completionByOthers(),
  ],
  'completion, cancelled with exit 0': [
    [['holder', ...ASKED, 'older version', 'lease expired', 'former holder'], started('end succeeded')],
    ...completionByOthers(),
  ],
  cancel: [
    [['by itself', 'stop requested'], row('end', 'request', 'request', 'request', 'nothing')],
    [['cancellation requested'], row('end', 'nothing', 'nothing', 'nothing', 'nothing')],
  ],
  retry: [[['by itself', ...ASKED], ended('run_not_retryable', 'yes', 'run_may_still_run')]],
  'retry, previous may still run': [[['by itself', ...ASKED], ended('run_not_retryable', 'yes', 'yes')]],
  'expiry swept': [
    [['by itself'], row('none', 'requeue', 'requeue', 'end lost', 'none')],
    [['fifth claim'], row('none', 'end failed', 'end failed', 'end lost', 'none')],
    [['cancellation requested'], row('none', 'end cancelled', 'end cancelled', 'end lost', 'none')],
    [['stop requested'], row('none', 'end timed_out', 'end timed_out', 'end lost', 'none')],
    [['secrets authorised'], row('none', 'requeue', 'end lost', 'end lost', 'none')],
    [['delivery under way'], row('none', 'wait', 'wait', 'wait', 'none')],
  ],
  'expiry swept, a plan without references': [
    [['by itself'], row('none', 'requeue', 'end lost', 'end lost', 'none')],
    [['fifth claim'], row('none', 'end failed', 'end lost', 'end lost', 'none')],
    [['cancellation requested'], row('none', 'end cancelled', 'end lost', 'end lost', 'none')],
    [['stop requested'], row('none', 'end timed_out', 'end lost', 'end lost', 'none')],
  ],
  'swept before expiry': [[['by itself', ...ASKED, 'secrets authorised'], always('none')]],
  'deadline and grace passed': [
    [['by itself', 'cancellation requested'], row('no', 'no', 'yes', 'yes', 'no')],
    [['stop requested'], always('no')],
  ],
  'deadline passed': [[['by itself', ...ASKED], always('no')]],
} satisfies Record<string, Rows>;

export type AttemptEvent = keyof typeof ATTEMPT_TABLE;

function beforeRunning(word: string): Row {
  return row('late', word, word, ACTIVATION, 'late');
}

function completionByOthers(): Rows {
  return [
    [['version that never was'], row('late', COMPLETION, COMPLETION, COMPLETION, 'late')],
    [UNTRUSTED, always('late')],
    [STRANGERS, always(COMPLETION)],
  ];
}

function secretsOf(denial: string): Row {
  const word = denied(denial);
  return row(NOT_HELD, word, word, word, NOT_HELD);
}

function ended(goesOn: string, over: string, lost: string): Row {
  return { ...row(goesOn, goesOn, goesOn, goesOn, over), succeeded: goesOn, lost };
}

type SessionRow = Readonly<Record<'unregistered' | SessionStatus, string>>;

const sessionRow = (unregistered: string, online: string, draining: string, offline: string): SessionRow => ({
  unregistered,
  online,
  draining,
  offline,
});
const SESSION = 'worker_session_fenced';
const FENCED = sessionRow(SESSION, SESSION, SESSION, SESSION);

/** The session is the worker's newest, at version 3. */
export const SESSION_TABLE = {
  'register, the newest id': sessionRow('begins', 'resumes', 'resumes', 'resumes'),
  'register, the newest id, expired': sessionRow('begins', 'resumes', 'resumes', 'resumes'),
  'register, the newest id, other capabilities': sessionRow('begins', SESSION, SESSION, SESSION),
  'register, a larger id': sessionRow('begins', 'replaces', 'replaces', 'replaces'),
  'register, a larger id, other capabilities': sessionRow('begins', 'replaces', 'replaces', 'replaces'),
  'register, an id that sorts before': sessionRow('begins', SESSION, SESSION, SESSION),
  'register, an id of the day after tomorrow': FENCED,
  heartbeat: sessionRow(SESSION, 'yes', 'yes', SESSION),
  'heartbeat, expired': sessionRow(SESSION, 'yes', 'yes', SESSION),
  'heartbeat, older version': sessionRow(SESSION, 'yes', 'yes', SESSION),
  'heartbeat, version that never was': FENCED,
  'heartbeat, another generation': FENCED,
  'heartbeat, another session': FENCED,
  draining: sessionRow(SESSION, 'moves', 'is_there', 'is_there'),
  'draining, older version': sessionRow(SESSION, SESSION, 'is_there', 'is_there'),
  'draining, version that never was': sessionRow(SESSION, SESSION, 'is_there', 'is_there'),
  'draining, another generation': FENCED,
  'draining, another session': FENCED,
  offline: sessionRow(SESSION, 'moves', 'moves', 'is_there'),
  'offline, older version': sessionRow(SESSION, SESSION, SESSION, 'is_there'),
  'offline, version that never was': sessionRow(SESSION, SESSION, SESSION, 'is_there'),
  'offline, another generation': FENCED,
  'offline, another session': FENCED,
  claim: sessionRow(SESSION, 'takes work', 'idle', SESSION),
  'claim, expired': FENCED,
  'claim, another generation': FENCED,
  'claim, another session': FENCED,
} satisfies Record<string, SessionRow>;

export type SessionEvent = keyof typeof SESSION_TABLE;

type WorkerRow = Readonly<Record<'nobody' | WorkerStatus, string>>;

const workerRow = (nobody: string, active: string, draining: string, revoked: string): WorkerRow => ({
  nobody,
  active,
  draining,
  revoked,
});
const MISMATCH = 'worker_identity_mismatch';

/** The worker as its operators have it; each event is one that is allowed but for that. */
export const WORKER_TABLE = {
  register: workerRow(MISMATCH, 'begins', 'begins', MISMATCH),
  claim: workerRow(MISMATCH, 'takes work', 'idle', MISMATCH),
  starting: workerRow(ACTIVATION, 'apply', 'apply', ACTIVATION),
  secrets: workerRow(denied('worker_unknown'), 'authorise', 'authorise', denied('worker_revoked')),
  running: workerRow(ACTIVATION, 'apply', 'apply', ACTIVATION),
  renew: workerRow(CONTROL, 'renew', 'renew', CONTROL),
  'start-failure': workerRow('late', 'end failed', 'end failed', 'late'),
  completion: workerRow('late', 'end failed', 'end failed', 'late'),
} satisfies Record<string, WorkerRow>;

export type WorkerEvent = keyof typeof WORKER_TABLE;

/** What putting a worker does to the leases it holds in project p, and elsewhere. */
export const PUT_TABLE = {
  'active, every project': { p: 'live on', elsewhere: 'live on' },
  'active, project p': { p: 'live on', elsewhere: 'expire now' },
  'active, no project': { p: 'expire now', elsewhere: 'expire now' },
  'draining, every project': { p: 'live on', elsewhere: 'live on' },
  'draining, project p': { p: 'live on', elsewhere: 'expire now' },
  'revoked, every project': { p: 'expire now', elsewhere: 'expire now' },
  'revoked, project p': { p: 'expire now', elsewhere: 'expire now' },
} as const;
