import { MaskAutomaton } from './mask-automaton.js';
import { MaskPatterns } from './mask-patterns.js';
import { MaskTrie } from './mask-trie.js';
import { Masker } from './masker.js';

const mockMade: Buffer[] = [];
jest.mock('@valise/process', () => ({
  offHeap: (byteLength: number): Buffer => {
    const made = Buffer.from(new ArrayBuffer(byteLength));
    mockMade.push(made);
    return made;
  },
}));

const isWiped = (buffer: Buffer): boolean => buffer.every((byte) => byte === 0);

describe('what a masker makes of values', () => {
  it.each(['plain-value-of-letters', `a "value" with 'every' $kind/of&<letter> é\u{1f511}\nand a line`])(
    'is wiped but for the automata once these are made, and they once it forgets: %j',
    async (text) => {
      mockMade.length = 0;
      const patterns = new MaskPatterns([Buffer.from(text)]);
      const searches = await patterns.prepare();
      expect(mockMade.length).toBeGreaterThan(4);
      expect(mockMade.filter((buffer) => !isWiped(buffer))).toEqual([]);
      const masker = new Masker<null>(searches);
      masker.push(Buffer.from(`before ${text.slice(0, -1)}`), null);
      masker.end();
      patterns.forget();
      expect(mockMade.filter((buffer) => !isWiped(buffer))).toEqual([]);
      const { asItIs, unbroken } = searches;
      expect([...asItIs, ...unbroken].map((automaton) => automaton.scan(0, Buffer.from(text), fail))).toEqual(
        [0, 0, 0],
      );
    },
  );

  it('is wiped wherever its making is broken off, the automata too, and nothing is told then', async () => {
    const text = `a "value" with 'every' $kind/of&<letter> é\u{1f511}\nand a line`;
    const forgotten = jest.spyOn(MaskTrie.prototype, 'forget');
    const begun = jest.spyOn(MaskTrie.prototype, 'byDepth');
    let interruptions = 0;
    for (let isMade = false; !isMade; interruptions += 1) {
      mockMade.length = 0;
      forgotten.mockClear();
      begun.mockClear();
      const patterns = new MaskPatterns([Buffer.from(text)]);
      const time = jest.spyOn(process.hrtime, 'bigint');
      let steps = 0;
      // Every look at the clock finds a slice over: one step is one turn.
      time.mockImplementation(() => BigInt(steps++) * 1_000_000_000n);
      const prepared = patterns.prepare().then(
        () => 'made',
        () => 'forgotten',
      );
      for (let turn = 0; turn < interruptions; turn += 1) await new Promise(setImmediate);
      patterns.forget();
      time.mockRestore();
      isMade = (await prepared) === 'made';
      expect(mockMade.filter((buffer) => !isWiped(buffer))).toEqual([]);
      expect(forgotten.mock.calls.length).toBeGreaterThanOrEqual(begun.mock.calls.length);
      await expect(patterns.prepare()).rejects.toThrow('forgotten');
    }
    expect(interruptions).toBeGreaterThan(20);
    expect(forgotten.mock.calls.length).toBe(3);
  });

  it('is wiped from an automaton that is not made to the end', () => {
    const forgotten = jest.spyOn(MaskTrie.prototype, 'forget').mockClear();
    const making = MaskAutomaton.make(
      [{ bytes: Buffer.from('a pattern') }],
      Uint8Array.from({ length: 256 }, (_none, byte) => byte),
    );
    const stepsToTheEnd = (): number => {
      let steps = 0;
      while (making.next().done !== true) steps += 1;
      return steps;
    };
    making.next();
    making.next();
    making.return(undefined as never);
    expect(stepsToTheEnd()).toBe(0);
    expect(forgotten).toHaveBeenCalledTimes(1);
  });
});

function fail(): never {
  throw new Error('nothing matches any more');
}
