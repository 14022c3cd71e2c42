import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createHash, randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSecretReference, textOfLog, writeEnvironmentBundle } from '@valise/contracts/documents';
import type { RunView } from '@valise/contracts/wire';
import { useDeployment } from './support/deployment.js';
import { useDatabase } from './support/postgres.js';
import { logged } from './support/programs.js';
import { PROJECT } from './support/published-task.js';
import type { Answer } from './support/wire/wire-client.js';

const database = useDatabase();
const deployment = useDeployment(database, { VALISE_LOG_LEVEL: 'trace' });

/** The command lines of all processes of this machine. */
function commandLines(): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && existsSync(`/proc/${name}/cmdline`))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
      } catch {
        // It ended while we looked.
        return '';
      }
    });
}

let tasks = 0;

/** A task with a bundle and one secret of its own, and the files they lie in. */
function task(command: string, bundle: Record<string, string>, secret: string | null) {
  tasks += 1;
  const bundleRef = createSecretReference({ projectId: PROJECT, name: `bundle-${tasks}`, version: 1 });
  const secretRef = createSecretReference({ projectId: PROJECT, name: `secret-${tasks}`, version: 1 });
  const entries = Object.entries(bundle).map(([name, value]) => ({ name, value }));
  deployment().secrets.lay(bundleRef, writeEnvironmentBundle(entries));
  if (secret !== null) deployment().secrets.lay(secretRef, secret);
  const config = {
    command: { kind: 'argv', file: '/bin/sh', args: ['-c', command] },
    environment: [{ name: 'TOKEN', kind: 'secret', secretRef }],
    environmentBundleRef: bundleRef,
  };
  return { spec: { schema: 'qinglong/command@v1', config } };
}

const logOf = async (runId: string): Promise<string> =>
  textOfLog(await deployment().management.log(PROJECT, runId)).toString();
const attemptOf = (run: RunView) => run.attempts.at(-1)!;

beforeAll(async () => {
  await deployment().allow('main');
  const worker = await deployment().startWorker('main', {
    VALISE_LOG_LEVEL: 'trace',
    NODE_DEBUG: 'tls,http,child_process',
  });
  await logged(worker, 'registered');
}, 60_000);

