import { ValiseError } from '@valise/contracts/failure';
import { ATTEMPT_STATUSES, type SessionStatus, type WorkerStatus } from '@valise/contracts/wire';
import { ATTEMPT_EVENTS, SESSION_EVENTS, under, WORKER_EVENTS } from '../../spec/events.js';
import { session, unregistered } from '../../spec/facts.js';
import {
  ATTEMPT_TABLE,
  PUT_TABLE,
  SESSION_TABLE,
  WORKER_TABLE,
  type AttemptEvent,
  type SessionEvent,
  type WorkerEvent,
} from '../../spec/table.js';
import { keptProjects, mayServe } from '../workers/worker.js';

/** The verdict of a decision as the table has it. */
function word(decide: () => unknown): string {
  try {
    const verdict = decide();
    if (typeof verdict === 'string') return verdict;
    if (typeof verdict === 'boolean') return verdict ? 'yes' : 'no';
    if (verdict === undefined) return 'yes';
    const { kind, status, denial, stop } = verdict as Partial<Record<string, string | null>>;
    return [kind, status ?? denial ?? stop].filter((part) => typeof part === 'string').join(' ');
  } catch (error) {
    if (error instanceof ValiseError) return error.code;
    throw error;
  }
}

const ATTEMPT_ROWS = Object.entries(ATTEMPT_TABLE).flatMap(([event, rows]) =>
  rows.flatMap(([circumstances, row]) =>
    circumstances.map((circumstance) => ({ event: event as AttemptEvent, circumstance, row })),
  ),
);
describe('the table of events and states', () => {
  it.each(ATTEMPT_ROWS)('decides $event, $circumstance', ({ event, circumstance, row }) => {
    const decided = ATTEMPT_STATUSES.map((status) => [
      status,
      word(() => ATTEMPT_EVENTS[event](under(circumstance, status))),
    ]);
    expect(Object.fromEntries(decided)).toEqual(row);
  });

  it('has each circumstance of an event once', () => {
    const rows = ATTEMPT_ROWS.map(({ event, circumstance }) => `${event}, ${circumstance}`);
    expect(rows.filter((row, index) => rows.indexOf(row) !== index)).toEqual([]);
  });

  it('says of every event of a worker what becomes of it from everybody who is not the holder', () => {
    const everybody = ['holder', 'another worker', 'another token', 'another offer'];
    const known = [
      ...everybody,
      ...['cancellation requested', 'stop requested', 'older version', 'version that never was'],
      ...['lease expired', 'former holder', 'revoked worker', 'worker that nobody put'],
    ];
    for (const [event, rows] of Object.entries(ATTEMPT_TABLE)) {
      const named = rows.flatMap(([circumstances]): readonly string[] => circumstances);
      if (!named.includes('holder')) continue;
      const wanted = event === 'claim repeated' ? everybody : known;
      expect([event, wanted.filter((each) => !named.includes(each))]).toEqual([event, []]);
    }
  });

  it.each(Object.entries(SESSION_TABLE))('decides %s, of a session', (event, row) => {
    const decided = Object.keys(row).map((status) => {
      const given = status === 'unregistered' ? unregistered : session(status as SessionStatus);
      return [status, word(() => SESSION_EVENTS[event as SessionEvent](given))];
    });
    expect(Object.fromEntries(decided)).toEqual(row);
  });

  it.each(Object.entries(WORKER_TABLE))('decides %s, of a worker', (event, row) => {
    const decided = Object.keys(row).map((status) => {
      const given = status === 'nobody' ? null : (status as WorkerStatus);
      return [status, word(() => WORKER_EVENTS[event as WorkerEvent](given))];
    });
    expect(Object.fromEntries(decided)).toEqual(row);
  });

  it.each(Object.entries(PUT_TABLE))(
    'decides what becomes of the leases of a worker that is put as %s',
    (put, leases) => {
      const [status, projects] = put.split(', ') as [WorkerStatus, string];
      const named = { 'every project': ['*'], 'project p': ['p'], 'no project': [] }[projects] ?? [];
      const kept = keptProjects({ status, projects: named });
      const fate = (project: string): string =>
        kept === null || mayServe({ projects: kept }, project) ? 'live on' : 'expire now';
      expect({ p: fate('p'), elsewhere: fate('q') }).toEqual(leases);
    },
  );
});
