import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawnSync } from 'node:child_process';
import { ValiseError } from '@valise/contracts/failure';
import { LiveFiles } from './live-files.js';

const SETTING = 'VALISE_A_FILE';

let directory: string;
let path: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'valise-live-'));
  path = join(directory, 'a');
  writeFileSync(path, 'first');
});

afterEach(() => {
  rmSync(directory, { recursive: true });
});

const open = (whileRead: (text: string) => void = () => undefined): LiveFiles<string> =>
  LiveFiles.open(new Map([[SETTING, path]]), (contentOf) => {
    const text = contentOf(SETTING).toString();
    whileRead(text);
    return text;
  });

async function refusalOf(files: LiveFiles<string>, always = false): Promise<unknown> {
  try {
    await files.refresh({ always });
    return null;
  } catch (error) {
    return error instanceof ValiseError ? error.facts : error;
  }
}

describe('live files', () => {
  it('are read again when they are others, and otherwise only when told to', async () => {
    const files = open();
    expect(await files.refresh({ always: false })).toBe(false);
    writeFileSync(path, 'other');
    expect([await files.refresh({ always: false }), files.current]).toEqual([true, 'other']);
    expect([await files.refresh({ always: false }), await files.refresh({ always: true })]).toEqual([
      false,
      true,
    ]);
  });

  it('are not taken when they change while they are read, and are the next time', async () => {
    let isFirst = true;
    const files = open((text) => {
      if (text !== 'other' || !isFirst) return;
      isFirst = false;
      writeFileSync(path, 'third');
    });
    writeFileSync(path, 'other');
    expect(await refusalOf(files)).toEqual({ setting: SETTING, rule: 'must stay as it is while it is read' });
    expect(files.current).toBe('first');
    expect([await files.refresh({ always: false }), files.current]).toEqual([true, 'third']);
  });

  it('are tried again and again while they are refused', async () => {
    const files = open((text) => {
      if (text === 'bad') throw new ValiseError('configuration_invalid', { setting: SETTING, rule: 'bad' });
    });
    writeFileSync(path, 'bad');
    for (let count = 0; count < 2; count += 1) {
      expect(await refusalOf(files)).toEqual({ setting: SETTING, rule: 'bad' });
      expect(files.current).toBe('first');
    }
  });

  it.each(['a missing one', 'a pipe that nobody writes into', 'an endless one'])(
    'name %s as what cannot be read, and nothing waits for it',
    async (kind) => {
      const files = open();
      rmSync(path);
      if (kind.startsWith('a pipe')) spawnSync('mkfifo', [path]);
      if (kind.startsWith('an endless')) path = '/dev/zero';
      const refusal = kind.startsWith('an endless') ? refusalAtStart() : await refusalOf(files);
      expect(refusal).toMatchObject({ setting: SETTING });
    },
  );
});

function refusalAtStart(): unknown {
  try {
    open();
    return null;
  } catch (error) {
    return error instanceof ValiseError ? error.facts : error;
  }
}
