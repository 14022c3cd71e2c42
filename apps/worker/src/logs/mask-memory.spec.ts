import { MaskPatterns } from './mask-patterns.js';
import { Masker } from './masker.js';

const mockMade: Buffer[] = [];
jest.mock('../ingress/off-heap.js', () => ({
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
    (text) => {
      mockMade.length = 0;
      const patterns = new MaskPatterns([Buffer.from(text)]);
      const { asItIs, unbroken } = patterns.searches;
      expect(mockMade.length).toBeGreaterThan(5);
      expect(mockMade.filter((buffer) => !isWiped(buffer))).toEqual([]);
      const masker = new Masker<null>(patterns);
      masker.push(Buffer.from(`before ${text.slice(0, -1)}`), null);
      masker.end();
      patterns.forget();
      expect(mockMade.filter((buffer) => !isWiped(buffer))).toEqual([]);
      expect([...asItIs, ...unbroken].map((automaton) => automaton.scan(0, Buffer.from(text), fail))).toEqual(
        [0, 0, 0],
      );
    },
  );
});

function fail(): never {
  throw new Error('nothing matches any more');
}
