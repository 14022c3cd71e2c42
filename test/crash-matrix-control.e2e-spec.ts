import { CrashControl, transactionsOf } from './crash/crash-control.js';
import { CrashWorker, deadWithin, marksOf } from './crash/crash-worker.js';
import { processesOf } from './crash/task-processes.js';
import { useDeployment } from './support/deployment.js';
import { useDatabase } from './support/postgres.js';
import { logged } from './support/programs.js';
import { verification } from './support/verification.js';

const PASS_DEADLINE_MS = 600_000;
const DEATH_DEADLINE_MS = 60_000;
const UID = 80_001 + (process.pid % 1000) * 2;

const database = useDatabase();
const deployment = useDeployment(database);

/** Minutes of it: only where `npm run verify` asks for more than one pass. */
(verification.crashes > 1 ? describe : describe.skip)('an attempt', () => {
  let control: CrashControl;

  beforeEach(() => {
    control = new CrashControl(deployment());
  });
  afterEach(() => control.stop());

  it.each(Array.from({ length: verification.crashes }, (_, pass) => pass + 1))(
    'ends well when control is killed around each of its transactions, and each of its connections is cut: pass %i',
    async () => {
      const undisturbed = await control.live();
      const worker = await CrashWorker.create(deployment(), UID, {
        settings: { VALISE_CONTROL_URL: control.url },
      });
      await worker.queue();
      const program = await worker.live();
      await logged(program, 'claimed');
      await ended(worker);
      // Registering is not the attempt's.
      const names = transactionsOf(undisturbed, 'transaction').filter(
        (name) => !name.startsWith('SessionService'),
      );
      await control.stop();

      const cutting = await control.live({ CUT_AT: 'all' });
      await worker.queue();
      await ended(worker);
      expect(transactionsOf(cutting, 'cut')).toEqual(expect.arrayContaining(names));
      await control.stop();

      for (const boundary of names.flatMap((name) => [`before ${name}`, `after ${name}`])) {
        const dying = await control.live({ CRASH_AT: boundary });
        await worker.queue();
        expect({ boundary, isDead: await deadWithin(DEATH_DEADLINE_MS, dying) }).toEqual({
          boundary,
          isDead: true,
        });
      }
      await control.live();
      await ended(worker);
      await worker.drain(program);
    },
    PASS_DEADLINE_MS,
  );
});

/** Every run of the worker has succeeded, by one start of one attempt, and nothing is left of it. */
async function ended(worker: CrashWorker): Promise<void> {
  for (const run of worker.runs) {
    const { attempts, status } = await deployment().ended(run.runId);
    const attemptIds = attempts.map(({ attemptId }) => attemptId);
    const [lease] = await database().query<{ state: string }>(
      'SELECT state FROM leases WHERE attempt_id = ANY($1)',
      [attemptIds],
    );
    const logs = await database().query('SELECT FROM artifacts WHERE attempt_id = ANY($1)', [attemptIds]);
    const { length: left } = processesOf(attemptIds);
    const [attempt] = attempts;
    expect({
      status,
      reason: attempt?.reasonCode,
      ...marksOf(run),
      lease: lease?.state,
      logs: logs.length,
      left,
    }).toEqual({
      status: 'succeeded',
      reason: undefined,
      began: 1,
      ended: 1,
      lease: 'completed',
      logs: 1,
      left: 0,
    });
  }
  expect(await worker.sightings()).toEqual([]);
}
