import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { transformFileSync } from '@swc/core';

const SOURCE = join(__dirname, '..');
const folder = mkdtempSync(join(tmpdir(), 'documents-'));

/** The documents as CommonJS, so that a bare node can load them. */
function compile(noun: string): void {
  mkdirSync(join(folder, noun));
  for (const file of readdirSync(join(SOURCE, noun))) {
    if (file.endsWith('.spec.ts')) continue;
    const options = {
      jsc: { parser: { syntax: 'typescript' }, target: 'es2023' },
      module: { type: 'commonjs' },
    } as const;
    const { code } = transformFileSync(join(SOURCE, noun, file), { ...options, swcrc: false });
    writeFileSync(join(folder, noun, file.replace(/ts$/, 'js')), code);
  }
}

function node(program: string, environment: Record<string, string> = {}): unknown {
  const path = join(folder, 'program.js');
  writeFileSync(path, program);
  return JSON.parse(execFileSync(process.execPath, [path], { env: environment, encoding: 'utf8' }));
}

beforeAll(() => {
  compile('documents');
  compile('failure');
  symlinkSync(join(SOURCE, '../../../node_modules'), join(folder, 'node_modules'));
});

afterAll(() => {
  rmSync(folder, { recursive: true });
});

describe('the documents of the contracts', () => {
  it('load node:crypto, semver and themselves, and nothing that does I/O', () => {
    const loaded = node(`
      const Module = require('node:module');
      const load = Module._load;
      const requests = new Set();
      Module._load = function (request, parent) {
        if (parent.filename !== __filename && !request.startsWith('.')) requests.add(request);
        return load.apply(this, arguments);
      };
      require('./documents/index.js');
      Module._load = load;
      const outside = Object.keys(require.cache).filter((file) => !file.startsWith(__dirname));
      console.log(JSON.stringify({ requests: [...requests].sort(), outside }));
    `) as { requests: string[]; outside: string[] };
    expect(loaded.requests).toEqual(['node:crypto', 'semver']);
    expect(loaded.outside.length).toBeGreaterThan(0);
    expect(loaded.outside.filter((file) => !file.includes('/node_modules/semver/'))).toEqual([]);
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