describe('a task', () => {
  it('gets every byte of its bundle and its secrets as it was packed', async () => {
    const values: Record<string, string> = {
      DOLLAR: 'p$$a$(x)${HOME}`id`',
      HASH: '$2y$05$nhYO',
      LINES: 'a\nb\r\nc\n',
      QUOTES: `"q' \\ \\n`,
      SPACES: '  both ends\t',
      EMPTY: '',
      toString: 'inherited?',
      constructor: 'inherited?',
      __proto__x: 'x',
      EURO: '€'.repeat(100),
    };
    Object.defineProperty(values, '__proto__', { value: 'own', enumerable: true });
    // The digest says what the process saw without printing it.
    const names = Object.keys(values);
    const command = `for n in ${names.join(' ')} TOKEN; do printf '%s=' $n; eval "printf %s \\"\\$$n\\"" | sha256sum; done`;
    const runId = await deployment().run(task(command, values, 'secr3t\n'));
    const run = await deployment().ended(runId);
    const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
    const expected = [...names.map((name) => [name, values[name]]), ['TOKEN', 'secr3t\n']];
    expect(await logOf(runId)).toBe(
      expected.map(([name, value]) => `${String(name)}=${sha256(String(value))}  -\n`).join(''),
    );
    expect(run.status).toBe('succeeded');
  }, 60_000);

  it('inherits nothing from the worker but what the operator configured', async () => {
    const runId = await deployment().run(task('exec env', { FROM_BUNDLE: 'x' }, 'secret-value-1'));
    await deployment().ended(runId);
    const names = (await logOf(runId))
      .trim()
      .split('\n')
      .map((line) => line.split('=')[0]);
    expect(names.sort()).toEqual(
      [
        'FROM_BUNDLE',
        'HOME',
        'LANG',
        'PATH',
        'PWD',
        'QL3_ATTEMPT_ID',
        'QL3_PROJECT_ID',
        'QL3_RUN_ID',
        'QL3_TASK_ID',
        'TOKEN',
      ].sort(),
    );
  }, 60_000);

  it('cannot print a value into its log, whole or in pieces', async () => {
    const command =
      'echo "$SECRET_A"; printf %s "${SECRET_A%?????}"; printf "%s\\n" "${SECRET_A#??????????}"; echo "$TOKEN" >&2';
    const runId = await deployment().run(task(command, { SECRET_A: 'canary-value-15' }, 'canary-token-7'));
    await deployment().ended(runId);
    // Where a line of one stream falls between two pieces of the other is nobody's to say.
    const shown = await logOf(runId);
    expect(shown.replaceAll('***', '')).toBe('\n\n\n');
    expect(shown.replaceAll('\n', '')).toBe('***'.repeat(3));
  }, 60_000);

  it('is watched and read on the command line', async () => {
    const command = 'echo out; echo "$TOKEN" >&2; echo last';
    const runId = await deployment().run(task(command, { A_NAME: 'x' }, 'canary-token-8'));
    const of = [runId, '--project', PROJECT];
    const watched = deployment().valise('run', 'watch', ...of);
    expect(watched).toMatchObject({ status: 0, stderr: expect.stringContaining('valise run log') });
    expect(watched.stdout.trim().split('\n').at(-1)).toContain(
      'run succeeded; attempt 1 succeeded, exit code 0',
    );
    const log = (...options: string[]) => deployment().valise('run', 'log', ...of, ...options);
    expect(log('--stream', 'stdout')).toMatchObject({ status: 0, stdout: 'out\nlast\n' });
    expect(log('--stream', 'stderr').stdout).toBe('***\n');
    expect(log('--stream', 'stdout', '--since-line', '2').stdout).toBe('last\n');
    expect(log('--raw').stdout).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z stdout F out$/m);
    const unknown = deployment().valise('run', 'log', randomUUID(), '--project', PROJECT);
    expect(unknown).toMatchObject({ stdout: '', stderr: expect.stringContaining('not_found') });
    expect(unknown.status).not.toBe(0);
  }, 60_000);

  it('has a log that is read in part, and that no browser takes for anything but text', async () => {
    const runId = await deployment().run(task('echo 0123456789', { A_NAME: 'x' }, 'canary-token-9'));
    await deployment().ended(runId);
    const whole = await deployment().management.log(PROJECT, runId);
    const ask = (range: string): Promise<Answer> =>
      deployment().read(`projects/${PROJECT}/runs/${runId}/log`, { range });
    const part = await ask('bytes=5-9');
    expect([part.status, part.text]).toEqual([206, whole.subarray(5, 10).toString()]);
    expect(part.headers).toMatchObject({
      'content-range': `bytes 5-9/${whole.length}`,
      'content-type': 'text/plain; charset=utf-8',
      'content-disposition': 'attachment; filename="log.txt"',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    });
    expect((await ask('bytes=-4')).text).toBe(whole.subarray(-4).toString());
    expect((await ask(`bytes=${whole.length}-`)).status).toBe(416);
    for (const unusable of ['bytes=0-1,3-4', 'lines=1-2', 'bytes=x']) {
      const { status, text } = await ask(unusable);
      expect([status, text]).toEqual([200, whole.toString()]);
    }
  }, 60_000);

  it('ends as its process did', async () => {
    const run = await deployment().ended(await deployment().run(task('exit 7', { A_NAME: 'x' }, 'y')));
    expect(attemptOf(run)).toMatchObject({ status: 'failed', exitCode: 7 });
    const killed = await deployment().ended(
      await deployment().run(task('kill -KILL $$', { A_NAME: 'x' }, 'y')),
    );
    expect(attemptOf(killed)).toMatchObject({
      status: 'failed',
      reasonCode: 'killed_by_signal',
      signal: 'SIGKILL',
    });
  }, 60_000);

  it('does not start when one of its secrets is missing: no process, no artefact, and the reason on record', async () => {
    const mark = join(tmpdir(), `valise-started-${randomUUID()}`);
    const runId = await deployment().run(task(`touch ${mark}`, { A_NAME: 'x' }, null));
    const run = await deployment().ended(runId);
    expect(existsSync(mark)).toBe(false);
    expect(attemptOf(run)).toMatchObject({ status: 'failed', reasonCode: 'secret_unavailable' });
    expect(attemptOf(run)).not.toHaveProperty('logArtifactId');
    expect(attemptOf(run)).not.toHaveProperty('startedAtMs');
    await expect(logOf(runId)).rejects.toThrow('not_found');
    const records = await deployment().management.deliveries(PROJECT, runId);
    expect(new Set(records.map(({ outcome }) => outcome))).toEqual(new Set(['custody_failed']));
  }, 90_000);

  it('does not start when its bundle would change how programs are loaded', async () => {
    const run = await deployment().ended(
      await deployment().run(task('true', { LD_PRELOAD: '/tmp/x.so' }, 'y')),
    );
    expect(attemptOf(run)).toMatchObject({ status: 'failed', reasonCode: 'environment_name_refused' });
  }, 60_000);

  it('is stopped with everything it started when its run is cancelled', async () => {
    const runId = await deployment().run(task('sleep 987654 & sleep 987654', { A_NAME: 'x' }, 'y'));
    await deployment().runWhen(runId, ({ status }) => status === 'running');
    await deployment().management.cancel(PROJECT, runId, { mutationId: randomUUID() });
    const run = await deployment().ended(runId);
    expect(attemptOf(run)).toMatchObject({ status: 'cancelled', reasonCode: 'stopped_by_operator' });
    expect(commandLines()).not.toContain('sleep 987654');
  }, 60_000);
});
