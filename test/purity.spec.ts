import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { transformFileSync } from '@swc/core';

const ROOT = join(__dirname, '..');
const folder = mkdtempSync(join(tmpdir(), 'purity-'));

/** Sources as CommonJS, so that a bare node can load them and nothing else is in the way. */
function compile(source: string, part: string, files: readonly string[]): void {
  const options = {
    jsc: { parser: { syntax: 'typescript' }, target: 'es2023' },
    module: { type: 'commonjs' },
    swcrc: false,
  } as const;
  for (const file of files) {
    const { code } = transformFileSync(join(ROOT, source, file), options);
    const bare = code.replaceAll('@valise/contracts/', '../');
    const compiled = join(folder, part, file.replace(/ts$/, 'js'));
    mkdirSync(dirname(compiled), { recursive: true });
    writeFileSync(compiled, bare);
  }
}

const sourcesOf = (directory: string): string[] =>
  readdirSync(join(ROOT, directory), { encoding: 'utf8', recursive: true }).filter(
    (file) => file.endsWith('.ts') && !file.endsWith('spec.ts'),
  );

function node(program: string, environment: Record<string, string> = {}): unknown {
  const path = join(folder, 'program.js');
  writeFileSync(path, program);
  return JSON.parse(execFileSync(process.execPath, [path], { env: environment, encoding: 'utf8' }));
}

beforeAll(() => {
  for (const part of ['documents', 'failure']) {
    compile(`libs/contracts/src/${part}`, part, sourcesOf(`libs/contracts/src/${part}`));
  }
  compile('libs/materializer/src', 'materializer', ['expand-environment.ts', 'environment-budget.ts']);
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
});

afterAll(() => {
  rmSync(folder, { recursive: true });
});

/** The packages and modules of Node that anything loaded by `entry` asks for; every file loaded for them is semver's. */
function loadedBy(entry: string): string[] {
  const loaded = node(`
    const Module = require('node:module');
    const load = Module._load;
    const requests = new Set();
    Module._load = function (request, parent) {
      if (parent.filename !== __filename && !request.startsWith('.')) requests.add(request);
      return load.apply(this, arguments);
    };
    require('${entry}');
    Module._load = load;
    const outside = Object.keys(require.cache).filter((file) => !file.startsWith(__dirname));
    console.log(JSON.stringify({ requests: [...requests].sort(), outside }));
  `) as { requests: string[]; outside: string[] };
  expect(loaded.outside.length).toBeGreaterThan(0);
  expect(loaded.outside.filter((file) => !file.includes('/node_modules/semver/'))).toEqual([]);
  return loaded.requests;
}

describe('the documents of the contracts', () => {
  it('load node:buffer, node:crypto, semver and themselves, and nothing that does I/O', () => {
    expect(loadedBy('./documents/index.js')).toEqual(['node:buffer', 'node:crypto', 'semver']);
  });

  it('order names and digest revisions alike under every locale, where localeCompare does not', () => {
    const names = ['CH_X', 'D_X', 'H_X', 'AA', 'Z', 'Y', 'I', 'T', 'a', 'A', 'b', '_A', 'A1'];
    const program = `
      const { compareFixed, createExecutionRevision } = require('./documents/index.js');
      const names = ${JSON.stringify(names)};
      const { contentDigest } = createExecutionRevision({
        projectId: 'p', taskId: 't', taskRevision: 'qltd:v1:1:${'a'.repeat(64)}', sourceRevision: 1,
        sourceContentDigest: '${'a'.repeat(64)}', executorType: 'remote_worker',
        planSchema: 'qinglong/command-execution@v1', command: { kind: 'argv', file: '/bin/true', args: [] },
        environment: names.map((name) => ({ name, kind: 'public', value: '' })), createdAtMs: 0,
      });
      console.log(JSON.stringify({
        fixed: names.toSorted(compareFixed).join(' '),
        digest: contentDigest,
        local: names.toSorted((a, b) => a.localeCompare(b)).join(' '),
      }));
    `;
    const locales = [
      'C',
      'en_US.UTF-8',
      'da_DK.UTF-8',
      'et_EE.UTF-8',
      'lt_LT.UTF-8',
      'cs_CZ.UTF-8',
      'tr_TR.UTF-8',
    ];
    const results = locales.map((locale) => node(program, { LC_ALL: locale })) as {
      fixed: string;
      digest: string;
      local: string;
    }[];
    expect(new Set(results.map(({ local }) => local)).size).toBeGreaterThan(1);
    expect(new Set(results.map(({ fixed }) => fixed))).toEqual(
      new Set(['_A a A A1 AA b CH_X D_X H_X I T Y Z']),
    );
    expect(new Set(results.map(({ digest }) => digest)).size).toBe(1);
  });
});

describe('the function of the materializer', () => {
  it('loads the documents of the contracts and nothing else', () => {
    expect(loadedBy('./materializer/expand-environment.js')).toEqual([
      'node:buffer',
      'node:crypto',
      'semver',
    ]);
  });
});
