import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import {
  createSecretReference,
  writeEnvironmentBundle,
  type ExecutionPlan,
} from '@valise/contracts/documents';
import { refuse, type Reply } from '../../spec/fake-control.js';
import { plan, reference } from '../../spec/plan.js';
import { IS_ROOT, TEST_BASE_UID, WorkerUnderTest } from '../../spec/worker-under-test.js';
import { LogArtifact } from '../logs/log-artifact.js';
import { MaskPatterns } from '../logs/mask-patterns.js';
import { SlotProcesses } from './slot-processes.js';

const SECRET = reference('secret');
const BUNDLE = reference('bundle');
const SECRET_VALUE = `p$$a$(x)\${HOME}\`id\` 'q' "d"`;
const BUNDLE_VALUE = ' first\r\nsecond line\n\t';
/** Long enough that a busy machine does not lose it between two renewals. */
const LEASE_MS = 4000;

let worker: WorkerUnderTest;

beforeEach(async () => {
  worker = await WorkerUnderTest.create({ leaseDurationMs: LEASE_MS });
  worker.control.secrets.set(SECRET, Buffer.from(SECRET_VALUE));
  setBundle('BUNDLED', BUNDLE_VALUE);
});
afterEach(() => worker.remove());

function setBundle(name: string, value: string): void {
  worker.control.secrets.set(BUNDLE, Buffer.from(writeEnvironmentBundle([{ name, value }])));
}

const withSecrets = (script: string, more: Partial<ExecutionPlan> = {}) =>
  plan(script, {
    environment: [
      { name: 'PLAIN', kind: 'public', value: 'seen' },
      { name: 'SECRET', kind: 'secret', secretRef: SECRET },
    ],
    environmentBundleRef: BUNDLE,
    ...more,
  });

const path = (name: string): string => join('/tmp', `valise-attempt-${process.pid}-${name}`);

async function artefacts(): Promise<string[]> {
  return readdir(join(worker.stateDirectory, 'artifacts'));
}

describe('an attempt', () => {
  it('goes from the offer to its acknowledged completion, in order, and is forgotten', async () => {
    const script = 'echo "$PLAIN"; echo "$SECRET"; echo "$BUNDLED" >&2; exit 3';
    const completion = await worker.endOf(withSecrets(script), 'completion');
    const operations = worker.control.questions.map(({ operation }) => operation);
    // These come when they are due.
    const due = ['offers', 'heartbeat', 'lease-control'];
    const steps = operations.filter((operation) => !due.includes(operation));
    expect(steps.slice(0, 5)).toEqual(['register', 'starting', 'secrets', 'running', 'artifacts']);
    // But once the lease is confirmed between the material and the start.
    const between = operations.slice(operations.indexOf('secrets'), operations.indexOf('running'));
    expect(between).toContain('lease-control');
    expect(completion.body).toMatchObject({
      callbackSequence: 2,
      result: { outcome: 'failed', exitCode: 3 },
      callbackTokenDigest: worker.control.asked('running')[0]!.body.callbackTokenDigest,
    });
    expect(completion.body).not.toHaveProperty('reasonCode');
    expect(worker.control.logOf(completion).split('\n').sort()).toEqual(['', '***', '***', 'seen']);
    await worker.stop();
    expect(worker.control.asked('transition').map(({ body }) => body.status)).toEqual([
      'draining',
      'offline',
    ]);
    expect(await artefacts()).toEqual([]);
  });

  it.each([
    [413, 'request_too_large'],
    [400, 'invalid_worker_request'],
    [409, 'worker_artifact_fenced'],
  ])('ends without its log when control never takes that: %i %s', async (status, code) => {
    worker.control.on('artifacts', refuse(status, code));
    const completion = await worker.endOf(plan('exit 3'), 'completion');
    expect(completion.body.result).toMatchObject({ outcome: 'failed', exitCode: 3 });
    expect(worker.control.asked('artifacts')).toHaveLength(1);
  });

  it('leaves no value and no bundle name on the disk or in the log, while it runs and afterwards', async () => {
    const completion = worker.endOf(withSecrets('sleep 0.5; env; exit 0'), 'completion');
    await worker.control.heard('running');
    const during = await worker.diskBytes();
    await completion;
    await worker.stop();
    for (const text of [SECRET_VALUE, 'first\r', 'second line', 'BUNDLED=']) {
      expect(during.includes(text)).toBe(false);
      expect(worker.log.join('')).not.toContain(text);
    }
    expect(during.includes(worker.control.offers[0]!.offerId)).toBe(true);
  });

  it('has the task’s variables, the operator’s base and its own ids, and nothing of the worker', async () => {
    const { body } = await worker.endOf(plan('exec cat /proc/self/environ'), 'completion');
    const log = worker.control.logs.get(String(body.attemptId))!.toString();
    const { runId, attemptId, taskId, projectId } = worker.control.offers[0]!.candidate;
    // The shell that runs the script may add where it is.
    const environment = log.split('\0').filter((entry) => entry !== '' && entry !== 'PWD=/');
    expect(environment.sort()).toEqual([
      'HOME=/nonexistent',
      'LANG=C.UTF-8',
      'PATH=/usr/bin:/bin',
      `QL3_ATTEMPT_ID=${attemptId}`,
      `QL3_PROJECT_ID=${projectId}`,
      `QL3_RUN_ID=${runId}`,
      `QL3_TASK_ID=${taskId}`,
    ]);
  });

  it('keeps all output of a task that ends at once', async () => {
    for (let run = 0; run < 10; run += 1) worker.control.queue.push(plan('echo out; echo err >&2'));
    await worker.start();
    await worker.control.heard('completion', 10);
    for (const completion of worker.control.asked('completion')) {
      expect(worker.control.logOf(completion).split('\n').sort()).toEqual(['', 'err', 'out']);
    }
  });

  (IS_ROOT ? it : it.skip)('starts when nothing else lives in its slot any more', async () => {
    const stray = spawn('/bin/sleep', ['60'], { stdio: 'ignore', uid: TEST_BASE_UID, gid: TEST_BASE_UID });
    const ended = once(stray, 'exit');
    await once(stray, 'spawn');
    const { body } = await worker.endOf(
      plan(`[ ! -e /proc/${stray.pid}/exe ] && ! kill -0 ${stray.pid}`),
      'completion',
    );
    expect(await ended).toEqual([null, 'SIGTERM']);
    expect(body.result).toMatchObject({ outcome: 'succeeded' });
    expect(worker.log.join('')).toContain('slot_cleared');
  });

  it('finishes its log and forgets its values also when its slot cannot be emptied at once', async () => {
    const kept = [
      jest.spyOn(LogArtifact.prototype, 'finish'),
      jest.spyOn(MaskPatterns.prototype, 'forget'),
      jest.spyOn(SlotProcesses.prototype, 'end').mockRejectedValueOnce(new Error('no process table')),
    ];
    const { body } = await worker.endOf(withSecrets('echo "$SECRET"; exit 4'), 'completion');
    expect(body.result).toMatchObject({ exitCode: 4 });
    expect(worker.log.join('')).toContain('slot_failed');
    expect(kept.map(({ mock }) => mock.calls.length)).toEqual([1, 1, 2]);
    for (const spy of kept) spy.mockRestore();
  });

  it('asks for no secrets when its plan has no references', async () => {
    await worker.endOf(plan('true'), 'completion');
    expect(worker.control.asked('secrets')).toEqual([]);
  });
});

