import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
export const PROGRAMS = ['control', 'worker', 'cli'];
/** The digest of the sources that a program was built from. */
const STAMP = 'sources.sha256';

/** A sentence for the person at the terminal. */
export class Obstacle extends Error {}

/**
 * Afterwards every dependency of package-lock.json is installed and each of `programs` is built from the sources as
 * they are. Does nothing, quickly, when that is so already; two commands at once wait for each other.
 * @throws Obstacle when the machine does not let it.
 */
export async function prepare(programs) {
  if (isInstalled() && programs.every(isBuilt)) return;
  const release = await lock();
  try {
    if (!isInstalled()) await install();
    await build(programs.filter((program) => !isBuilt(program)));
  } finally {
    release();
  }
}

/** Builds `programs` whether or not they are up to date. @throws Obstacle */
export async function rebuild(programs) {
  const release = await lock();
  try {
    if (!isInstalled()) await install();
    await build(programs);
  } finally {
    release();
  }
}

/** Prints what stands in the way, and ends with exit code 1. */
export function giveUp(error) {
  console.error(error instanceof Obstacle ? error.message : error);
  process.exitCode = 1;
}

/** npm's own record of what it installed has every package of the lock file, in the same edition. */
function isInstalled() {
  const record = join(ROOT, 'node_modules', '.package-lock.json');
  if (!existsSync(record)) return false;
  const installed = JSON.parse(readFileSync(record, 'utf8')).packages;
  const locked = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')).packages;
  return Object.entries(locked).every(([path, { version, integrity, optional }]) => {
    if (path === '') return true;
    const found = installed[path];
    // Optional packages are left out where they are for another machine.
    if (!found) return optional === true;
    return found.version === version && found.integrity === integrity;
  });
}

async function install() {
  requireWritable('node_modules');
  console.error('Installing dependencies (once)…');
  const npm = process.env.npm_execpath ? [process.execPath, process.env.npm_execpath] : ['npm'];
  const options = ['--include=dev', '--include=optional', '--no-audit', '--no-fund', '--loglevel=error'];
  await run([...npm, 'ci', ...options], 'npm ci failed');
  if (!isInstalled())
    throw new Obstacle('npm ci ended, but node_modules lacks packages of package-lock.json.');
}

async function build(programs) {
  if (programs.length === 0) return;
  requireWritable('dist');
  console.error(`Building ${programs.join(', ')}…`);
  // All of them end before the next command may build.
  const outcomes = await Promise.allSettled(programs.map(buildProgram));
  for (const { status, reason } of outcomes) if (status === 'rejected') throw reason;
}

/** Builds beside what is there and changes places at the end: another command may be running it. */
async function buildProgram(program) {
  const place = join(ROOT, 'dist', program);
  // As deep as the place itself, for the source maps.
  const next = join(ROOT, 'dist', `.next-${program}`);
  const old = join(ROOT, 'dist', `.old-${program}`);
  const config = `${next}.json`;
  const digest = sourcesDigest(program);
  const extended = join(ROOT, 'apps', program, 'tsconfig.app.json');
  try {
    rmSync(old, { recursive: true, force: true });
    writeFileSync(config, JSON.stringify({ extends: extended, compilerOptions: { outDir: next } }));
    const nest = join(ROOT, 'node_modules', '@nestjs', 'cli', 'bin', 'nest.js');
    const options = ['--path', relative(ROOT, config)];
    await run([process.execPath, nest, 'build', program, ...options], `${program} does not build`);
    writeFileSync(join(next, STAMP), digest);
    if (existsSync(place)) renameSync(place, old);
    renameSync(next, place);
  } finally {
    for (const path of [config, next, old]) rmSync(path, { recursive: true, force: true });
  }
}

function isBuilt(program) {
  return existsSync(stampOf(program)) && readFileSync(stampOf(program), 'utf8') === sourcesDigest(program);
}

function stampOf(program) {
  return join(ROOT, 'dist', program, STAMP);
}

function sourcesDigest(program) {
  const hash = createHash('sha256');
  const files = [
    'package-lock.json',
    'tsconfig.json',
    'nest-cli.json',
    join('apps', program, 'tsconfig.app.json'),
  ];
  for (const directory of [join('apps', program, 'src'), 'libs']) {
    for (const entry of readdirSync(join(ROOT, directory), { recursive: true }).sort()) {
      if (entry.endsWith('.ts') && !entry.endsWith('spec.ts')) files.push(join(directory, entry));
    }
  }
  for (const file of files) {
    const content = readFileSync(join(ROOT, file));
    hash.update(`${file}\0${content.length}\0`).update(content);
  }
  return hash.digest('hex');
}

function requireWritable(directory) {
  try {
    mkdirSync(join(ROOT, directory), { recursive: true });
    accessSync(join(ROOT, directory), constants.W_OK);
  } catch (error) {
    throw new Obstacle(`${join(ROOT, directory)} cannot be written (${error.code}): run this as its owner.`);
  }
}

/** Runs a command quietly; what it wrote is shown only when it fails. */
function run([file, ...args], failure) {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
    const said = [];
    child.stdout.on('data', (chunk) => said.push(chunk));
    child.stderr.on('data', (chunk) => said.push(chunk));
    child.once('error', (error) =>
      reject(new Obstacle(`${failure}: ${file} cannot be run (${error.code}).`)),
    );
    child.once('close', (code) => {
      if (code === 0) resolve();
      else reject(new Obstacle(`${Buffer.concat(said).toString().trim()}\n${failure}.`));
    });
  });
}

/**
 * One preparation per clone at a time. The lock is a name in the kernel (an abstract socket), which it takes back from
 * a process that dies: a lock file would outlive one.
 */
function lock() {
  const name = `\0valise-prepare-${createHash('sha256').update(ROOT).digest('hex')}`;
  return new Promise((resolve, reject) => {
    let told = false;
    const attempt = () => {
      const server = createServer();
      server.once('listening', () => resolve(() => server.close()));
      server.once('error', (error) => {
        if (error.code !== 'EADDRINUSE') return reject(error);
        if (!told) console.error('Waiting for another command that is preparing this clone…');
        told = true;
        setTimeout(attempt, 200);
      });
      server.listen(name);
    };
    attempt();
  });
}
