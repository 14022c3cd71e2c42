import { textOfLog } from '@valise/contracts/documents';
import { Random } from '../history/random.js';
import { hasEnded } from '../../apps/cli/src/runs/run.command.js';
import { useDeployment } from '../support/deployment.js';
import { useDatabase } from '../support/postgres.js';
import { plainSpec, PROJECT } from '../support/published-task.js';
import { report, verification } from '../support/verification.js';
import { CuttingProxy, LONGER_THAN_QUESTIONS, type Cut } from './cutting-proxy.js';

const MEBIBYTE = 1024 * 1024;
/** They upload at the same time. */
const RUNS = 2;
const LINES = 20_000;
/** Less than the log of a run has. */
const LOG_BYTES = MEBIBYTE;
const DEADLINE_MS = 60_000 + verification.cuts * 40_000;

const database = useDatabase();
const deployment = useDeployment(database);
let proxy: CuttingProxy;

beforeAll(async () => {
  const random = new Random(verification.seed);
  const uploads = Array.from({ length: RUNS * verification.cuts });
  const halves = uploads.map(
    (): Cut => random.below(LOG_BYTES - LONGER_THAN_QUESTIONS) + LONGER_THAN_QUESTIONS,
  );
  const answers = Array.from({ length: RUNS }, (): Cut => 'answer');
  proxy = await CuttingProxy.open(deployment().ports.ingress, [...halves, ...answers]);
  await deployment().allow('cut');
  await deployment().startWorker('cut', { VALISE_CONTROL_URL: proxy.url, VALISE_SLOTS: String(RUNS) });
}, 60_000);
afterAll(() => proxy.close());

describe('logs whose uploads are cut at any byte, and then lose their answers', () => {
  it(
    'are stored as they were written, once each, and nothing of a half is left',
    async () => {
      const command = { kind: 'argv', file: '/usr/bin/seq', args: ['-f', 'line %g of a log', String(LINES)] };
      const task = { spec: plainSpec({ command }) };
      const started = await Promise.all(Array.from({ length: RUNS }, () => deployment().run(task)));
      const runs = await Promise.all(
        started.map((runId) => deployment().runWhen(runId, hasEnded, DEADLINE_MS)),
      );
      const expected = Array.from({ length: LINES }, (_none, line) => `line ${line + 1} of a log\n`).join('');
      const logs = await Promise.all(started.map((runId) => deployment().management.log(PROJECT, runId)));
      for (const log of logs) expect(textOfLog(log).toString() === expected).toBe(true);
      expect(runs.map(({ status }) => status)).toEqual(started.map(() => 'succeeded'));
      expect(proxy.cuts).toEqual([]);
      const bytes = logs.reduce((sum, { length }) => sum + length, 0);
      expect(await taken()).toEqual({
        uploads: RUNS,
        chunks: logs.reduce((sum, { length }) => sum + Math.ceil(length / MEBIBYTE), 0),
        artifacts: RUNS,
        bytes,
      });
      // Each cut costs one more upload at most.
      expect(proxy.bytes).toBeLessThan(bytes * (verification.cuts + 3));
      report(`uploads: ${RUNS * (verification.cuts + 1)} cut, ${bytes} bytes stored, ${proxy.bytes} sent`);
    },
    DEADLINE_MS + 30_000,
  );
});

async function taken(): Promise<unknown> {
  const [row] = await database().query(
    `SELECT (SELECT count(*)::int FROM artifact_uploads) AS uploads, (SELECT count(*)::int FROM artifact_chunks) AS chunks,
            (SELECT count(*)::int FROM artifacts) AS artifacts, (SELECT sum(byte_length)::int FROM artifact_usage) AS bytes`,
  );
  return row;
}
