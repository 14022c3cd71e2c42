import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { programFile } from '../../../../test/support/built-program.js';
import { useDeployment } from '../../../../test/support/deployment.js';
import { useDatabase } from '../../../../test/support/postgres.js';
import { snapshotOf } from '../../../../test/support/snapshot.js';
import { type TestIdentity, TestPki } from '../../../../test/support/test-pki.js';
import { TestAuthority } from '../../../../test/support/test-authority.js';
import { readConfig } from '../config/read-config.js';
import { readIdentity } from '../ingress/worker-identity.js';
import { IS_ROOT, TEST_BASE_UID } from '../../spec/worker-under-test.js';
import { examineReachability } from './reachability.js';

const WORKER = 'w-doctor';

interface Said {
  readonly status: number | null;
  readonly stdout: string;
}

/** Runs the built worker; `before` stands before its command. */
function run(
  args: readonly string[],
  settings: Readonly<Record<string, string>> = {},
  before: readonly string[] = [],
): Said {
  const [file = '', ...rest] = [...before, process.execPath, programFile('worker'), ...args];
  return spawnSync(file, rest, {
    encoding: 'utf8',
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', ...settings },
  });
}

describe('the built worker', () => {
  it('examines itself when asked, and says by its exit code that it would not start', () => {
    const { status, stdout } = run(['doctor', '--offline']);
    expect(stdout).toMatch(/^problem +settings: VALISE_CONTROL_URL is required$/m);
    expect(status).toBe(1);
  });

  it('knows no other command', () => {
    const { status, stdout } = run(['surgeon']);
    expect(stdout).toContain('the only command is doctor');
    expect(status).toBe(1);
  });
});

describe('the doctor, before a real control', () => {
  const database = useDatabase();
  const deployment = useDeployment(database);
  let allowed: TestIdentity;

  beforeAll(async () => {
    allowed = await deployment().pki.worker(WORKER);
    await deployment().allow(WORKER);
  });

  const settingsOf = (identity: TestIdentity, port = deployment().ports.ingress): Record<string, string> => ({
    VALISE_CONTROL_URL: `https://127.0.0.1:${port}`,
    VALISE_TLS_CERTIFICATE_FILE: identity.certificateFile,
    VALISE_TLS_KEY_FILE: identity.keyFile,
    VALISE_TLS_CA_FILE: deployment().pki.caFile,
    VALISE_STATE_DIRECTORY: join(deployment().directory, 'state'),
    VALISE_SLOT_UID_BASE: String(TEST_BASE_UID + 600),
  });

  /** What it says of control, and that control has written nothing meanwhile. */
  async function saidOfControl(settings: Record<string, string>): Promise<string> {
    const config = readConfig(settings, 0);
    const before = await snapshotOf(database());
    const { grade, sentence } = await examineReachability(config.controlUrl, await readIdentity(config));
    expect(await snapshotOf(database())).toEqual(before);
    return `${grade}: ${sentence}`;
  }

  it('finds no problem for a worker that an operator allows', async () => {
    const before = await snapshotOf(database());
    const { stdout } = run(['doctor'], settingsOf(allowed));
    expect(stdout).toMatch(/^ok +control: .* allows this worker$/m);
    expect(await snapshotOf(database())).toEqual(before);
  });

  it('finds that an operator has put no such worker, or has revoked it', async () => {
    const unknown = await deployment().pki.worker('w-unknown');
    expect(await saidOfControl(settingsOf(unknown))).toMatch(/^problem: .* does not know this worker/);
    await deployment().allow('w-revoked', { status: 'revoked' });
    const revoked = await deployment().pki.worker('w-revoked');
    expect(await saidOfControl(settingsOf(revoked))).toMatch(/^problem: .* or has revoked it/);
  });

  it('finds that the certificate is revoked', async () => {
    const revoked = await deployment().pki.worker(WORKER);
    await deployment().pki.revoke(revoked);
    await deployment().reload();
    expect(await saidOfControl(settingsOf(revoked))).toMatch(/^problem: .* may be revoked/);
  });

  it('finds that another authority has issued the certificate', async () => {
    const foreign = await deployment().pki.worker(WORKER, await TestAuthority.create());
    expect(await saidOfControl(settingsOf(foreign))).toMatch(
      /^problem: .* of an authority that it does not know$/,
    );
  });

  it('finds that control’s certificate is of another authority', async () => {
    const { caFile } = await TestPki.create(join(deployment().directory, 'other'));
    const settings = { ...settingsOf(allowed), VALISE_TLS_CA_FILE: caFile };
    expect(await saidOfControl(settings)).toMatch(/^problem: .* no authority in VALISE_TLS_CA_FILE$/);
  });

  it('finds that nothing listens', async () => {
    // A port that is given out to nobody.
    expect(await saidOfControl(settingsOf(allowed, 1))).toMatch(/^problem: .* nothing listens there$/);
  });

  (IS_ROOT ? describe : describe.skip)('as root, as a container may have it', () => {
    const without = (capability: string): string[] => ['setpriv', '--bounding-set', `-${capability}`, '--'];

    it.each([
      ['setuid', 'slot start'],
      ['setgid', 'slot start'],
      ['kill', 'slot end'],
    ])('finds that %s is missing', (capability, subject) => {
      const { stdout, status } = run(['doctor', '--offline'], settingsOf(allowed), without(capability));
      expect(stdout).toMatch(new RegExp(`^problem +${subject}: .*${capability.toUpperCase()}.* needed`, 'm'));
      expect(status).toBe(1);
    });

    it('would not have started where it cannot give slots their uids', () => {
      const { stdout, status } = run([], settingsOf(allowed), without('setuid'));
      expect(stdout).toContain('setpriv_gives_slots_their_uids');
      expect(status).toBe(1);
    });
  });
});
