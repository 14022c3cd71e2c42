import { writeEnvironmentBundle } from '@valise/contracts/documents';
import { plan, reference } from '../../spec/plan.js';
import { WorkerUnderTest } from '../../spec/worker-under-test.js';

const SECRET = reference('secret');
const BUNDLE = reference('bundle');
const SECRET_VALUE = `p$$a$(x)\${HOME}\`id\` 'q' "d"`;
const BUNDLE_VALUE = ' first\r\nsecond line\n\t';

describe('an attempt', () => {
  let worker: WorkerUnderTest;

  beforeEach(async () => {
    worker = await WorkerUnderTest.create();
    worker.control.secrets.set(SECRET, Buffer.from(SECRET_VALUE));
    const bundle = writeEnvironmentBundle([{ name: 'BUNDLED', value: BUNDLE_VALUE }]);
    worker.control.secrets.set(BUNDLE, Buffer.from(bundle));
  });

  afterEach(() => worker.remove());

  const withSecrets = (script: string) =>
    plan(script, {
      environment: [
        { name: 'PLAIN', kind: 'public', value: 'seen' },
        { name: 'SECRET', kind: 'secret', secretRef: SECRET },
      ],
      environmentBundleRef: BUNDLE,
    });

  it('goes from the offer to its acknowledged completion, in order, and is forgotten', async () => {
    worker.control.queue.push(withSecrets('echo "$PLAIN"; echo "$SECRET"; echo "$BUNDLED" >&2; exit 3'));
    await worker.start();
    const { body } = await worker.control.heard('completion');
    const operations = worker.control.questions.map(({ operation }) => operation);
    const path = operations.filter((operation) => !['offers', 'heartbeat'].includes(operation));
    expect(path.slice(0, 6)).toEqual([
      'register',
      'starting',
      'secrets',
      'lease-control',
      'running',
      'artifacts',
    ]);
    expect(body.result).toMatchObject({ outcome: 'failed', exitCode: 3 });
    const log = worker.control.logs.get(String(body.attemptId))!.toString();
    expect(log).toContain('seen\n');
    expect(log.match(/\*\*\*/g)).toHaveLength(2);
    await worker.stop();
    expect(worker.control.asked('transition').map((question) => question.body.status)).toEqual([
      'draining',
      'offline',
    ]);
    const disk = await worker.diskBytes();
    for (const text of [SECRET_VALUE, BUNDLE_VALUE, 'BUNDLED']) {
      expect(disk.includes(text)).toBe(false);
      expect(worker.log.join('')).not.toContain(text);
    }
  });
});
