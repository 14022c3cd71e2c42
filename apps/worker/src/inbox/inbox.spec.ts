import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ValiseError } from '@valise/contracts/failure';
import { offerOf, plan } from '../../spec/plan.js';
import { readRecord, writeRecord } from './inbox-document.js';
import type { InboxRecord, InboxState } from './inbox-record.js';
import { advance, type InboxEvent } from './inbox-transition.js';
import { Inbox } from './inbox.js';

const SESSION = '01a22bd1-146e-7145-a97f-ad72694352d2';
const claim = { offerId: '0a0b0c0d-0000-4000-8000-000000000001', leaseToken: 'T'.repeat(43) };
const offer = offerOf(plan('true'), { ...claim, workerId: 'w', sessionId: SESSION, generation: 1 });
const launch = { logArtifactId: `wlog-${'0'.repeat(30)}`, callbackToken: 'C'.repeat(43), launchedAtMs: 1 };
const exit = {
  result: { outcome: 'failed', startedAtMs: 1, finishedAtMs: 2, exitCode: null },
  reasonCode: 'killed_by_signal',
  signal: 'SIGKILL',
} as const;

const EVENTS: readonly InboxEvent[] = [
  { kind: 'offered', offer },
  { kind: 'starting_acknowledged' },
  { kind: 'launching', launch },
  { kind: 'started', process: { pid: 5, startTime: 6 } },
  { kind: 'running_acknowledged' },
  { kind: 'exited', exit },
  { kind: 'completion_acknowledged' },
  { kind: 'start_failed', reasonCode: null },
  { kind: 'start_failure_acknowledged' },
  { kind: 'recovery_required', reasonCode: 'worker_restarted' },
];
const event = (kind: InboxEvent['kind']): InboxEvent => EVENTS.find((each) => each.kind === kind)!;

/** How each state is reached; the table below says everything that may happen in it. */
const WAYS: Record<InboxState, readonly InboxEvent['kind'][]> = {
  claiming: [],
  accepted: ['offered'],
  starting_acknowledged: ['offered', 'starting_acknowledged'],
  launching: ['offered', 'starting_acknowledged', 'launching'],
  started: ['offered', 'starting_acknowledged', 'launching', 'started'],
  running_acknowledged: ['offered', 'starting_acknowledged', 'launching', 'started', 'running_acknowledged'],
  recovery_required: ['offered', 'starting_acknowledged', 'launching', 'recovery_required'],
  exited: ['offered', 'starting_acknowledged', 'launching', 'started', 'exited'],
  completion_acknowledged: [
    'offered',
    'starting_acknowledged',
    'launching',
    'started',
    'exited',
    'completion_acknowledged',
  ],
  start_failed: ['offered', 'start_failed'],
  start_failure_acknowledged: ['offered', 'start_failed', 'start_failure_acknowledged'],
};
const ALLOWED: Record<InboxState, Partial<Record<InboxEvent['kind'], InboxState>>> = {
  claiming: { offered: 'accepted' },
  accepted: { starting_acknowledged: 'starting_acknowledged', start_failed: 'start_failed' },
  starting_acknowledged: { launching: 'launching', start_failed: 'start_failed' },
  launching: { started: 'started', start_failed: 'start_failed', recovery_required: 'recovery_required' },
  started: {
    running_acknowledged: 'running_acknowledged',
    exited: 'exited',
    start_failed: 'start_failed',
    recovery_required: 'recovery_required',
  },
  running_acknowledged: { exited: 'exited', recovery_required: 'recovery_required' },
  recovery_required: { exited: 'exited' },
  exited: { running_acknowledged: 'exited', completion_acknowledged: 'completion_acknowledged' },
  completion_acknowledged: {},
  start_failed: { start_failure_acknowledged: 'start_failure_acknowledged' },
  start_failure_acknowledged: {},
};

const recordIn = (state: InboxState): InboxRecord =>
  WAYS[state].map(event).reduce(advance, { state: 'claiming', claim });
const states = Object.keys(WAYS) as InboxState[];
const pairs = states.flatMap((state) => EVENTS.map((each) => [state, each] as const));

describe('an inbox record', () => {
  it.each(pairs.filter(([state, { kind }]) => kind in ALLOWED[state]))('in %s takes %j', (state, each) => {
    expect(advance(recordIn(state), each).state).toBe(ALLOWED[state][each.kind]);
  });

  it.each(pairs.filter(([state, { kind }]) => !(kind in ALLOWED[state])))(
    'in %s refuses %j',
    (state, each) => {
      expect(() => advance(recordIn(state), each)).toThrow(ValiseError);
    },
  );

  it.each(states)('in %s is read back as it was written', (state) => {
    const record = recordIn(state);
    expect(readRecord(writeRecord(record))).toEqual(record);
  });

  it.each(states)('in %s is refused with a key too many or one too few', (state) => {
    const json = JSON.parse(writeRecord(recordIn(state)).toString()) as Record<string, unknown>;
    for (const key of Object.keys(json)) {
      const less = Object.fromEntries(Object.entries(json).filter(([name]) => name !== key));
      expect(() => readRecord(Buffer.from(JSON.stringify(less)))).toThrow(ValiseError);
    }
    expect(() => readRecord(Buffer.from(JSON.stringify({ ...json, extra: 1 })))).toThrow(ValiseError);
  });
});

