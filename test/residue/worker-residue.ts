import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createSecretReference, writeEnvironmentBundle } from '@valise/contracts/documents';
import type { Pattern } from '../../apps/cli/src/demo/needles.js';
import type { Program } from '../../apps/cli/src/demo/program.js';
import { Search, type Sighting } from '../../apps/cli/src/demo/search.js';
import { Deployment } from '../support/deployment.js';
import type { TestDatabase } from '../support/postgres.js';
import { onlyFor, PROJECT, publication } from '../support/published-task.js';
import { until } from '../support/until.js';
import { Canary } from './canary.js';
import { searchMemory } from './process-memory.js';
import { decoySeen, type Found, type Residue } from './residue.js';

/** What the tasks are given: so many secrets and a bundle with as many entries, of so many bytes each at least. */
export interface TaskLoad {
  readonly secrets: number;
  readonly valueBytes: number;
}

export const SHORT_WORKER: readonly TaskLoad[] = [
  { secrets: 1, valueBytes: 32 },
  { secrets: 20, valueBytes: 1024 },
];
/** Twice 20 values share the 64 KiB of an environment. */
export const FULL_WORKER: readonly TaskLoad[] = [
  ...[16, 32, 64, 1024, 4096, 16_000].map((valueBytes) => ({ secrets: 1, valueBytes })),
  ...[16, 32, 64, 256, 1024, 1500].map((valueBytes) => ({ secrets: 20, valueBytes })),
];

export interface WorkerResidueReport extends Residue {
  readonly program: 'worker';
  readonly tasks: number;
  /** Of how many tasks the canaries were seen in the worker while they ran, where its masker holds them. */
  readonly seenWhileRunning: number;
}

const WORKER = 'residue';
const AFTER_MS = 1000;
/** A masker's automaton has a byte in sixteen bits, and there the mark of what follows its parent. */
const CHAINED = 1;

/** One task after the other on a real worker; its memory is searched while each runs, and again after its end. */
export async function measureWorkerResidue(
  database: TestDatabase,
  loads: readonly TaskLoad[],
): Promise<WorkerResidueReport> {
  const directory = mkdtempSync(join(tmpdir(), 'valise-residue-'));
  const kept = { utf8: new Canary('kept as text'), utf16: new Canary('kept as wide text') };
  const environmentFile = join(directory, 'environment.json');
  // What every task is given besides stays in memory as strings; one with a wide character as UTF-16.
  const besides = { KEPT: kept.utf8.text, KEPT_WIDE: `${kept.utf16.text}中` };
  writeFileSync(environmentFile, JSON.stringify(besides), { mode: 0o600 });
  const deployment = await Deployment.start(database);
  try {
    await deployment.allow(WORKER, { labels: { worker: WORKER } });
    const worker = await deployment.startWorker(WORKER, { VALISE_TASK_ENVIRONMENT_FILE: environmentFile });
    const canaries: Canary[] = [];
    const found: Found[] = [];
    let searchedBytes = 0;
    let seenWhileRunning = 0;
    for (const load of loads) {
      const own = ['secret', 'bundle'].map((kind) => canaryOf(load, kind));
      canaries.push(...own);
      const task = await HeldTask.run(deployment, worker, load, own);
      if (await areSeen(worker.pid, own)) seenWhileRunning += 1;
      await task.finish();
      await delay(AFTER_MS);
      // Also of the tasks before: nothing comes back.
      const search = await searched(worker.pid, canaries);
      searchedBytes += search.searchedBytes;
      found.push(...search.sightings.map(described));
    }
    return {
      program: 'worker',
      tasks: loads.length,
      canaries: canaries.length,
      found,
      decoySeen: decoySeen(await searched(worker.pid, Object.values(kept)), kept),
      seenWhileRunning,
      searchedBytes,
    };
  } finally {
    await deployment.stop();
    rmSync(directory, { recursive: true });
  }
}