interface DeliveryAnswer {
  readonly values: readonly object[];
}

describe('before anything is started, an attempt', () => {
  const script = (): string => `touch ${path('started')}`;

  /** The refusal, with the proof that it left nothing. */
  async function refused(revision: ReturnType<typeof plan>): Promise<unknown> {
    const { body } = await worker.endOf(revision, 'start-failure');
    await worker.stop();
    expect(existsSync(path('started'))).toBe(false);
    expect(worker.log.join('')).not.toContain('artifact_allocated');
    expect(await artefacts()).toEqual([]);
    expect(worker.control.asked('completion')).toEqual([]);
    return body.reasonCode;
  }

  it('fails when bundle and binding name one variable', async () => {
    setBundle('PLAIN', 'x');
    expect(await refused(withSecrets(script()))).toBe('environment_name_conflict');
  });

  it('fails when the task names a variable of the operator’s base', async () => {
    setBundle('HOME', '/evil');
    expect(await refused(withSecrets(script()))).toBe('environment_name_conflict');
  });

  it('fails with a name that the policy refuses', async () => {
    setBundle('LD_PRELOAD', '/evil.so');
    expect(await refused(withSecrets(script()))).toBe('environment_name_refused');
  });

  it('fails with a carrier that is no bundle', async () => {
    worker.control.secrets.set(BUNDLE, Buffer.from('{"schema":"nonsense"}'));
    expect(await refused(withSecrets(script()))).toBe('secret_response_invalid');
  });

  it.each<[string, (answer: DeliveryAnswer) => object]>([
    ['another order of references', ({ values, ...rest }) => ({ ...rest, values: [...values].reverse() })],
    ['another run', (answer) => ({ ...answer, runId: 'other' })],
    ['another digest', (answer) => ({ ...answer, executionDigest: 'f'.repeat(64) })],
    ['an extra key', (answer) => ({ ...answer, extra: 1 })],
    ['one value missing', ({ values, ...rest }) => ({ ...rest, values: values.slice(1) })],
    [
      'null for a value',
      ({ values, ...rest }) => ({ ...rest, values: values.map((v) => ({ ...v, value: null })) }),
    ],
  ])('fails when control answers with %s', async (_, damage) => {
    const other = createSecretReference({ projectId: 'project-1', name: 'other', version: 1 });
    worker.control.secrets.set(other, Buffer.from('other-value'));
    worker.control.on('secrets', (question) => {
      const granted = worker.control.grant(question) as { bytes: Buffer };
      return { json: damage(JSON.parse(granted.bytes.toString()) as DeliveryAnswer) };
    });
    const environment = [
      { name: 'A', kind: 'secret', secretRef: SECRET },
      { name: 'B', kind: 'secret', secretRef: other },
    ] as const;
    expect(await refused(withSecrets(script(), { environment }))).toBe('secret_response_invalid');
    expect(worker.log.join('')).not.toContain('other-value');
  });

  it('fails for good when its deliveries are used up', async () => {
    worker.control.on('secrets', refuse(409, 'delivery_budget_exhausted'));
    expect(await refused(withSecrets(script()))).toBe('delivery_budget_exhausted');
  });

  it('fails after five failures of custody', async () => {
    worker.control.on('secrets', refuse(503, 'worker_secret_delivery_unavailable'));
    expect(await refused(withSecrets(script()))).toBe('secret_unavailable');
    expect(worker.control.asked('secrets')).toHaveLength(5);
  });

  it('is cancelled when control asks for a stop while the secrets are not to be had', async () => {
    worker.control.on('secrets', refuse(503, 'worker_ingress_unavailable'));
    worker.control.on('lease-control', () =>
      worker.control.renewal({ status: 'stop_requested', stop: { reason: 'user' } }),
    );
    expect(await refused(withSecrets(script()))).toBe('stopped_by_operator');
  });

  it('fails when the lease is lost at the last check', async () => {
    worker.control.on('lease-control', refuse(409, 'worker_lease_control_fenced'));
    const { body } = await worker.endOf(withSecrets(script()), 'start-failure');
    expect(body.reasonCode).toBe('lease_lost');
    await worker.stop();
    expect(existsSync(path('started'))).toBe(false);
  });

  it('fails with its lease when control does not answer about the secrets', async () => {
    worker.control.on('secrets', () => 'silence');
    const before = Date.now();
    const { body } = await worker.endOf(withSecrets(script()), 'start-failure');
    expect(body.reasonCode).toBe('lease_lost');
    // Twice the lease leaves a busy machine its time, and is half of what the question may take otherwise.
    expect(Date.now() - before).toBeLessThan(2 * LEASE_MS);
  });

  it('renews and asks again when the delivery is fenced, and the lease decides', async () => {
    worker.control.on('secrets', () => {
      worker.control.on('secrets', null);
      return refuse(409, 'worker_secret_delivery_fenced')();
    });
    await worker.endOf(withSecrets('true'), 'completion');
    const [first, second] = worker.control.asked('secrets');
    expect(Number(second!.body.expectedLeaseVersion)).toBeGreaterThan(
      Number(first!.body.expectedLeaseVersion),
    );
  });

  it('waits for an answer that is no nonsense', async () => {
    const html = Buffer.from('<h1>hunter2-secret</h1>');
    const big = Buffer.alloc(256 * 1024 + 1, 0x20);
    const answers: Reply[] = [
      { bytes: html, status: 200, headers: { 'content-type': 'text/html', 'content-length': html.length } },
      { bytes: html, status: 502, headers: { 'content-type': 'text/html' } },
      {
        bytes: big,
        status: 200,
        headers: { 'content-type': 'application/json', 'content-length': big.length },
      },
      'hang up',
    ];
    worker.control.on('secrets', (question) => answers.shift() ?? worker.control.grant(question));
    await worker.endOf(withSecrets('true'), 'completion');
    expect(worker.log.join('')).not.toContain('hunter2');
  });

  it.each([
    ['command_not_found', { kind: 'argv', file: '/no/such', args: [] }],
    ['command_not_executable', { kind: 'argv', file: '/etc/passwd', args: [] }],
  ] as const)('fails with %s, and no log is kept', async (reasonCode, command) => {
    const { body } = await worker.endOf(plan('', { command }), 'start-failure');
    expect(body.reasonCode).toBe(reasonCode);
    await worker.stop();
    expect(worker.control.logs.size).toBe(0);
    expect(await artefacts()).toEqual([]);
  });
});

describe('an answer that is lost', () => {
  it.each([
    'register',
    'offers',
    'starting',
    'secrets',
    'lease-control',
    'running',
    'artifacts',
    'completion',
  ])('costs nothing: %s is asked again, and the task runs once', async (operation) => {
    const count = path(`count-${operation}`);
    worker.control.on(operation, (question) => {
      worker.control.on(operation, null);
      if (operation !== 'offers') worker.control.grant(question);
      return 'hang up';
    });
    const { body } = await worker.endOf(withSecrets(`echo run >> ${count}; sleep 0.2`), 'completion');
    expect(body.result).toMatchObject({ outcome: 'succeeded' });
    expect(readFileSync(count, 'utf8')).toBe('run\n');
    rmSync(count);
    await worker.control.heard(operation, 2);
  });
});
