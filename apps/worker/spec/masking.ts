import { MaskPatterns, type Searches } from '../src/logs/mask-patterns.js';
import { Masker, type Piece } from '../src/logs/masker.js';

export const patternsOf = (...values: (string | Uint8Array)[]): MaskPatterns =>
  new MaskPatterns(values.map((value) => Buffer.from(value as string)));
export const searchesFor = (...values: (string | Uint8Array)[]): Promise<Searches> =>
  patternsOf(...values).prepare();

export const textOf = (pieces: readonly Piece<unknown>[]): string =>
  Buffer.concat(pieces.map(({ bytes }) => bytes)).toString('latin1');

/** What is shown of output that comes in these chunks. */
export function masked(searches: Searches, ...chunks: (string | Uint8Array)[]): string {
  const masker = new Masker<null>(searches);
  const shown = chunks.flatMap((chunk) => masker.push(Buffer.from(chunk as string), null));
  return textOf([...shown, ...masker.end()]);
}

/** The text in pieces that end at these places. */
export function split(text: Buffer, cuts: readonly number[]): Buffer[] {
  const at = [0, ...cuts.map((cut) => Math.min(cut, text.length)).sort((a, b) => a - b), text.length];
  return at.slice(1).map((end, index) => text.subarray(at[index], end));
}

/** Masked in one piece, in two at every place, and byte by byte: always the same. */
export async function maskedHoweverSplit(value: string | Uint8Array, text: string | Buffer): Promise<string> {
  const searches = await searchesFor(value);
  const bytes = Buffer.from(text as string);
  const whole = masked(searches, bytes);
  for (let cut = 0; cut <= bytes.length; cut += 1) {
    const inTwo = masked(searches, ...split(bytes, [cut]));
    if (inTwo !== whole) throw new Error(`split at ${cut}: ${inTwo}`);
  }
  expect(masked(searches, ...split(bytes, [...bytes.keys()]))).toBe(whole);
  return whole;
}
