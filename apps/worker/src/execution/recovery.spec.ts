import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeLogRecords } from '@valise/contracts/documents';
import type { Question } from '../../spec/fake-control.js';
import { offerOf, plan } from '../../spec/plan.js';
import { IS_ROOT, TEST_BASE_UID, WorkerUnderTest } from '../../spec/worker-under-test.js';
import { Inbox } from '../inbox/inbox.js';
import type { Exit, ProcessIdentity } from '../inbox/inbox-record.js';
import type { InboxEvent } from '../inbox/inbox-transition.js';
import { makePrivateDirectory } from '../inbox/durable-directory.js';
import { identify } from './process-table.js';

const SESSION = '0190a0b0-0000-7000-8000-000000000001';
const CLAIM = { offerId: '0a0b0c0d-0000-4000-8000-000000000001', leaseToken: 'T'.repeat(43) };
const LAUNCH = { logArtifactId: `wlog-${'0'.repeat(30)}`, callbackToken: 'C'.repeat(43), launchedAtMs: 1 };
const EXIT: Exit = {
  result: { outcome: 'failed', startedAtMs: 1, finishedAtMs: 2, exitCode: 7 },
  reasonCode: null,
  signal: null,
};

const offer = offerOf(plan('touch /tmp/valise-recovery-ran'), {
  ...CLAIM,
  workerId: 'worker-1',
  sessionId: SESSION,
  generation: 1,
});
const { attemptId } = offer.candidate;

let worker: WorkerUnderTest;

beforeEach(async () => {
  worker = await WorkerUnderTest.create();
});
afterEach(async () => {
  await worker.remove();
  expect(existsSync('/tmp/valise-recovery-ran')).toBe(false);
});

/** The inbox as a worker has left it that was killed after `events`. */
async function leftBehind(...events: InboxEvent[]): Promise<void> {
  await makePrivateDirectory(worker.stateDirectory);
  const inbox = await Inbox.open(join(worker.stateDirectory, 'inbox'));
  await inbox.saveSession({ workerId: 'worker-1', sessionId: SESSION });
  await inbox.begin(0, CLAIM);
  for (const event of events) await inbox.advance(0, event);
  await inbox.close();
}

const accepted: InboxEvent[] = [{ kind: 'offered', offer }];
const acknowledged: InboxEvent[] = [...accepted, { kind: 'starting_acknowledged' }];
const launching: InboxEvent[] = [...acknowledged, { kind: 'launching', launch: LAUNCH }];
const startedAs = (process: ProcessIdentity): InboxEvent[] => [...launching, { kind: 'started', process }];

/** A process of the slot that has outlived its worker. */
async function survivor(): Promise<{ identity: ProcessIdentity; ended: Promise<unknown> }> {
  const child = spawn('/bin/sh', ['-c', 'echo up; sleep 60; :'], {
    detached: true,
    cwd: '/',
    env: { PATH: '/usr/bin:/bin', QL3_ATTEMPT_ID: attemptId },
    stdio: ['ignore', 'pipe', 'ignore'],
    ...(IS_ROOT && { uid: TEST_BASE_UID, gid: TEST_BASE_UID }),
  });
  const ended = once(child, 'exit');
  await once(child.stdout, 'data');
  return { identity: identify(child.pid!)!, ended };
}

async function restarted(operation: string): Promise<Question> {
  await worker.start();
  return worker.control.heard(operation);
}

