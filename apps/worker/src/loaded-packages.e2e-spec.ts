import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { programFile } from '../../../test/support/built-program.js';

const KEPT_OUT = /^(@nestjs\/(platform-express|swagger|typeorm)|typeorm|pg|express|swagger-ui-dist)$/;

/** The packages that are loaded once `file` is, in a process of its own. */
function packagesOf(file: string): string[] {
  const script = `
    require(process.argv[1]);
    const names = Object.keys(require.cache).map((path) => path.split('/node_modules/').at(-1).split('/'));
    const packages = names.filter(([first]) => first !== '').map(([first, second]) =>
      first.startsWith('@') ? first + '/' + second : first);
    console.log(JSON.stringify([...new Set(packages)]));`;
  const printed = execFileSync(process.execPath, ['-e', script, file], { env: {}, encoding: 'utf8' });
  return JSON.parse(printed) as string[];
}

describe('what the built worker loads', () => {
  it('has no database driver, no ORM, no Express and no Swagger', () => {
    const packages = packagesOf(join(programFile('worker'), '../worker.module.js'));
    // The search is able to find something.
    expect(packages).toEqual(expect.arrayContaining(['@nestjs/common', 'pino', 'class-validator']));
    expect(packages.filter((name) => KEPT_OUT.test(name))).toEqual([]);
  });

  it('is told from what control loads by the same search', () => {
    const packages = packagesOf(join(programFile('control'), '../ingress.module.js'));
    expect(packages.filter((name) => KEPT_OUT.test(name))).toContain('typeorm');
  });
});
