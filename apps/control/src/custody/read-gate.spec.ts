import { ReadGate } from './read-gate.js';

const soon = (): number => performance.now() + 60_000;

/** A read that ends when the test says so. */
function hung(): { read: () => Promise<string>; end: (text: string) => void } {
  let end: (text: string) => void = () => undefined;
  const promise = new Promise<string>((resolve) => (end = resolve));
  return { read: () => promise, end };
}

const discarded: string[] = [];
const run = (gate: ReadGate, read: () => Promise<string>, deadlineAtMs = soon()): Promise<string> =>
  gate.run({
    read,
    deadlineAtMs,
    late: () => new Error('late'),
    discard: (text) => {
      discarded.push(text);
    },
  });

describe('the read gate', () => {
  it('lets no more than its limit run at once, and the next one as soon as there is room', async () => {
    const gate = new ReadGate(1);
    const first = hung();
    const order: string[] = [];
    const one = run(gate, first.read).then((text) => order.push(text));
    const two = run(gate, () => Promise.resolve('two')).then((text) => order.push(text));
    first.end('one');
    await Promise.all([one, two]);
    expect(order).toEqual(['one', 'two']);
  });

  it('ends a request at its deadline while its read hangs, and discards what the read brings', async () => {
    const gate = new ReadGate(1);
    const held = hung();
    await expect(run(gate, held.read, performance.now())).rejects.toThrow('late');
    held.end('too late');
    await expect(run(gate, () => Promise.resolve('x'))).resolves.toBe('x');
    expect(discarded).toEqual(['too late']);
  });

  it('fails a waiting request at its deadline while hung reads hold every place', async () => {
    const gate = new ReadGate(1);
    const held = hung();
    const running = run(gate, held.read);
    await expect(run(gate, () => Promise.resolve('x'), performance.now())).rejects.toThrow('late');
    held.end('done');
    await expect(running).resolves.toBe('done');
  });

  it('gives the place back when a read fails', async () => {
    const gate = new ReadGate(1);
    await expect(run(gate, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    await expect(run(gate, () => Promise.resolve('x'))).resolves.toBe('x');
  });
});