/** A task that waits until it is let go, and then prints what it has, as it is and encoded. */
class HeldTask {
  private constructor(
    private readonly worker: Program,
    private readonly attempts: number,
    private readonly gate: string,
  ) {}

  static async run(
    deployment: Deployment,
    worker: Program,
    { secrets, valueBytes }: TaskLoad,
    [secret, bundle]: readonly Canary[],
  ): Promise<HeldTask> {
    const numbers = Array.from({ length: secrets }, (_, index) => index);
    const references = numbers.map((index) =>
      createSecretReference({ projectId: PROJECT, name: `s-${index}` }),
    );
    const environmentBundleRef = createSecretReference({ projectId: PROJECT, name: 'canaries', version: 1 });
    // Each a little longer than the one before: no two values are the same.
    const values = (canary: Canary): Buffer[] => numbers.map((index) => canary.bytes(valueBytes + index));
    for (const [index, value] of values(secret!).entries()) deployment.secrets.lay(references[index]!, value);
    const entries = values(bundle!).map((value, index) => ({
      name: `ENTRY_${index}`,
      value: value.toString(),
    }));
    deployment.secrets.lay(environmentBundleRef, writeEnvironmentBundle(entries));
    const attempts = times(worker, 'exited');
    const gate = join(deployment.directory, `go-${attempts}`);
    const { spec } = publication(onlyFor(WORKER));
    await deployment.run({
      spec: {
        ...spec,
        config: {
          ...(spec.config as object),
          command: { kind: 'shell', command: scriptOf(secrets - 1, gate) },
          environment: references.map((secretRef, index) => ({
            name: `TOKEN_${index}`,
            kind: 'secret',
            secretRef,
          })),
          environmentBundleRef,
        },
      },
    });
    await until('the start of the task', () => times(worker, 'started') > attempts);
    return new HeldTask(worker, attempts, gate);
  }

  async finish(): Promise<void> {
    writeFileSync(this.gate, '', { mode: 0o644 });
    await until('the end of the task', () => times(this.worker, 'exited') > this.attempts);
  }
}

const times = (worker: Program, step: string): number =>
  worker.lines.filter(({ event }) => event === step).length;

function scriptOf(last: number, gate: string): string {
  return [
    `until [ -e '${gate}' ]; do sleep 0.05; done`,
    `printf '%s\\n' "$TOKEN_0" "$ENTRY_${last}" "$TOKEN_${last}"`,
    `printf '%s' "$ENTRY_0" >&2`,
    `printf '%s' "$TOKEN_0" | base64`,
  ].join('\n');
}

const canaryOf = ({ secrets, valueBytes }: TaskLoad, kind: string): Canary =>
  new Canary(`${secrets} × ${valueBytes} bytes, ${kind}`);

async function searched(pid: number, canaries: readonly Canary[]): Promise<Search> {
  const search = new Search(canaries.flatMap((canary) => [...canary.patterns(), inAutomaton(canary)]));
  await searchMemory(pid, search);
  return search;
}

/** Whether each of them is somewhere. */
async function areSeen(pid: number, canaries: readonly Canary[]): Promise<boolean> {
  const { sightings } = await searched(pid, canaries);
  return canaries.every(({ needle }) => sightings.some(({ pattern }) => pattern.needle === needle));
}

/** The mark as the masker holds it once it is made, which is when output comes. */
function inAutomaton({ needle }: Canary): Pattern {
  const bytes = Buffer.from(needle.bytes.toString('latin1'), 'utf16le');
  for (let at = 1; at < bytes.length; at += 2) bytes[at] = CHAINED;
  return { needle, form: 'raw', part: 'whole', bytes };
}

const formOf = ({ form, bytes }: Pattern): string => (bytes[1] === CHAINED ? 'automaton' : form);

const described = ({ pattern, place }: Sighting): Found => ({
  canary: pattern.needle.label,
  form: formOf(pattern),
  place,
});