describe('a restarted worker', () => {
  it('registers its session again before it speaks of the attempt', async () => {
    await leftBehind(...launching);
    await restarted('completion');
    expect(worker.control.asked('register').map(({ sessionId }) => sessionId)).toEqual([SESSION]);
    expect(worker.control.questions[0]!.operation).toBe('register');
  });

  it('asks again with the claim that it had written down', async () => {
    await leftBehind();
    expect((await restarted('offers')).body).toMatchObject(CLAIM);
  });

  it.each([
    ['accepted', accepted],
    ['starting_acknowledged', acknowledged],
  ])('gives an attempt up that was %s when the renewal fails', async (_, events) => {
    await leftBehind(...events);
    worker.control.on('lease-control', () => ({ refuse: 'worker_lease_control_fenced', status: 409 }));
    expect((await restarted('start-failure')).body).toMatchObject({
      attemptId,
      reasonCode: 'worker_restarted',
    });
    expect(worker.control.asked('starting')).toEqual([]);
  });

  it('renews before any other act, and goes on when the renewal succeeds', async () => {
    await leftBehind(...acknowledged);
    worker.control.on('starting', () => ({ refuse: 'invalid_worker_request', status: 400 }));
    await restarted('starting');
    const operations = worker.control.questions.map(({ operation }) => operation);
    expect(operations.indexOf('lease-control')).toBeLessThan(operations.indexOf('starting'));
    await worker.stop(2);
    expect(worker.control.asked('start-failure')[0]!.body.reasonCode).toBe('worker_shutdown');
  });

  it('says that the outcome is unknown when it was launching and nothing is found', async () => {
    await leftBehind(...launching);
    expect((await restarted('completion')).body).toMatchObject({
      result: { outcome: 'failed', exitCode: null },
      reasonCode: 'launch_outcome_unknown',
      artifact: { byteLength: 0, truncated: true },
    });
  });

  it('ends what it was launching and finds alive, and says that it was restarted', async () => {
    const { ended } = await survivor();
    await leftBehind(...launching);
    expect((await restarted('completion')).body).toMatchObject({ reasonCode: 'worker_restarted' });
    expect(await ended).toEqual([null, 'SIGTERM']);
  });

  it.each(['started', 'running_acknowledged'] as const)('ends a task that was %s', async (state) => {
    const { identity, ended } = await survivor();
    const events = startedAs(identity);
    if (state === 'running_acknowledged') events.push({ kind: 'running_acknowledged' });
    await leftBehind(...events);
    expect((await restarted('completion')).body).toMatchObject({ reasonCode: 'worker_restarted' });
    expect(await ended).toEqual([null, 'SIGTERM']);
  });

  it('says that it was restarted when the process on record is gone', async () => {
    await leftBehind(...startedAs({ pid: 2 ** 22 - 1, startTime: 1 }));
    expect((await restarted('completion')).body).toMatchObject({ reasonCode: 'worker_restarted' });
  });

  it('keeps the reason it had found out before it was killed again', async () => {
    await leftBehind(...launching, { kind: 'recovery_required', reasonCode: 'worker_restarted' });
    expect((await restarted('completion')).body).toMatchObject({ reasonCode: 'worker_restarted' });
  });

  it.each([
    ['as far as it was written', '.log.part-0', true],
    ['as a whole when it was finished', '.log', false],
  ])('tells the truth about an exit that is on record, with the log %s', async (_, ending, truncated) => {
    await leftBehind(...startedAs({ pid: 1, startTime: 1 }), { kind: 'exited', exit: EXIT });
    await mkdir(join(worker.stateDirectory, 'artifacts'));
    const record = writeLogRecords('stdout', 1, Buffer.from('kept\n'));
    await writeFile(join(worker.stateDirectory, 'artifacts', `${LAUNCH.logArtifactId}${ending}`), record);
    const { body } = await restarted('completion');
    expect(body).toMatchObject({ result: EXIT.result, artifact: { truncated } });
    expect(worker.control.logs.get(attemptId)!.toString()).toBe('kept\n');
  });

  it('reports a refused start that is on record', async () => {
    await leftBehind(...acknowledged, { kind: 'start_failed', reasonCode: 'secret_unavailable' });
    expect((await restarted('start-failure')).body).toMatchObject({ reasonCode: 'secret_unavailable' });
  });

  it.each([
    [
      'a completion',
      [
        ...startedAs({ pid: 1, startTime: 1 }),
        { kind: 'exited', exit: EXIT },
        { kind: 'completion_acknowledged' },
      ],
    ],
    [
      'a start failure',
      [...accepted, { kind: 'start_failed', reasonCode: null }, { kind: 'start_failure_acknowledged' }],
    ],
  ] as [string, InboxEvent[]][])(
    'forgets %s that control has acknowledged, without a word',
    async (_, events) => {
      await leftBehind(...events);
      await restarted('offers');
      expect(worker.control.asked('completion')).toEqual([]);
      expect(worker.control.asked('start-failure')).toEqual([]);
    },
  );

  it('ends survivors while control is away, and reports once it is back', async () => {
    const { identity, ended } = await survivor();
    await leftBehind(...startedAs(identity));
    worker.control.on('register', () => 'hang up');
    await worker.start();
    expect(await ended).toEqual([null, 'SIGTERM']);
    expect(worker.control.asked('completion')).toEqual([]);
    worker.control.on('register', null);
    expect((await worker.control.heard('completion')).body).toMatchObject({ reasonCode: 'worker_restarted' });
  });

  it('keeps what control has not decided when it leaves once more', async () => {
    await leftBehind(...launching);
    worker.control.on('completion', () => ({ refuse: 'worker_ingress_unavailable', status: 503 }));
    await restarted('completion');
    await worker.stop(2);
    worker.control.on('completion', null);
    const before = worker.control.asked('completion').length;
    await worker.start();
    expect((await worker.control.heard('completion', before + 1)).body).toMatchObject({
      reasonCode: 'launch_outcome_unknown',
    });
  });

  it('forgets an end that control has fenced: someone else has decided', async () => {
    await leftBehind(...launching);
    worker.control.on('artifacts', () => ({ refuse: 'worker_artifact_fenced', status: 409 }));
    worker.control.on('completion', () => ({ refuse: 'worker_completion_fenced', status: 409 }));
    await restarted('completion');
    const { body } = await worker.control.heard('offers');
    expect(body.offerId).not.toBe(CLAIM.offerId);
  });
});
