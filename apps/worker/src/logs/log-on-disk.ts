import { createReadStream } from 'node:fs';
import { access, open, readFile } from 'node:fs/promises';
import { headOf, laterPartsOf, markOf, missingRecord } from './log-parts.js';

const LF = 0x0a;
const BLOCK_BYTES = 64 * 1024;

/** A log as it lies on the disk. */
export interface LogOnDisk {
  /** False when its end was not written, or something is missing. */
  readonly isWhole: boolean;
  read(): AsyncGenerator<Buffer>;
}

/** The log at `path`, whole records alone; null when there is none. Nothing is written for it. */
export async function openLog(path: string): Promise<LogOnDisk | null> {
  const isWhole = await exists(path);
  const head = isWhole ? path : headOf(path);
  if (!(await exists(head))) return null;
  const files = [head, ...(await laterPartsOf(path))];
  const lengths = await Promise.all(files.map((file) => lengthOf(file)));
  const mark = isWhole ? null : await readFile(markOf(path)).catch(() => missingRecord(null));
  return {
    isWhole,
    async *read() {
      for (const [at, file] of files.entries()) {
        const end = (lengths[at] ?? 0) - 1;
        if (end >= 0) yield* createReadStream(file, { end }) as AsyncIterable<Buffer>;
        if (at === 0 && mark) yield mark;
      }
    },
  };
}

/** Up to the end of the file's last record: a crash may have left half of one behind it. */
async function lengthOf(file: string): Promise<number> {
  const handle = await open(file, 'r');
  try {
    const { size } = await handle.stat();
    const block = Buffer.alloc(BLOCK_BYTES);
    for (let end = size; end > 0;) {
      const start = Math.max(0, end - BLOCK_BYTES);
      const { bytesRead } = await handle.read(block, 0, end - start, start);
      const last = block.lastIndexOf(LF, bytesRead - 1);
      if (last >= 0) return start + last + 1;
      end = start;
    }
    return 0;
  } finally {
    await handle.close();
  }
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
