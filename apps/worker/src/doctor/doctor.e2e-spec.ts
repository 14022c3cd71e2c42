import { spawnSync } from 'node:child_process';
import { programFile } from '../../../../test/support/built-program.js';

function worker(...args: string[]): { status: number | null; stdout: string } {
  return spawnSync(process.execPath, [programFile('worker'), ...args], {
    encoding: 'utf8',
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
  });
}

describe('the built worker', () => {
  it('examines itself when asked, and says by its exit code that it would not start', () => {
    const { status, stdout } = worker('doctor', '--offline');
    expect(stdout).toMatch(/^problem +settings: VALISE_CONTROL_URL is required$/m);
    expect(status).toBe(1);
  });

  it('knows no other command', () => {
    const { status, stdout } = worker('surgeon');
    expect(stdout).toContain('the only command is doctor');
    expect(status).toBe(1);
  });
});
