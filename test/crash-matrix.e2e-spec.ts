import { textOfLog } from '@valise/contracts/documents';
import type { RunView } from '@valise/contracts/wire';
import { ATTEMPT_STEPS } from '../apps/worker/src/events/steps.js';
import { FIRST, LAST, passedBoundaries } from './crash/boundaries.js';
import { CrashWorker, marksOf, type Crash, type CrashRun } from './crash/crash-worker.js';
import { processesOf } from './crash/task-processes.js';
import { useDeployment } from './support/deployment.js';
import { useDatabase } from './support/postgres.js';
import { PROJECT } from './support/published-task.js';
import { until } from './support/until.js';
import { verification } from './support/verification.js';

const PASS_DEADLINE_MS = 300_000;
const END = { deadlineMs: 5000, everyMs: 10 };
/** Of each worker; far from the uids that other suites use. */
/** Of four workers: a slot each, and what ends it. */
const UID_BASE = 70_001 + (process.pid % 1000) * 8;

const database = useDatabase();
const deployment = useDeployment(database);

/** A run whose worker was killed at `boundary`. */
interface Crashed {
  readonly boundary: string;
  readonly worker: CrashWorker;
  readonly run: CrashRun;
}

const ofClaim = (at: string): Crash => ({ at: [at], after: FIRST });

/** The boundaries of an attempt that nothing disturbs before its last, in their order. */
async function record(worker: CrashWorker, crash: Crash): Promise<string[]> {
  await worker.queue();
  return passedBoundaries(await worker.liveUntil(crash));
}

/** One run for each boundary. The life that recovers from one crash is the next to be killed. */
async function crashAt(worker: CrashWorker, boundaries: readonly string[]): Promise<Crashed[]> {
  const crashed: Crashed[] = [];
  for (const boundary of boundaries) {
    // Before the first boundary nothing has been asked for.
    if (boundary !== FIRST) crashed.push({ boundary, worker, run: await worker.queue() });
    await worker.liveUntil(ofClaim(boundary));
    expect({ boundary, sightings: await worker.sightings() }).toEqual({ boundary, sightings: [] });
  }
  return crashed;
}

/** Killed while it runs, and then at each boundary of what the next lives do about that, as long as there is one. */
async function crashAgainAt(worker: CrashWorker, boundaries: readonly string[]): Promise<Crashed[]> {
  const crashed: Crashed[] = [];
  let isOver = true;
  for (const boundary of boundaries) {
    if (!isOver) isOver = (await crash(worker, boundary)) !== boundary;
    if (!isOver) continue;
    const run = await worker.queue();
    crashed.push({ boundary: `${boundary} of a recovery`, worker, run });
    await worker.liveUntil(ofClaim('started'));
    await takenAlong(run);
    isOver = (await crash(worker, boundary)) !== boundary;
    expect({ boundary, isOver }).toEqual({ boundary, isOver: false });
  }
  return crashed;
}

/** The task has ended with its worker, before anybody came to end it. */
async function takenAlong({ runId }: CrashRun): Promise<void> {
  const { attempts } = await deployment().management.run(PROJECT, runId);
  const attemptIds = attempts.map(({ attemptId }) => attemptId);
  await until('the end of the task', () => processesOf(attemptIds).length === 0, END);
}

/** Where a recovery died that was to die at `boundary`, or at its own end. */
async function crash(worker: CrashWorker, boundary: string): Promise<string | undefined> {
  return passedBoundaries(await worker.liveUntil({ at: [boundary, LAST] })).at(-1);
}

/** The last life lives on until all runs have ended. */
async function recovered(worker: CrashWorker, crashed: readonly Crashed[]): Promise<Ended[]> {
  const program = await worker.live();
  const ended: Ended[] = [];
  for (const each of crashed) ended.push({ ...each, view: await deployment().ended(each.run.runId) });
  await worker.drain(program);
  return ended;
}

interface Ended extends Crashed {
  readonly view: RunView;
}

