import { rmSync, writeFileSync } from 'node:fs';

/** Writes a new file that only its owner can read. */
export function writePrivateFile(path: string, content: string): { readonly path: string; remove(): void } {
  writeFileSync(path, content, { mode: 0o600, flag: 'wx' });
  return {
    path,
    remove: () => {
      rmSync(path, { force: true });
    },
  };
}
