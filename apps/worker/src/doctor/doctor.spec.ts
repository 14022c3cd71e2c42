import { createServer, type AddressInfo, type Server } from 'node:net';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeControl, type Reply } from '../../spec/fake-control.js';
import { type Issued, TestAuthority } from '../../../../test/support/test-authority.js';
import { issueControl, issueWorker } from '../../spec/credentials.js';
import { IS_ROOT, TEST_BASE_UID } from '../../spec/worker-under-test.js';
import { readConfig } from '../config/read-config.js';
import type { WorkerConfig } from '../config/worker-config.js';
import { examine, isFit, textOf } from './doctor.js';
import type { Finding } from './finding.js';
import { examineHost } from './host.js';
import { examineIsolation } from './isolation.js';
import { examineReachability } from './reachability.js';
import { examineStateDirectory } from './state-directory.js';

const DAY_MS = 86_400_000;
const USER = 1000;

/** As control refuses a claim in a session that has never begun, once it has found the worker allowed. */
const REFUSED: Reply = { refuse: 'worker_session_fenced', status: 409 };

let directory: string;
let authority: TestAuthority;
let control: FakeControl;
let worker: Issued;

beforeAll(async () => {
  authority = await TestAuthority.create();
  control = await FakeControl.start(await issueControl(authority), authority.pem);
  worker = await named(90 * DAY_MS);
  control.on('offers', () => REFUSED);
});
afterAll(() => control.stop());
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'valise-doctor-'));
  writeIdentity(worker);
});
afterEach(() => {
  rmSync(directory, { recursive: true });
});

const named = (endsInMs: number): Promise<Issued> => issueWorker(authority, 'worker-1', endsInMs);

function writeIdentity({ certificate, key }: Issued, ca = authority.pem): void {
  writeFileSync(join(directory, 'worker.pem'), certificate);
  writeFileSync(join(directory, 'worker.key'), key, { mode: 0o600 });
  writeFileSync(join(directory, 'ca.pem'), ca);
}

function configured(more: Record<string, string> = {}, uid = process.getuid?.() ?? -1): WorkerConfig {
  const settings = {
    VALISE_CONTROL_URL: control.url.origin,
    VALISE_TLS_CERTIFICATE_FILE: join(directory, 'worker.pem'),
    VALISE_TLS_KEY_FILE: join(directory, 'worker.key'),
    VALISE_TLS_CA_FILE: join(directory, 'ca.pem'),
    VALISE_STATE_DIRECTORY: join(directory, 'state'),
    VALISE_LOG_DISK_RESERVE_BYTES: '0',
    VALISE_SLOT_UID_BASE: String(TEST_BASE_UID + 500),
  };
  return readConfig({ ...settings, ...more }, uid);
}

const examined = (more: Record<string, string> = {}, isOffline = true): Promise<Finding[]> =>
  examine(() => configured(more), isOffline);

const about = (findings: readonly Finding[], subject: string): string[] =>
  findings
    .filter((finding) => finding.subject === subject)
    .map(({ grade, sentence }) => `${grade}: ${sentence}`);

