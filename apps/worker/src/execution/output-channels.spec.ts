import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { closeWriters, discardChannels, OutputSockets, type OutputChannel } from './output-channels.js';

let directory: string;
let sockets: OutputSockets;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'outputs-'));
  sockets = new OutputSockets(join(directory, 'outputs'));
});

afterEach(async () => {
  await sockets.close();
  rmSync(directory, { recursive: true });
});

/** All that comes out when `text` is written to the channel. */
async function through({ writer, output }: OutputChannel, text: string): Promise<string> {
  writer.end(text);
  const chunks: Buffer[] = [];
  for await (const chunk of output) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

describe('the channels of tasks', () => {
  it('each bring what was written to them, however many are made at once', async () => {
    const all = await Promise.all(Array.from({ length: 16 }, () => sockets.open()));
    const texts = all.flatMap(({ stdout, stderr }, index) => [
      through(stdout, `output ${index}`),
      through(stderr, `error ${index}`),
    ]);
    expect(await Promise.all(texts)).toEqual(
      all.flatMap((_, index) => [`output ${index}`, `error ${index}`]),
    );
    all.forEach(closeWriters);
  });

  it('have no address once their ends have met', async () => {
    const channels = await sockets.open();
    expect(readdirSync(join(directory, 'outputs'))).toEqual([]);
    discardChannels(channels);
  });

  it('are made where a worker that was killed has left an address', async () => {
    discardChannels(await sockets.open());
    await sockets.close();
    writeFileSync(join(directory, 'outputs', 'left'), '');
    sockets = new OutputSockets(join(directory, 'outputs'));
    const { stdout, stderr } = await sockets.open();
    expect(await through(stdout, 'here')).toBe('here');
    expect(readdirSync(join(directory, 'outputs'))).toEqual([]);
    discardChannels({ stdout, stderr });
  });
});
