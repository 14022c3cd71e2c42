import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { asked, docker } from './engine.js';

const ROOT = join(__dirname, '../..');
const PROGRAMS = [
  ...['dash', 'cat', 'true', 'id', 'ls', 'mkdir', 'sleep', 'head', 'tail', 'grep', 'touch'],
  ...['setpriv', 'prlimit', 'flock', 'setsid', 'env'],
];
const PATH = '/usr/bin';
/** Where the built worker and its dependencies lie in the container. */
const MOUNTS = ['dist/worker', 'node_modules'].flatMap((part) => [
  '--volume',
  `${join(ROOT, part)}:/opt/valise/${part}:ro`,
]);

/** The worker as a container has it. */
export const WORKER = ['node', '/opt/valise/dist/worker/apps/worker/src/main.js'];

/**
 * An image of this machine's own Node, dash, coreutils and util-linux, for no registry may be in reach; the worker is
 * mounted into it.
 */
export class WorkerImage {
  readonly #name = `valise-worker-test-${process.pid}`;

  static build(): WorkerImage {
    const image = new WorkerImage();
    const root = mkdtempSync(join(tmpdir(), 'valise-image-'));
    try {
      lay(root);
      const layers = execFileSync('tar', ['-C', root, '-cf', '-', '.'], { maxBuffer: 2 ** 30 });
      const { status, stderr } = asked(['import', '-', image.#name], layers);
      if (status !== 0) throw new Error(`docker import\n${stderr}`);
      return image;
    } finally {
      rmSync(root, { recursive: true });
    }
  }

  /** What stands at the end of `docker run` before a command. */
  get arguments(): readonly string[] {
    return [...MOUNTS, '--env', `PATH=${PATH}`, this.#name];
  }

  remove(): void {
    docker('rmi', this.#name);
  }
}

function lay(root: string): void {
  for (const directory of [
    'etc',
    'tmp',
    'proc',
    'sys',
    'dev',
    'run',
    'usr/bin',
    'usr/lib',
    'usr/lib64',
    'var/lib/valise',
  ])
    mkdirSync(join(root, directory), { recursive: true });
  for (const part of ['bin', 'lib', 'lib64']) symlinkSync(`usr/${part}`, join(root, part));
  const files = new Map(PROGRAMS.map((program) => [program, found(program)]));
  files.set('node', realpathSync(process.execPath));
  for (const [name, file] of files) copyFileSync(file, join(root, 'usr/bin', name));
  symlinkSync('dash', join(root, 'usr/bin/sh'));
  for (const library of librariesOf([...files.values()])) {
    const place = join(root, library.replace(/^\/usr/, ''));
    mkdirSync(dirname(place), { recursive: true });
    copyFileSync(library, place);
  }
  writeFileSync(join(root, 'etc/passwd'), 'root:x:0:0::/root:/bin/sh\n');
  writeFileSync(join(root, 'etc/group'), 'root:x:0:\n');
}

function found(program: string): string {
  const place = ['/usr/bin', '/bin', '/usr/sbin', '/sbin'].find((folder) =>
    existsSync(join(folder, program)),
  );
  if (place === undefined) throw new Error(`${program} is not installed`);
  return realpathSync(join(place, program));
}

function librariesOf(files: readonly string[]): Set<string> {
  const text = execFileSync('ldd', files, { encoding: 'utf8' });
  return new Set(Array.from(text.matchAll(/(\/\S+) \(0x/g), ([, library = '']) => library));
}
