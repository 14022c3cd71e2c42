import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../support/until.js';
import { asked, docker } from './engine.js';
import { WORKER, type WorkerImage } from './worker-image.js';

const PAGE = join(__dirname, '../../docs/operations/worker.md');
/** What depends on the place: names, and what is started again. Each has a value. */
const FILLED_IN = new Set(['--name', '--restart', '--volume', '--env-file']);

/** The options of `docker run` that the operators' page gives for a worker, but those that depend on the place. */
export function optionsOfPage(): readonly string[] {
  const command = /^docker run (.*(?:\\\n.*)+)$/m.exec(readFileSync(PAGE, 'utf8'))?.[1];
  const words = command?.replaceAll('\\\n', ' ').trim().split(/\s+/).slice(0, -1) ?? [];
  if (words.length === 0) throw new Error('the page has no command');
  return words.filter(
    (word, index) => word !== '--detach' && !FILLED_IN.has(word) && !FILLED_IN.has(words[index - 1] ?? ''),
  );
}

export interface Containment {
  /** Of `docker run`. */
  readonly options: readonly string[];
  readonly settings: Readonly<Record<string, string>>;
}

/** A worker in a container of its own, on the machine's network. */
export class ContainedWorker {
  private constructor(readonly name: string) {}

  /** It is there, and may have ended already. */
  static start(name: string, image: WorkerImage, { options, settings }: Containment): ContainedWorker {
    docker(
      'run',
      '--detach',
      '--name',
      name,
      ...runOptions(options, settings),
      ...image.arguments,
      ...WORKER,
    );
    return new ContainedWorker(name);
  }

  /** What `doctor` says in a container of its own that is made as this worker's would be. */
  static examine(image: WorkerImage, { options, settings }: Containment): string {
    const run = ['run', '--rm', ...runOptions(options, settings), ...image.arguments];
    return asked([...run, ...WORKER, 'doctor']).stdout;
  }

  /** What `doctor` says beside the worker. */
  examine(): string {
    return asked(['exec', this.name, ...WORKER, 'doctor']).stdout;
  }

  start(): void {
    docker('start', this.name);
  }

  kill(): void {
    docker('kill', this.name);
  }

  stop(): void {
    docker('stop', this.name);
  }

  /** All that it wrote. */
  get log(): string {
    const { stdout, stderr } = asked(['logs', this.name]);
    return stdout + stderr;
  }

  logged(text: string): Promise<unknown> {
    return until(text, () => this.log.includes(text), { everyMs: 100, situation: () => this.log });
  }

  remove(): void {
    docker('rm', '--force', this.name);
  }
}

function runOptions(options: readonly string[], settings: Readonly<Record<string, string>>): string[] {
  const variables = Object.entries(settings).flatMap(([name, value]) => ['--env', `${name}=${value}`]);
  return ['--network', 'host', ...options, ...variables];
}