describe('the doctor', () => {
  it('finds no problem where a worker can start, and has made and changed nothing', async () => {
    const findings = await examined({}, false);
    expect(findings.filter(({ grade }) => grade === 'problem')).toEqual([]);
    expect(isFit(findings)).toBe(true);
    expect(about(findings, 'control')[0]).toMatch(/^ok: 127\.0\.0\.1:\d+ answers, and allows this worker$/);
    expect(existsSync(join(directory, 'state'))).toBe(false);
    expect(control.questions.map(({ operation, sessionId }) => [operation, sessionId])).toEqual([
      ['offers', '00000000-0000-7000-8000-000000000000'],
    ]);
  });

  it('says what it found in a line each, without a key or a certificate', async () => {
    const text = textOf(await examined({}, false));
    for (const line of text.trimEnd().split('\n')) expect(line).toMatch(/^(ok|warning|problem) +[a-z ]+: \S/);
    expect(text).not.toContain('BEGIN');
    for (const line of worker.key.split('\n').filter((line) => line.length > 20))
      expect(text).not.toContain(line);
  });

  it('names the setting that stops a start and the rule it breaks, not its text', async () => {
    const findings = await examined({ VALISE_SLOTS: 'hunter2' });
    expect(about(findings, 'settings')).toEqual([
      'problem: VALISE_SLOTS must be a whole number from 1 to 1024',
    ]);
    expect(textOf(findings)).not.toContain('hunter2');
    expect(isFit(findings)).toBe(false);
  });

  it('says what running without root means, with one slot and with several', async () => {
    const [one] = about(await examineIsolation(configured({}, USER)), 'isolation');
    expect(one).toMatch(/^warning: does not run as root: one task at a time, .*may read and end the worker/);
    const several = configured({ VALISE_SLOTS: '3', VALISE_UNSAFE_SHARED_UID: 'true' }, USER);
    const [more] = about(await examineIsolation(several), 'isolation');
    expect(more).toMatch(/^warning: does not run as root: 3 tasks at a time, by VALISE_UNSAFE_SHARED_UID/);
  });

  it.each([
    ['a key of another certificate', async () => ({ ...worker, key: (await named(DAY_MS)).key }), 'identity'],
    ['a certificate that has ended', () => named(-1000), 'certificate'],
    ['no certificate at all', () => Promise.resolve({ ...worker, certificate: 'hunter2' }), 'identity'],
  ])('finds %s', async (_what, identity, subject) => {
    writeIdentity(await identity());
    const [finding] = about(await examined(), subject);
    expect(finding).toMatch(/^problem: /);
    expect(finding).not.toContain('hunter2');
  });

  it('warns of a certificate that ends soon', async () => {
    writeIdentity(await named(60_000));
    expect(about(await examined(), 'certificate')[0]).toMatch(/^warning: is valid until .* only$/);
  });

  it('finds an authority file with a certificate that is no authority’s', async () => {
    writeIdentity(worker, worker.certificate);
    expect(about(await examined(), 'authority')).toEqual([
      'problem: VALISE_TLS_CA_FILE has a certificate in it that is no authority’s',
    ]);
  });

  it('finds a tool that is missing, and swap that is on', () => {
    const swaps = join(directory, 'swaps');
    writeFileSync(swaps, 'Filename\tType\n/dev/sda2 partition\n');
    const findings = examineHost(['no-such-tool'], swaps);
    expect(about(findings, 'no-such-tool')[0]).toMatch(/^problem: is not installed/);
    expect(about(findings, 'swap')[0]).toMatch(/^warning: /);
  });

  it('finds that the first process of its container is a Node program, which takes no orphan in', () => {
    const firstProcess = join(directory, 'cmdline');
    writeFileSync(firstProcess, '/usr/bin/node\0main.js\0');
    expect(about(examineHost([], '/proc/swaps', firstProcess), 'init')[0]).toMatch(/^problem: is missing/);
    writeFileSync(firstProcess, '/sbin/docker-init\0--\0node\0main.js\0');
    expect(about(examineHost([], '/proc/swaps', firstProcess), 'init')[0]).toMatch(/^ok: /);
  });

  it('finds a state directory that is a file, and one that leaves no room for logs', () => {
    writeFileSync(join(directory, 'state'), '');
    expect(about(examineStateDirectory(configured()), 'state directory')[0]).toMatch(
      /^problem: .* is no directory$/,
    );
    rmSync(join(directory, 'state'));
    mkdirSync(join(directory, 'state'), { mode: 0o700 });
    const full = configured({ VALISE_LOG_DISK_RESERVE_BYTES: String(2 ** 40) });
    expect(about(examineStateDirectory(full), 'disk')[0]).toMatch(/^problem: .* no task starts$/);
  });

  it('warns of a state directory that is open to others, and leaves that to the worker', () => {
    const state = join(directory, 'state');
    mkdirSync(state);
    chmodSync(state, 0o755);
    expect(about(examineStateDirectory(configured()), 'state directory')[0]).toMatch(/^warning: /);
    expect(statSync(state).mode & 0o777).toBe(0o755);
  });

  (IS_ROOT ? it : it.skip)('finds slots that have the uid of an account', async () => {
    // The one below it ends slots, and is nobody's account but nobody's.
    const findings = await examineIsolation(configured({ VALISE_SLOT_UID_BASE: '65535' }));
    expect(about(findings, 'slot uids')).toEqual([
      'problem: VALISE_SLOT_UID_BASE names ids that are listed in /etc/passwd',
    ]);
  });
});

describe('a control that cannot be worked with', () => {
  const silent = createServer();
  beforeAll(() => new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve)));
  afterAll(() => silent.close());

  const urlOf = (server: Server): URL =>
    new URL(`https://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const identity = (ca = authority.pem) => ({
    workerId: 'worker-1',
    certificate: Buffer.from(worker.certificate),
    key: Buffer.from(worker.key),
    authority: Buffer.from(ca),
    notAfterMs: Infinity,
  });

  it('is found when nobody listens', async () => {
    const free = createServer();
    await new Promise<void>((resolve) => free.listen(0, '127.0.0.1', resolve));
    const closed = urlOf(free);
    await new Promise((resolve) => free.close(resolve));
    expect(await examineReachability(closed, identity())).toMatchObject({
      grade: 'problem',
      sentence: `${closed.host}: nothing listens there`,
    });
  });

  it.each([
    [
      'refuses the certificate',
      { refuse: 'worker_authentication_required', status: 401 },
      'it may be revoked',
    ],
    [
      'does not know the worker',
      { refuse: 'worker_identity_mismatch', status: 403 },
      'does not know this worker',
    ],
    ['is something else', { json: {} }, 'not as the worker-facing listener of a control'],
  ] as const)('is found when what answers %s', async (_what, reply, sentence) => {
    control.on('offers', () => reply);
    const found = await examineReachability(control.url, identity());
    control.on('offers', () => REFUSED);
    expect(found).toMatchObject({ grade: 'problem', sentence: expect.stringContaining(sentence) });
  });

  it('is found when another authority has issued its certificate', async () => {
    const foreign = await TestAuthority.create();
    expect(await examineReachability(control.url, identity(foreign.pem))).toMatchObject({
      grade: 'problem',
      sentence: expect.stringContaining('no authority in VALISE_TLS_CA_FILE'),
    });
  });

  it('is found when it says nothing until the deadline', async () => {
    expect(await examineReachability(urlOf(silent), identity(), 100)).toMatchObject({
      grade: 'problem',
      sentence: `${urlOf(silent).host} did not answer in 0.1 s`,
    });
  });
});
