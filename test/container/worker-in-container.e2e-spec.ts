import { randomUUID } from 'node:crypto';
import { chownSync, copyFileSync, mkdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { textOfLog } from '@valise/contracts/documents';
import type { RunView } from '@valise/contracts/wire';
import { findProcesses } from '../../apps/worker/src/execution/process-table.js';
import { useDeployment } from '../support/deployment.js';
import { useDatabase } from '../support/postgres.js';
import { onlyFor, PROJECT, publication } from '../support/published-task.js';
import { until } from '../support/until.js';
import { report } from '../support/verification.js';
import { ContainedWorker, optionsOfPage } from './contained-worker.js';
import { dockerDoes, obstacle } from './engine.js';
import { WorkerImage } from './worker-image.js';

/** Nobody's on this machine; each worker has some of its own. */
const BASE_UID = 3_000_000 + (process.pid % 1000) * 100;
const USER = 3_200_000;
const NOT_HERE = obstacle();
if (NOT_HERE !== null) report(`containers: not tried, ${NOT_HERE}`);

/** What of it succeeds, one word a line; then what it is. */
function attacks(stateDirectory: string, keyFile: string): string {
  const victims = ['1', '$PPID'].flatMap((pid) => [
    `cat /proc/${pid}/environ && echo environ`,
    `true < /proc/${pid}/mem && echo mem`,
    `ls /proc/${pid}/fd/ && echo descriptors`,
    `kill -0 ${pid} && echo signal`,
  ]);
  const files = [
    `ls ${stateDirectory}`,
    `cat ${keyFile}`,
    'ls /run/valise',
    'setpriv --reuid 0 true',
    'touch /x',
  ];
  const detached = '(setsid sleep 600 &); (setsid sh -c \'trap "" TERM; exec env -i sleep 600\' &)';
  const status = "grep -E '^(Uid|Groups|CapEff|NoNewPrivs|Seccomp):' /proc/self/status";
  return `{ ${[...victims, ...files].join(' ; ')} ; } 2>/dev/null | grep -vE '^[0-9]+$'\n${detached}\n${status}`;
}

(NOT_HERE === null ? describe : describe.skip)(`a worker in a container (${NOT_HERE ?? 'tried'})`, () => {
  const deployment = useDeployment(useDatabase());
  const workers: ContainedWorker[] = [];
  let image: WorkerImage;
  let hasInit: boolean;
  let made = 0;

  beforeAll(() => {
    image = WorkerImage.build();
    hasInit = dockerDoes('run', '--rm', '--init', ...image.arguments, 'true');
    if (!hasInit) report('containers: the engine has no init of its own');
  });
  afterEach(() => {
    for (const worker of workers.splice(0)) worker.remove();
  });
  afterAll(() => {
    image.remove();
  });

  /** What a worker needs to be contained: its identity and its state directory are of the user `owner`. */
  async function prepared(owner = 0) {
    made += 1;
    const workerId = `contained-${made}`;
    await deployment().allow(workerId, { labels: { worker: workerId } });
    const directory = join(deployment().directory, workerId);
    const stateDirectory = join(directory, 'state');
    for (const path of [directory, stateDirectory]) mkdirSync(path, { mode: 0o700 });
    const identity = await deployment().pki.worker(workerId);
    const copied = (file: string): string => {
      const copy = join(directory, basename(file));
      copyFileSync(file, copy);
      return copy;
    };
    const files = {
      certificateFile: copied(identity.certificateFile),
      keyFile: copied(identity.keyFile),
      caFile: copied(deployment().pki.caFile),
    };
    for (const path of [directory, stateDirectory, ...Object.values(files)]) chownSync(path, owner, owner);
    const settings: Record<string, string> = {
      VALISE_CONTROL_URL: `https://127.0.0.1:${deployment().ports.ingress}`,
      VALISE_TLS_CERTIFICATE_FILE: files.certificateFile,
      VALISE_TLS_KEY_FILE: files.keyFile,
      VALISE_TLS_CA_FILE: files.caFile,
      VALISE_STATE_DIRECTORY: stateDirectory,
      VALISE_LOG_DISK_RESERVE_BYTES: '0',
      ...(owner === 0 && { VALISE_SLOT_UID_BASE: String(BASE_UID + made * 10) }),
    };
    return {
      workerId,
      files,
      stateDirectory,
      settings,
      uid: BASE_UID + made * 10,
      volume: ['--volume', `${directory}:${directory}`],
    };
  }

  type Prepared = Awaited<ReturnType<typeof prepared>>;

  function start({ workerId, volume, settings }: Prepared, options: readonly string[]): ContainedWorker {
    const name = `valise-${workerId}-${process.pid}`;
    const worker = ContainedWorker.start(name, image, { options: [...volume, ...options], settings });
    workers.push(worker);
    return worker;
  }

  /** Starts a run that only this worker takes. */
  function run({ workerId }: Prepared, script: string): Promise<string> {
    const { spec } = publication(onlyFor(workerId));
    const config = {
      ...(spec.config as object),
      command: { kind: 'argv', file: '/bin/sh', args: ['-c', script] },
    };
    return deployment().run({ spec: { ...spec, config } });
  }

  const running = (runId: string): Promise<RunView> =>
    deployment().runWhen(runId, ({ status }) => status === 'running');
  const logOf = async (runId: string): Promise<string> =>
    textOfLog(await deployment().management.log(PROJECT, runId)).toString();
  const attemptOf = async (runId: string) => (await deployment().ended(runId)).attempts.at(-1);
  const problems = (said: string): string[] => said.split('\n').filter((line) => line.startsWith('problem'));

  describe.each(['under an init', 'as the first process'])('%s', (place) => {
    const init = place === 'under an init' ? ['--init'] : [];

    it('runs a task under its slot’s uid, out of reach of the worker, and leaves nothing of it alive', async () => {
      if (init.length > 0 && !hasInit) return;
      const what = await prepared();
      const worker = start(what, [...optionsOfPage(), ...init]);
      const runId = await run(what, attacks(what.stateDirectory, what.files.keyFile));
      expect(await attemptOf(runId)).toMatchObject({ status: 'succeeded' });
      const { uid } = what;
      expect(
        (await logOf(runId))
          .replace(/[ \t]+/g, ' ')
          .trimEnd()
          .split('\n'),
      ).toEqual([
        `Uid: ${uid} ${uid} ${uid} ${uid}`,
        'Groups: ',
        'CapEff: 0000000000000000',
        'NoNewPrivs: 1',
        'Seccomp: 2',
      ]);
      expect(findProcesses({ kind: 'uid', uid, leader: null })).toEqual([]);
      const again = await run(what, 'exit 3');
      expect(await attemptOf(again)).toMatchObject({ exitCode: 3 });
      const missing = problems(worker.examine()).map((line) => /^problem +([a-z ]+):/.exec(line)?.[1]);
      expect(missing).toEqual(init.length > 0 ? [] : ['init']);
      expect(worker.log.includes('orphans_are_not_collected')).toBe(init.length === 0);
    });
  });

  it('that is killed takes its task along, and tells the truth once it runs again with its volume', async () => {
    const what = await prepared();
    const worker = start(what, optionsOfPage());
    const runId = await run(what, 'sleep 600');
    await running(runId);
    worker.kill();
    await until(
      'the task is gone',
      () => findProcesses({ kind: 'uid', uid: what.uid, leader: null }).length === 0,
    );
    worker.start();
    expect(await attemptOf(runId)).toMatchObject({ status: 'failed', reasonCode: 'worker_restarted' });
  });

  it('that is stopped lets its task end for as long as it is given, and reports what it could not wait for', async () => {
    const what = await prepared();
    const worker = start(what, [...optionsOfPage(), '--stop-timeout', '4']);
    const short = await run(what, 'sleep 1; exit 5');
    await running(short);
    worker.stop();
    expect(await attemptOf(short)).toMatchObject({ exitCode: 5 });
    worker.start();
    const long = await run(what, 'sleep 600');
    await running(long);
    worker.stop();
    worker.start();
    expect(await attemptOf(long)).toMatchObject({ status: 'failed', reasonCode: 'worker_restarted' });
  });

  it('outlives a task that takes all memory, in many small processes too', async () => {
    const what = await prepared();
    const worker = start(what, [...optionsOfPage(), '--memory', '200m', '--memory-swap', '200m']);
    const one = await run(what, 'exec tail /dev/zero');
    expect(await attemptOf(one)).toMatchObject({ reasonCode: 'killed_by_signal', signal: 'SIGKILL' });
    const many = await run(
      what,
      'for i in 1 2 3 4 5 6 7 8; do head -c 25m /dev/zero | tail & done; wait; exit 4',
    );
    expect(await attemptOf(many)).toMatchObject({ exitCode: 4 });
    expect(worker.log.match(/"registered"/g)).toHaveLength(1);
  });

  it('runs tasks beside one that has as many processes as it may', async () => {
    const what = await prepared();
    start({ ...what, settings: { ...what.settings, VALISE_SLOTS: '2' } }, [
      ...optionsOfPage(),
      '--ulimit',
      'nproc=64:64',
    ]);
    const greedy = await run(what, 'b() { b | b & }; while :; do (b); sleep 0.1; done 2>/dev/null');
    await running(greedy);
    expect(await attemptOf(await run(what, 'true | true; exit 6'))).toMatchObject({ exitCode: 6 });
    await deployment().management.cancel(PROJECT, greedy, { mutationId: randomUUID() });
    expect(await attemptOf(greedy)).toMatchObject({ status: 'cancelled' });
  });

  it('works as another user without any capability, and says what that means', async () => {
    const what = await prepared(USER);
    const options = [...what.volume, '--user', `${USER}:${USER}`, '--cap-drop', 'ALL', '--read-only'];
    start(what, options.slice(what.volume.length));
    const runId = await run(what, "grep -E '^(Uid|NoNewPrivs):' /proc/self/status");
    expect(await attemptOf(runId)).toMatchObject({ status: 'succeeded' });
    expect((await logOf(runId)).replace(/[ \t]+/g, ' ')).toBe(
      `Uid: ${`${USER} `.repeat(4).trim()}\nNoNewPrivs: 1\n`,
    );
    const said = ContainedWorker.examine(image, {
      options: [...options, ...(hasInit ? ['--init'] : [])],
      settings: what.settings,
    });
    expect(said).toMatch(/^warning +isolation: does not run as root/m);
    expect(problems(said)).toHaveLength(hasInit ? 0 : 1);
  });

  it('does not start with another user’s state directory, beside a worker that has it, or without room for locks', async () => {
    const what = await prepared();
    const containment = { options: [...what.volume, ...optionsOfPage()], settings: what.settings };
    const first = start(what, optionsOfPage());
    await first.logged('"registered"');
    const second = ContainedWorker.start(`${first.name}-second`, image, containment);
    workers.push(second);
    await second.logged('inbox_in_use');

    const foreign = await prepared(USER);
    const options = [...foreign.volume, ...optionsOfPage()];
    const settings = { ...foreign.settings, VALISE_SLOT_UID_BASE: String(foreign.uid) };
    expect(ContainedWorker.examine(image, { options, settings })).toMatch(/^problem +state directory: /m);

    const noRun = { options: [...what.volume, '--read-only'], settings: what.settings };
    expect(ContainedWorker.examine(image, noRun)).toMatch(
      /^problem +slot locks: \/run\/valise is not there/m,
    );
  });
});
