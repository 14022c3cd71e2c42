import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import * as fc from 'fast-check';
import { writeHandover, type EnvironmentVariable } from './handover.js';
import { LAUNCH_SCRIPT } from './launch-shell.js';

const SHELLS = ['/bin/dash', '/bin/bash', '/bin/busybox'].filter((shell) => existsSync(shell));

const variable = (name: string, value: string | Uint8Array): EnvironmentVariable => ({
  name,
  value: Buffer.from(value as string),
});

async function textOf(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** What a process has for an environment when `shell` hands `handover` over to it, and the shell's marks. */
async function handOver(shell: string, handover: Buffer): Promise<{ environment: string[]; marks: string }> {
  const applet = shell.endsWith('busybox') ? ['sh'] : [];
  const argv = [...applet, '-c', LAUNCH_SCRIPT, 'sh', '/', '/bin/cat', '/proc/self/environ'];
  const child = spawn(shell, argv, {
    env: {},
    argv0: shell.endsWith('bash') ? 'sh' : shell,
    stdio: ['ignore', 'pipe', 'ignore', 'pipe', 'pipe'],
  });
  const [, stdout, , environment, marks] = child.stdio as unknown as [
    null,
    Readable,
    null,
    Writable,
    Readable,
  ];
  environment.on('error', () => undefined);
  environment.end(handover);
  const [output, text] = await Promise.all([textOf(stdout), textOf(marks)]);
  return { environment: output.toString('latin1').split('\0').slice(0, -1).sort(), marks: text.toString() };
}

const expected = (variables: readonly EnvironmentVariable[]): string[] =>
  variables.map(({ name, value }) => `${name}=${Buffer.from(value).toString('latin1')}`).sort();

/** Bash sets SHLVL on every exec; Valise takes dash where there is one, and refuses the name where there is none. */
const ours = (environment: readonly string[]): string[] => environment.filter((entry) => entry !== 'SHLVL=0');

describe.each(SHELLS)('an environment that %s hands over', (shell) => {
  it.each([
    ['dollars, a command and a backtick command', 'p$$a$(x)${HOME}`id`'],
    ['a bcrypt hash', '$2y$05$nhYO'],
    ['line ends of both kinds', 'a\nb\r\nc'],
    ['quotes of both kinds', `"q' ''' '`],
    ['spaces at both ends and a tab', '  a\tb  '],
    ['a newline at the end', 'secr3t\n'],
    ['a backslash at the end', 'a\\'],
    ['nothing', ''],
    ['text of several bytes a character', '€ 💼 ю'],
    ['a look-alike of the end mark', "x\nQL3_HANDOVER=complete\n'"],
    ['96 KiB', '\'"$\n'.repeat(24_576)],
  ])('has %s, byte for byte', async (_, value) => {
    const variables = [variable('A', value), variable('B', 'after')];
    const { environment, marks } = await handOver(shell, writeHandover(variables));
    expect(ours(environment)).toEqual(expected(variables));
    expect(marks).toBe('r');
  });

  it('has every byte but NUL', async () => {
    const variables = [
      variable(
        'A',
        Uint8Array.from({ length: 255 }, (_, index) => index + 1),
      ),
    ];
    expect(ours((await handOver(shell, writeHandover(variables))).environment)).toEqual(expected(variables));
  });

  it('has random bytes as they are', async () => {
    const value = fc.uint8Array({ maxLength: 60 }).map((bytes) => bytes.map((byte) => byte || 0x27));
    await fc.assert(
      fc.asyncProperty(fc.array(value, { minLength: 1, maxLength: 20 }), async (values) => {
        const variables = values.map((bytes, index) => variable(`V${index}`, bytes));
        expect(ours((await handOver(shell, writeHandover(variables))).environment)).toEqual(
          expected(variables),
        );
      }),
      { numRuns: 30 },
    );
  });

  it('has names that the script and the shell use themselves', async () => {
    const names = [
      'x',
      'IFS',
      'PWD',
      'OLDPWD',
      'PS1',
      'PS4',
      'TERM',
      'CDPATH',
      'OPTARG',
      'LC_ALL',
      'MAILPATH',
    ];
    const variables = names.map((name) => variable(name, ' a:b\\ '));
    expect(ours((await handOver(shell, writeHandover(variables))).environment)).toEqual(expected(variables));
  });

  it('does not start the command when it was cut short, at any place', async () => {
    const handover = writeHandover([variable('A', "it's"), variable('B', '2')]);
    for (let length = 0; length < handover.length - 1; length += 1) {
      const { environment, marks } = await handOver(shell, handover.subarray(0, length));
      expect([environment, marks]).toEqual([[], '']);
    }
  }, 30_000);
});
