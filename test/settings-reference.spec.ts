import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const read = (path: string): string => readFileSync(join(__dirname, '..', path), 'utf8');
const reference = read('docs/reference/settings.md');

const taken = (path: string): string[] =>
  [...read(path).matchAll(/settings\.take\(\s*'(VALISE_\w+)'/g)].map(([, setting]) => String(setting)).sort();

const documented = (program: string): string[] => {
  const section = reference.split(/^## /m).find((text) => text.startsWith(`${program}\n`)) ?? '';
  return [...section.matchAll(/^\| `(VALISE_\w+)` \|/gm)].map(([, setting]) => String(setting)).sort();
};

describe('docs/reference/settings.md', () => {
  it('lists what control reads, and nothing else', () => {
    const config = taken('apps/control/src/config/control-config.ts');
    expect(documented('control')).toEqual(config.filter((setting) => !setting.includes('ADMIN')));
    expect(reference).toContain('`VALISE_ADMIN_DATABASE_URL_FILE`');
  });

  it('lists what the worker reads, and nothing else', () => {
    expect(documented('worker')).toEqual(taken('apps/worker/src/config/read-config.ts'));
  });

  it('lists what the command line reads, and nothing else', () => {
    expect(documented('The command line')).toEqual(taken('apps/cli/src/management/connection.ts'));
  });
});
