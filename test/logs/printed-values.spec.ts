import { textOfLog } from '@valise/contracts/documents';
import { REASON_CODES } from '@valise/contracts/failure';
import { plan, reference } from '../../apps/worker/spec/plan.js';
import { WorkerUnderTest } from '../../apps/worker/spec/worker-under-test.js';

const DEADLINE_MS = 60_000;
/** What shells, encoders and formats treat as special, and a letter outside ASCII. */
const VALUE = 'p@ss "w\\ord\'/?&=+<x>$(id)~#%é!*';
const LINES = 'first line of it\r\nsecond line of it\nab\nlast line of it';

let worker: WorkerUnderTest;

beforeAll(async () => {
  worker = await WorkerUnderTest.create({ leaseDurationMs: 30_000 });
  await worker.start();
});
afterAll(() => worker.remove());

interface Printed {
  readonly stdout: string;
  readonly stderr: string;
}

/** What the log shows of a task with these secrets. */
async function printedBy(script: string, secrets: Readonly<Record<string, string>>): Promise<Printed> {
  const environment = Object.entries(secrets).map(([name, value]) => {
    const secretRef = reference(name);
    worker.control.secrets.set(secretRef, Buffer.from(value));
    return { name, kind: 'secret' as const, secretRef };
  });
  const command = { kind: 'shell', command: script, shell: '/bin/bash' } as const;
  worker.control.queue.push(plan('', { command, environment }));
  const before = worker.control.asked('completion').length;
  const late = AbortSignal.timeout(DEADLINE_MS);
  const tooLate = new Promise<never>((_resolve, reject) => {
    late.addEventListener('abort', () => {
      reject(new Error(`the task did not end\n${worker.log.join('')}`));
    });
  });
  await Promise.race([worker.control.heard('completion', before + 1), tooLate]);
  const question = worker.control.asked('artifacts')[before];
  const of = (stream: 'stdout' | 'stderr'): string =>
    textOfLog(question?.content ?? Buffer.of(), [stream]).toString();
  return { stdout: of('stdout'), stderr: of('stderr') };
}

const node = (expression: string): string =>
  `"${process.execPath}" -e 'const T = process.env.T; process.stdout.write(${expression})'`;

describe('a value that a task prints', () => {
  it('is masked in one piece, in two, twice, and line by line with either line end', async () => {
    const script = `
      echo "a $T b"; echo "$T$T"; printf %s "\${T:0:9}"; printf '%s\\n' "\${T:9}"
      echo "$L"; printf '%s\\n' 'first line of it' x; printf 'second line of it\\r\\nlast line of it\\r\\n'`;
    const { stdout } = await printedBy(script, { T: VALUE, L: LINES });
    expect(stdout).toBe('a *** b\n***\n***\n***\n***\nx\n***\r\n***\r\n');
  });

  it.each([
    ['base64', 'printf %s "$T" | base64 -w 0'],
    ['base64 in lines', 'printf %s "$T$T$T" | base64'],
    ['hexadecimal', `printf %s "$T" | od -An -v -tx1 | tr -d ' '`],
    ['quotes of the shell', `printf %q "$T"`],
    ['quotes of an assignment', `declare -p T | sed 's/^declare -x T=//'`],
    ['quotes of an expansion', 'printf %s "${T@Q}"'],
    ['JSON', node('JSON.stringify(T)')],
    ['a URL', node('encodeURIComponent(T)')],
    ['a form', node('new URLSearchParams({ T }).toString().slice(2)')],
    ['a URL of another library', node('require("querystring").escape(T)')],
  ])('is masked in %s, as programs write it', async (_form, command) => {
    const { stdout } = await printedBy(command, { T: VALUE });
    expect(stdout.trim().replaceAll(/^["']|["']$/g, '')).toBe('***');
  });

  it.each(['', 'u', 'us', 'user:'])('is masked in base64 behind %j', async (before) => {
    const { stdout } = await printedBy(`printf %s "${before}$T;after it" | base64 -w 0`, { T: VALUE });
    const [start = '', end = '', ...more] = stdout.split('***');
    expect(more).toEqual([]);
    const text = Buffer.from(`${before}${VALUE};after it`).toString('base64');
    expect([text.startsWith(start), text.endsWith(end)]).toEqual([true, true]);
    // Not one bit of it: what is left decodes to what stood around it.
    expect(Buffer.from(start, 'base64').length).toBeLessThanOrEqual(before.length);
    expect(Buffer.from(end, 'base64').length).toBeLessThanOrEqual(';after it'.length);
  });

  it.each(['sh', 'bash'])('is masked where %s says what it executes', async (shell) => {
    const { stderr } = await printedBy(`exec ${shell} -xc ': "$T" "x$T"; T2=$T; true'`, { T: VALUE });
    expect(stderr).toContain('***');
    for (const piece of ['p@ss', 'ord', '(id)']) expect(stderr).not.toContain(piece);
  });

  it('that is too short is not masked, and counted; the log is as long as the output', async () => {
    const { stdout } = await printedBy('echo "a { b $E$A$B"; printf "a%.0s" {1..1000}', {
      E: '',
      A: 'a',
      B: '{',
    });
    expect(stdout).toBe(`a { b a{\n${'a'.repeat(1000)}`);
    const events = worker.log.map((line) => JSON.parse(line) as { event: string; unmaskable?: number });
    expect(events.findLast(({ event }) => event === 'artifact_allocated')?.unmaskable).toBe(2);
  });

  it('shows no part and no length of it, whatever it is', async () => {
    const { stdout } = await printedBy('echo "key=$S; $M;"', { S: 'abc12345', M: 'abc'.repeat(500) });
    expect(stdout).toBe('key=***; ***;\n');
  });
});

describe('why a task failed', () => {
  it('is told in a word of the closed list, whatever the task wrote to its standard error', async () => {
    const script = `for n in {1..2000}; do echo "a reason of its own: $T" >&2; done; kill -SEGV $$`;
    const { stderr } = await printedBy(script, { T: VALUE });
    expect(stderr).toBe('a reason of its own: ***\n'.repeat(2000));
    const told = worker.control.questions.map(({ body }) => body);
    const said = `${JSON.stringify(told)}${worker.log.join('')}`;
    for (const text of [VALUE, JSON.stringify(VALUE).slice(1, -1), 'a reason of its own']) {
      expect(said).not.toContain(text);
    }
    const completion = worker.control.asked('completion').at(-1);
    expect(REASON_CODES).toContain(completion?.body.reasonCode);
    expect(JSON.stringify(completion?.body).length).toBeLessThan(2048);
  });
});
