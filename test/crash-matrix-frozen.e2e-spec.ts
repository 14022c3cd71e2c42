import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { CrashWorker, marksOf } from './crash/crash-worker.js';
import { processesOf } from './crash/task-processes.js';
import { useDeployment } from './support/deployment.js';
import { useDatabase } from './support/postgres.js';
import { logged } from './support/programs.js';
import { verification } from './support/verification.js';

const DEADLINE_MS = 60_000;
const UID = 84_001 + (process.pid % 1000) * 2;

const database = useDatabase();
const deployment = useDeployment(database);

/** It waits for a lease to run out: only where `npm run verify` asks for more than one pass. */
(verification.crashes > 1 ? describe : describe.skip)('a worker that is frozen past its lease', () => {
  it(
    'ends its task when it wakes, and changes nothing of what was decided meanwhile',
    async () => {
      const worker = await CrashWorker.create(deployment(), UID, {
        settings: { VALISE_LEASE_DURATION_MS: '5000' },
      });
      const run = await worker.queue({ isLetGo: false });
      const program = await worker.live();
      await logged(program, 'running_acknowledged');
      process.kill(program.pid, 'SIGSTOP');
      const lost = await deployment().ended(run.runId);
      expect(lost).toMatchObject({ status: 'lost', attempts: [{ status: 'lost' }] });
      const { attemptId } = lost.attempts[0]!;
      expect(processesOf([attemptId])).not.toEqual([]);

      process.kill(program.pid, 'SIGCONT');
      await logged(program, 'completed');
      expect(processesOf([attemptId])).toEqual([]);
      expect(existsSync(join(run.directory, 'go'))).toBe(false);
      expect(marksOf(run)).toEqual({ began: 1, ended: 0 });
      expect((await deployment().runWhen(run.runId, () => true)).status).toBe('lost');
      const reports = await database().query('SELECT FROM late_reports WHERE attempt_id = $1', [attemptId]);
      expect(reports).toHaveLength(1);
      await worker.drain(program);
    },
    DEADLINE_MS * 3,
  );
});
