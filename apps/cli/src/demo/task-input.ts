import { Buffer, isUtf8 } from 'node:buffer';
import { environmentNameBreach, refusedNameClass } from '@valise/contracts/documents';
import { dotenvEntries, readDotenvFile, readInput } from '../bundles/bundle-file.js';
import { refuseProblems } from '../bundles/bundle.command.js';
import { inspectBundle, type PlacedEntry } from '../bundles/bundle-report.js';
import { Refusal } from '../refusal.js';
import type { OrdinarySecret } from './mounted-secrets.js';
import type { Needle } from './needles.js';
import { SAMPLE_DOTENV, SAMPLE_SECRETS } from './sample.js';

/** What the demo's task will find in its environment. */
export interface TaskInput {
  readonly entries: readonly PlacedEntry[];
  readonly secrets: readonly OrdinarySecret[];
}

/** `--secret NAME=FILE`. */
export interface SecretOption {
  readonly name: string;
  readonly file: string;
}

/**
 * The worker sets these itself (and PATH, which the name policy refuses); a task that brings one would be refused only
 * when it starts.
 */
const SET_BY_THE_WORKER = new Set(['HOME', 'LANG']);
const MAX_SECRETS = 64;
const MAX_SECRET_BYTES = 16 * 1024;
const MAX_ENVIRONMENT_BYTES = 64 * 1024;
const MAX_NAMES = 256;

/**
 * Reads and judges everything before anything is started.
 * @throws Refusal (exit code 2) with the rule and the line, or the option
 */
export function readTaskInput(envFile: string | null, options: readonly SecretOption[]): TaskInput {
  const entries =
    envFile === null ? dotenvEntries(Buffer.from(SAMPLE_DOTENV), 'sample') : readDotenvFile(envFile);
  const report = inspectBundle(entries);
  const taken = entries.filter(({ name }) => SET_BY_THE_WORKER.has(name));
  refuseProblems(envFile ?? 'sample', {
    ...report,
    problems: [
      ...report.problems,
      ...taken.map(({ place }) => ({ place, rule: 'the worker sets HOME and LANG itself' })),
    ],
  });
  const secrets = envFile === null && options.length === 0 ? SAMPLE_SECRETS : options.map(readSecret);
  assertTogether(entries, secrets);
  return { entries, secrets };
}

/** Everything that must not be found: each name and each value. */
export function needlesOf({ entries, secrets }: TaskInput): Needle[] {
  const all = [
    ...entries.map(({ name, value, place }) => ({ name, value: Buffer.from(value), place })),
    ...secrets.map(({ name, value }) => ({ name, value, place: '--secret' })),
  ];
  const ordinary = new Set(secrets.map(({ name }) => name));
  return all.flatMap(({ name, value, place }): Needle[] => [
    // The name of an ordinary secret stands in the task's definition: only a bundle hides names.
    ...(ordinary.has(name)
      ? []
      : [{ label: `name ${name} (${place})`, kind: 'name' as const, bytes: Buffer.from(name) }]),
    ...(value.length === 0
      ? []
      : [{ label: `value of ${name} (${place})`, kind: 'value' as const, bytes: value }]),
  ]);
}

function readSecret({ name, file }: SecretOption): OrdinarySecret {
  const refuse = (rule: string): never => {
    throw new Refusal(`--secret ${name}: ${rule}.`, 2);
  };
  if (environmentNameBreach(name)) throw new Refusal('--secret: NAME is no name of a variable.', 2);
  const refused = refusedNameClass(name);
  if (refused) refuse(`the name is refused, class ${refused}`);
  if (SET_BY_THE_WORKER.has(name)) refuse('the worker sets this name itself');
  const value = Buffer.from(readInput(file, MAX_SECRET_BYTES));
  if (!isUtf8(value)) refuse('the file is not UTF-8');
  if (value.includes(0)) refuse('a NUL byte cannot be part of an environment');
  return { name, value };
}

/** What holds for bundle and ordinary secrets together. */
function assertTogether(entries: readonly PlacedEntry[], secrets: readonly OrdinarySecret[]): void {
  const places = new Map(entries.map(({ name, place }) => [name, place]));
  for (const [index, { name }] of secrets.entries()) {
    const place = places.get(name);
    if (place !== undefined)
      throw new Refusal(`--secret ${name}: the dotenv file sets this name too (${place}).`, 2);
    if (secrets.findIndex((other) => other.name === name) !== index) {
      throw new Refusal(`--secret ${name} is given twice.`, 2);
    }
  }
  if (secrets.length > MAX_SECRETS) {
    throw new Refusal(
      `--secret is given ${secrets.length} times, and at most ${MAX_SECRETS} are allowed.`,
      2,
    );
  }
  const names = entries.length + secrets.length;
  if (names > MAX_NAMES) {
    throw new Refusal(
      `Bundle and secrets have ${names} names together, and at most ${MAX_NAMES} are allowed.`,
      2,
    );
  }
  const bytes = [...entries, ...secrets].reduce(
    (sum, { name, value }) => sum + Buffer.byteLength(name) + Buffer.byteLength(value),
    0,
  );
  if (bytes > MAX_ENVIRONMENT_BYTES) {
    throw new Refusal(
      `Bundle and secrets have ${bytes} bytes together, and at most ${MAX_ENVIRONMENT_BYTES} are allowed.`,
      2,
    );
  }
}
