import { join } from 'node:path';

const ROOT = join(__dirname, '../..');

/** The built program `name`. */
export const programFile = (name: 'control' | 'worker' | 'cli'): string =>
  join(ROOT, 'dist', name, 'apps', name, 'src', 'main.js');
