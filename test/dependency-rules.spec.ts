import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const ROOT = join(__dirname, '..');
const CONFIG = '.dependency-cruiser.mjs';

/** A source file, the import that it must not have, and the rule that must say so. */
const FORBIDDEN = [
  ['libs/contracts/src/wire/a.ts', '@valise/authority', 'contracts-alone'],
  ['libs/authority/src/leases/a.ts', '@valise/materializer', 'authority-down'],
  ['libs/materializer/src/a.ts', '@valise/authority', 'materializer-down'],
  ['libs/process/src/a.ts', '@valise/contracts/wire', 'process-alone'],
  ['apps/worker/src/a.ts', '../../control/src/main.js', 'no-app-to-app'],
  ['apps/worker/src/b.ts', '@valise/authority', 'worker-knows-the-wire'],
  ['apps/cli/src/a.ts', '@valise/authority', 'cli-knows-contracts'],
  ['apps/worker/src/c.ts', 'pg', 'worker-small'],
  ['libs/contracts/src/wire/b.ts', '@nestjs/swagger', 'worker-small'],
  ['apps/control/src/a.ts', '../../../libs/contracts/src/wire/fields.js', 'front-door'],
  ['test/a.e2e-spec.ts', '../libs/authority/src/leases/lease.js', 'front-door'],
  ['libs/authority/src/b.ts', '../../contracts/src/wire/fields.js', 'front-door-of-a-neighbour'],
  ['libs/contracts/src/documents/a.ts', 'node:fs', 'documents-do-no-io'],
  ['libs/contracts/src/documents/b.ts', 'class-validator', 'documents-pure'],
  ['libs/materializer/src/b.ts', 'fast-check', 'no-dev-in-product'],
  ['libs/authority/src/c.ts', './nowhere.js', 'no-unresolved'],
  ['libs/authority/src/d.ts', './d.js', 'no-circular'],
] as const;

const ALLOWED = [
  ['apps/control/src/b.ts', '@valise/contracts/wire'],
  ['libs/authority/src/e.ts', '@valise/contracts/documents'],
  ['libs/authority/src/leases/f.ts', '../index.js'],
  ['libs/contracts/src/documents/c.ts', 'node:crypto'],
  ['libs/contracts/src/documents/a.spec.ts', 'fast-check'],
  ['apps/worker/src/d.ts', '@valise/process'],
] as const;

const PRESENT = [
  'apps/control/src/main.ts',
  'libs/authority/src/index.ts',
  'libs/authority/src/leases/lease.ts',
  'libs/materializer/src/index.ts',
  'libs/process/src/index.ts',
  'libs/contracts/src/documents/index.ts',
  'libs/contracts/src/failure/index.ts',
  'libs/contracts/src/wire/fields.ts',
  'libs/contracts/src/wire/index.ts',
];

describe('the dependency rules', () => {
  const folder = mkdtempSync(join(tmpdir(), 'rules-'));
  const write = (file: string, text: string): void => {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  };
  let seen: string[];

  beforeAll(() => {
    for (const file of [CONFIG, 'tsconfig.json', 'package.json'])
      cpSync(join(ROOT, file), join(folder, file));
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    for (const file of PRESENT) write(file, 'export const here = 1;\n');
    for (const [file, target] of [...FORBIDDEN, ...ALLOWED]) write(file, `import '${target}';\n`);
    const depcruise = join(ROOT, 'node_modules/.bin/depcruise');
    const options = ['--config', CONFIG, '--output-type', 'json', 'apps', 'libs', 'test'];
    const { stdout } = spawnSync(depcruise, options, { cwd: folder, encoding: 'utf8' });
    const { summary } = JSON.parse(stdout) as {
      summary: { violations: { from: string; rule: { name: string } }[] };
    };
    seen = summary.violations.map(({ from, rule }) => `${from}: ${rule.name}`);
  });

  afterAll(() => {
    rmSync(folder, { recursive: true });
  });

  it.each(FORBIDDEN)('forbid %s to import %s: %s', (file, _, rule) => {
    expect(seen).toContain(`${file}: ${rule}`);
  });

  it.each(ALLOWED)('let %s import %s', (file) => {
    expect(seen.filter((violation) => violation.startsWith(`${file}:`))).toEqual([]);
  });
});
