import { useDeployment } from './support/deployment.js';
import { useDatabase } from './support/postgres.js';
import { PROJECT } from './support/postgres-world.js';

const database = useDatabase();
const deployment = useDeployment(database);

/** Prints the variables a task was given, and how its bundle's value looks to somebody who may not see it. */
const printEnvironment = (extra = '') => ({
  spec: {
    schema: 'qinglong/command@v1',
    config: {
      command: { kind: 'shell', command: `env | sort; ${extra}` },
      environment: [],
    },
  },
});

describe('the main job', () => {
  beforeAll(async () => {
    await deployment().allow('main');
    const worker = await deployment().startWorker('main');
    await worker.waitFor('registered', AbortSignal.timeout(30_000), 30_000);
  }, 60_000);

  it('takes a bundle and a secret from files to the process, and masks their values in the log', async () => {
    const runId = await deployment().run();
    const run = await deployment().ended(runId);
    expect(run.status).toBe('succeeded');
    const deliveries = await deployment().management.deliveries(PROJECT, runId);
    expect(deliveries).toMatchObject([
      { decision: 'authorised', outcome: 'sent', secretCount: 1, bundleCount: 1 },
    ]);
  }, 60_000);

  it('runs a task without references', async () => {
    const runId = await deployment().run(printEnvironment());
    const run = await deployment().ended(runId);
    expect(run.status).toBe('succeeded');
    console.log((await deployment().management.log(PROJECT, runId)).toString());
  }, 60_000);
});
