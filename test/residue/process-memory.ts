import { readFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Search } from '../../apps/cli/src/demo/search.js';

const PIECE_BYTES = 4 * 1024 * 1024;
/** More than any pattern is long: nothing is missed where two pieces meet. */
const OVERLAP_BYTES = 4096;
/**
 * Feeds all memory of a process that it can have written to `search`: heaps, stacks, and written copies of its files.
 * Needs root or the process's own user. What the process frees meanwhile is passed over.
 */
export async function searchMemory(pid: number, search: Search): Promise<void> {
  const memory = await open(`/proc/${pid}/mem`, 'r');
  try {
    const buffer = Buffer.alloc(PIECE_BYTES + OVERLAP_BYTES);
    for (const { from, to, name } of regionsOf(pid)) {
      for (let at = from; at < to; at += PIECE_BYTES) {
        const wanted = Math.min(buffer.length, to - at);
        const bytesRead = await memory.read(buffer, 0, wanted, at).then(
          (read) => read.bytesRead,
          () => 0,
        );
        search.bytes(buffer.subarray(0, bytesRead), `${name} at ${at.toString(16)}`);
      }
    }
    buffer.fill(0);
  } finally {
    await memory.close();
  }
}

interface Region {
  readonly from: number;
  readonly to: number;
  readonly name: string;
}

function regionsOf(pid: number): Region[] {
  const lines = readFileSync(`/proc/${pid}/maps`, 'latin1').trim().split('\n');
  return lines.flatMap((line): Region[] => {
    const [range = '', rights = '', , , inode, ...name] = line.split(/\s+/);
    const [from = 0, to = 0] = range.split('-').map((address) => Number.parseInt(address, 16));
    const written = rights.startsWith('rw') || (rights.startsWith('r') && inode === '0');
    // Addresses past 2^53 are the kernel's own.
    return written && Number.isSafeInteger(to)
      ? [{ from, to, name: name.join(' ') || 'anonymous memory' }]
      : [];
  });
}
