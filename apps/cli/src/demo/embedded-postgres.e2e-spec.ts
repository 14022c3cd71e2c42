import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { until } from '../../../../test/support/until.js';

const PROGRAM = resolve(__dirname, '../../../../dist/cli/apps/cli/src/demo/embedded-postgres.js');

describe('the embedded PostgreSQL of a process that is killed with SIGKILL', () => {
  it('ends too', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'valise-pg-spec-'));
    chmodSync(directory, 0o711);
    const holder = spawn(process.execPath, [
      '-e',
      `require(${JSON.stringify(PROGRAM)})
        .startEmbeddedPostgres({ directory: ${JSON.stringify(join(directory, 'pg'))}, durable: false })
        .then((server) => console.log(server.pid))`,
    ]);
    const [line] = (await once(holder.stdout, 'data')) as [Buffer];
    const pid = Number(line.toString());
    expect(existsSync(`/proc/${pid}`)).toBe(true);

    holder.kill('SIGKILL');
    await until('the end of the server', () => !existsSync(`/proc/${pid}`));
    rmSync(directory, { recursive: true });
  });
});
