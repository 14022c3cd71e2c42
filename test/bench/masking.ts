import { randomBytes } from 'node:crypto';
import { MaskPatterns } from '../../apps/worker/src/logs/mask-patterns.js';
import { Masker } from '../../apps/worker/src/logs/masker.js';
import { figureOf, type Figure } from './figures.js';

/** How fast a log is masked, beside a copy of the same chunks. */
export interface Masking {
  readonly values: number;
  /** Megabytes of output for each second of CPU. */
  readonly maskedMbPerSecond: Figure;
  readonly copiedMbPerSecond: Figure;
}

const VALUES = 256;
const CHUNK_BYTES = 64 * 1024;
const LOG_BYTES = 16 * 1024 * 1024;
const WORDS =
  'INFO WARN request handled in ms user path=/api/v1/items id= the quick brown fox 2026-01-31'.split(' ');

/** Ordinary lines of a log, with an identifier each and no value in them. */
function logText(): Buffer {
  const lines: string[] = [];
  for (let length = 0; length < LOG_BYTES; length += lines.at(-1)?.length ?? 0) {
    const [first = 0, ...rest] = randomBytes(16);
    const words = rest.map((byte) => WORDS[(byte + first) % WORDS.length]);
    lines.push(`${words.join(' ')} ${randomBytes(8).toString('hex')}\n`);
  }
  return Buffer.from(lines.join(''));
}

function mbPerCpuSecond(text: Buffer, take: (chunk: Buffer) => void): number {
  const before = process.cpuUsage();
  for (let at = 0; at < text.length; at += CHUNK_BYTES) take(text.subarray(at, at + CHUNK_BYTES));
  const { user, system } = process.cpuUsage(before);
  return text.length / (user + system);
}

export async function measureMasking(rounds: number): Promise<Masking> {
  const text = logText();
  const values = Array.from({ length: VALUES }, () => Buffer.from(randomBytes(48).toString('base64')));
  const searches = await new MaskPatterns(values).prepare();
  const masked: number[] = [];
  const copied: number[] = [];
  // The first round is for the compiler.
  for (let round = 0; round <= rounds; round += 1) {
    const masker = new Masker<null>(searches);
    masked[round] = mbPerCpuSecond(text, (chunk) => void masker.push(chunk, null));
    copied[round] = mbPerCpuSecond(text, (chunk) => void Buffer.concat([chunk]));
  }
  return {
    values: VALUES,
    maskedMbPerSecond: figureOf(masked.slice(1)),
    copiedMbPerSecond: figureOf(copied.slice(1)),
  };
}
