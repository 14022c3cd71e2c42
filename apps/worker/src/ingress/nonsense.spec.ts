import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import type { Question, Reply } from '../../spec/fake-control.js';
import { plan, reference } from '../../spec/plan.js';
import { WorkerUnderTest } from '../../spec/worker-under-test.js';

const CANARY = 'hunter2-nonsense';
const started = join('/tmp', `valise-nonsense-${process.pid}`);

let worker: WorkerUnderTest;

beforeEach(async () => {
  rmSync(started, { force: true });
  worker = await WorkerUnderTest.create({ leaseDurationMs: 3000 });
});
afterEach(async () => {
  await worker.remove();
  rmSync(started, { force: true });
});

type Json = Readonly<Record<string, unknown>>;

const jsonOf = (reply: Reply): Json => (reply as { json: Json }).json;

function bytes(content: Buffer, contentType = 'application/json', length = content.length): Reply {
  return { bytes: content, status: 200, headers: { 'content-type': contentType, 'content-length': length } };
}

type Damage = (granted: Json, question: Question) => Reply;

const html: Damage = () => bytes(Buffer.from(`<h1>${CANARY}</h1>`), 'text/html');

const MALFORMED: [string, Damage][] = [
  ['a page of HTML', html],
  [
    'JSON that is cut',
    (granted) => bytes(Buffer.from(JSON.stringify({ ...granted, x: CANARY }).slice(0, -2))),
  ],
  ['an extra key', (granted) => ({ json: { ...granted, extra: CANARY } })],
  [
    'a key twice',
    (granted) => bytes(Buffer.from(JSON.stringify(granted).replace('{', `{"status":"${CANARY}",`))),
  ],
  ['one byte more than 256 KiB', () => bytes(Buffer.alloc(256 * 1024 + 1, CANARY))],
  ['an array', () => ({ json: [CANARY] })],
];

interface NestedOffer {
  readonly offer: Json & {
    readonly candidate: Json;
    readonly worker: Json;
    readonly executionRevision: Json;
  };
}

const offered =
  (change: (offer: NestedOffer['offer']) => Json): Damage =>
  (granted) => {
    const { offer } = granted as unknown as NestedOffer;
    return { json: { ...granted, offer: { ...offer, ...change(offer) } } };
  };

describe('a worker that control offers an attempt to with', () => {
  it.each<[string, Damage]>([
    ...MALFORMED,
    ['another offer’s id', offered(() => ({ offerId: randomUUID() }))],
    [
      'another worker’s id',
      offered(({ worker: holder }) => ({ worker: { ...holder, workerId: 'worker-2' } })),
    ],
    [
      'another project',
      offered(({ candidate }) => ({ candidate: { ...candidate, projectId: 'project-2' } })),
    ],
    ['another task', offered(({ candidate }) => ({ candidate: { ...candidate, taskId: 'task-2' } }))],
    ['another digest', offered(() => ({ executionDigest: 'f'.repeat(64) }))],
    [
      'another command under the same digest',
      offered(({ executionRevision }) => ({
        executionRevision: {
          ...executionRevision,
          command: { kind: 'shell', command: `touch ${started} ${CANARY}` },
        },
      })),
    ],
    ['no offer', (granted) => ({ json: { ...granted, offer: undefined } })],
  ])('%s refuses it, starts nothing and repeats nothing of it', async (_, damage) => {
    worker.control.queue.push(plan(`touch ${started}`));
    worker.control.on('offers', (question) => {
      worker.control.on('offers', () => ({ json: idle() }));
      return damage(jsonOf(worker.control.grant(question)), question);
    });
    await worker.start();
    expect(await worker.logged('claim_failed')).toMatch(/control_answer_invalid|EXECUTION_REVISION_INVALID/);
    await worker.control.heard('offers', 2);
    expect(worker.control.asked('starting')).toEqual([]);
    expect(existsSync(started)).toBe(false);
    expect(worker.log.join('')).not.toContain(CANARY);
    expect((await worker.diskBytes()).includes(CANARY)).toBe(false);
  });
});

const idle = (): object => ({
  schema: 'qinglong/remote-execution-offer@v1',
  status: 'idle',
  reason: 'no_candidates',
  retryAfterMs: 20,
});

/** The granted answer, as if it were about another attempt. */
const aboutAnother: Damage = (granted) => {
  const other = { attemptId: randomUUID() };
  const snapshot = granted.snapshot as Json | undefined;
  return { json: snapshot ? { ...granted, snapshot: { ...snapshot, ...other } } : { ...granted, ...other } };
};

const withoutReason: Damage = (granted) => ({ json: { ...granted, status: 'stop_requested' } });

describe.each<[string, string, string, Damage]>([
  ['starting', 'activation_failed', 'another attempt’s', aboutAnother],
  ['lease-control', 'renew_failed', 'a stop without a reason', withoutReason],
  ['running', 'activation_failed', 'another attempt’s', aboutAnother],
  ['completion', 'report_failed', 'another attempt’s', aboutAnother],
])('an answer to %s', (operation, event, what, damaged) => {
  it.each<[string, Damage]>([
    ['a page of HTML', html],
    [what, damaged],
  ])('is asked for again when it is %s, and nothing of it is repeated', async (_, damage) => {
    worker.control.queue.push(plan(`while [ ! -e ${started} ]; do sleep 0.02; done`));
    worker.control.on(operation, (question) => {
      worker.control.on(operation, null);
      return damage(jsonOf(worker.control.grant(question)), question);
    });
    await worker.start();
    if (operation === 'completion') writeFileSync(started, '');
    expect(await worker.logged(event)).toContain('control_answer_invalid');
    await worker.control.heard(operation, 2);
    writeFileSync(started, '');
    await worker.control.heard('completion');
    expect(worker.log.join('')).not.toContain(CANARY);
  });
});

describe('an answer that never ends', () => {
  it('is not waited for longer than the lease: nothing is started', async () => {
    const secret = reference('secret');
    worker.control.queue.push(
      plan(`touch ${started}`, { environment: [{ name: 'A', kind: 'secret', secretRef: secret }] }),
    );
    worker.control.on('secrets', () => bytes(Buffer.from(`{"schema":"${CANARY}`), 'application/json', 1000));
    await worker.start();
    expect((await worker.control.heard('start-failure')).body.reasonCode).toBe('lease_lost');
    expect(existsSync(started)).toBe(false);
    expect(worker.log.join('')).not.toContain(CANARY);
  });
});