describe.each(Array.from({ length: verification.crashes }, (_, pass) => pass + 1))(
  'a worker that is killed at every boundary, pass %i,',
  () => {
    let ofAttempt: string[];
    let ofRefusal: string[];
    let ended: Ended[];

    beforeAll(async () => {
      const create = (index: number, prefix = 'CANARY'): Promise<CrashWorker> =>
        CrashWorker.create(deployment(), UID_BASE + 2 * index, { prefix });
      const workers = [await create(0), await create(1), await create(2, 'LD'), await create(3)] as const;
      const [first, second, refused, recovering] = workers;
      let ofRecovery: string[];
      [ofAttempt, ofRefusal, ofRecovery] = await Promise.all([
        record(first, ofClaim(LAST)),
        record(refused, ofClaim(LAST)),
        record(recovering, ofClaim('started')).then(async () =>
          passedBoundaries(await recovering.liveUntil({ at: [LAST] })),
        ),
      ]);
      const ofRefusalAlone = ofRefusal.filter((boundary) => !ofAttempt.includes(boundary));
      const half = Math.ceil(ofAttempt.length / 2);
      const chains = await Promise.all([
        crashAt(first, ofAttempt.slice(0, half)).then((crashed) => recovered(first, crashed)),
        crashAt(second, ofAttempt.slice(half)).then((crashed) => recovered(second, crashed)),
        crashAt(refused, ofRefusalAlone).then((crashed) => recovered(refused, crashed)),
        crashAgainAt(recovering, ofRecovery).then((crashed) => recovered(recovering, crashed)),
      ]);
      ended = chains.flat();
    }, PASS_DEADLINE_MS);

    it('can be killed at each step that an attempt has', () => {
      expect(ATTEMPT_STEPS.filter((step) => ![...ofAttempt, ...ofRefusal].includes(step))).toEqual([]);
    });

    it('starts each command once at most, and reports what it did or that this is unknown', () => {
      const untold = ended.filter(({ run, view }) => {
        const { status, reasonCode = '' } = view.attempts[0]!;
        const { began, ended: done } = marksOf(run);
        if (status === 'succeeded') return began !== 1 || done !== 1;
        if (reasonCode === 'environment_name_refused') return began !== 0;
        return began > 1 || !['worker_restarted', 'launch_outcome_unknown'].includes(reasonCode);
      });
      expect(untold.map(told)).toEqual([]);
    });

    it('lets every attempt succeed that was not yet launched or had already ended', () => {
      const launched = ofAttempt.indexOf('after launching');
      const exited = ofAttempt.indexOf('after exited');
      const lost = ended.filter(({ boundary, view }) => {
        const at = ofAttempt.indexOf(boundary);
        return at >= 0 && (at < launched || at >= exited) && view.status !== 'succeeded';
      });
      expect(lost.map(told)).toEqual([]);
    });

    it('leaves one attempt and no lease that is held', async () => {
      const attemptIds = ended.flatMap(({ view }) => view.attempts.map(({ attemptId }) => attemptId));
      expect(attemptIds).toHaveLength(ended.length);
      const held = await database().query(
        "SELECT attempt_id FROM leases WHERE attempt_id = ANY($1) AND state <> 'completed'",
        [attemptIds],
      );
      expect(held).toEqual([]);
    });

    it('stores one log of each attempt that was launched, and says where it was cut', async () => {
      const torn: string[] = [];
      for (const { boundary, view } of ended) {
        if (view.attempts[0]!.reasonCode === 'environment_name_refused') continue;
        const [log] = await database().query<{ truncated: boolean }>(
          'SELECT truncated FROM artifacts WHERE attempt_id = $1',
          [view.attempts[0]!.attemptId],
        );
        const text = textOfLog(await deployment().management.log(PROJECT, view.runId)).toString();
        if (!log || (!log.truncated && !text.endsWith('the last line\n'))) torn.push(boundary);
      }
      expect(torn).toEqual([]);
    });

    it('leaves nothing that runs, and neither a name nor a value on its disk', async () => {
      const attemptIds = ended.flatMap(({ view }) => view.attempts.map(({ attemptId }) => attemptId));
      expect(processesOf(attemptIds)).toEqual([]);
      for (const worker of new Set(ended.map((each) => each.worker))) {
        expect(await worker.sightings()).toEqual([]);
      }
    });
  },
);

/** What a person needs to know of an end that should not be. */
function told({ boundary, run, view }: Ended): object {
  const { status, reasonCode } = view.attempts[0]!;
  return { boundary, status, reasonCode, ...marksOf(run) };
}
