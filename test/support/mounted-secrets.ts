import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectionFileName } from '@valise/contracts/documents';
import { BUNDLE, SECRET } from './published-task.js';

/** The files in which control looks for secrets. */
export class MountedSecrets {
  constructor(readonly directory: string) {
    mkdirSync(directory, { mode: 0o700 });
  }

  lay(reference: string, content: string | Buffer): void {
    const path = this.pathOf(reference);
    rmSync(path, { force: true });
    writeFileSync(path, content, { mode: 0o400 });
  }

  /** The one secret and the bundle that `publication()` asks for. */
  layDefaults(): void {
    this.lay(SECRET, 'a secret token');
    this.lay(
      BUNDLE,
      '{"schema":"qinglong/environment-bundle@v1","entries":[{"name":"FROM_BUNDLE","value":"a bundle value"}]}',
    );
  }

  pathOf(reference: string): string {
    return join(this.directory, projectionFileName(reference));
  }
}