describe('an inbox', () => {
  let directory: string;

  beforeEach(async () => {
    directory = join(await mkdtemp(join(tmpdir(), 'valise-inbox-')), 'inbox');
  });
  afterEach(() => rm(join(directory, '..'), { recursive: true }));

  const refusal = async (opened: Promise<Inbox>): Promise<unknown> => {
    try {
      await (await opened).close();
      return null;
    } catch (error) {
      return error instanceof ValiseError ? { code: error.code, ...error.facts } : error;
    }
  };

  it('has after a restart what it had before, with directory and files for the owner alone', async () => {
    const inbox = await Inbox.open(directory);
    await inbox.saveSession({ workerId: 'w', sessionId: SESSION });
    await inbox.begin(3, claim);
    await inbox.advance(3, event('offered'));
    await inbox.close();
    const again = await Inbox.open(directory);
    expect(again.session).toEqual({ workerId: 'w', sessionId: SESSION });
    expect(again.occupiedSlots).toEqual([3]);
    expect(again.record(3)).toEqual(recordIn('accepted'));
    expect((await stat(directory)).mode & 0o777).toBe(0o700);
    for (const file of await readdir(directory)) {
      expect((await stat(join(directory, file))).mode & 0o777).toBe(0o600);
    }
    await again.close();
  });

  it('is owned by one process at a time', async () => {
    const inbox = await Inbox.open(directory);
    expect(await refusal(Inbox.open(directory))).toEqual({ code: 'inbox_in_use' });
    await inbox.close();
    expect(await refusal(Inbox.open(directory))).toBeNull();
  });

  it('forgets a slot for good, and lets it begin again', async () => {
    const inbox = await Inbox.open(directory);
    await inbox.begin(0, claim);
    await expect(inbox.begin(0, claim)).rejects.toThrow(ValiseError);
    await inbox.forget(0);
    await inbox.begin(0, claim);
    await inbox.forget(0);
    await inbox.close();
    expect(await readdir(directory)).toEqual(['owner.lock']);
  });

  it('changes nothing, on disk or in memory, on an event that cannot happen', async () => {
    const inbox = await Inbox.open(directory);
    await inbox.begin(0, claim);
    const before = await readFile(join(directory, 'slot-0.json'));
    await expect(inbox.advance(0, event('exited'))).rejects.toThrow(ValiseError);
    expect(await readFile(join(directory, 'slot-0.json'))).toEqual(before);
    expect(inbox.record(0)?.state).toBe('claiming');
    await inbox.close();
  });

  it('tells of every change before and after it is on the disk', async () => {
    const heard: string[] = [];
    const inbox = await Inbox.open(directory, (moment, change) => heard.push(`${moment} ${change}`));
    await inbox.begin(0, claim);
    await inbox.forget(0);
    expect(heard).toEqual(['before claiming', 'after claiming', 'before forgotten', 'after forgotten']);
    await inbox.close();
  });

  it.each([
    ['a damaged record', 'slot-0.json', '{"schema":"valise/worker-inbox-record@v1","state":"claiming"'],
    ['an empty record', 'slot-0.json', ''],
    ['a record of a later version', 'slot-0.json', '{"schema":"valise/worker-inbox-record@v2"}'],
    ['a record that is too long', 'slot-0.json', ' '.repeat(200_000)],
    ['a damaged session', 'session.json', '{}'],
    ['a file that it does not know', 'slot-0.json.bak', ''],
    ['a slot number of five digits', 'slot-10000.json', ''],
  ])('refuses %s, quotes nothing of it, and leaves it where it is', async (_, file, text) => {
    await (await Inbox.open(directory)).close();
    await writeFile(join(directory, file), text, { mode: 0o600 });
    expect(await refusal(Inbox.open(directory))).toMatchObject({
      code: 'inbox_damaged',
      rule: expect.any(String),
    });
    expect(await readFile(join(directory, file), 'utf8')).toBe(text);
  });

  it('drops what an interrupted write has left, for it was never a record', async () => {
    await (await Inbox.open(directory)).close();
    await writeFile(join(directory, 'slot-0.json.unfinished'), '{"schema":');
    const inbox = await Inbox.open(directory);
    expect(inbox.occupiedSlots).toEqual([]);
    expect(await readdir(directory)).toEqual(['owner.lock']);
    await inbox.close();
  });

  it('takes back a directory that others could enter', async () => {
    await (await Inbox.open(directory)).close();
    await chmod(directory, 0o755);
    await (await Inbox.open(directory)).close();
    expect((await stat(directory)).mode & 0o777).toBe(0o700);
  });
});
