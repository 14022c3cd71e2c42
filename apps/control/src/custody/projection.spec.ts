import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ProjectedFile } from './projected-file.js';
import { readProjections } from './projection.js';
import { CustodyError } from './secret-custody.js';

const NAMES = ['first', 'second', 'third'];

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'valise-projection-'));
});

afterEach(() => {
  jest.restoreAllMocks();
  rmSync(root, { recursive: true });
});

function lay(name: string, content: string): void {
  writeFileSync(join(root, name), content, { mode: 0o600 });
}

const read = (): string[] =>
  readProjections(
    root,
    NAMES.map((name) => ({ name, maxBytes: 100 })),
  ).map(String);

function faultOf(act: () => unknown): unknown {
  try {
    return act();
  } catch (error) {
    return error instanceof CustodyError ? error.fault : error;
  }
}

/** Does something once the first file has been opened, before another is opened and any is read. */
function afterTheFirstOpen(act: () => void): void {
  const open = ProjectedFile.open.bind(ProjectedFile);
  let isFirst = true;
  jest.spyOn(ProjectedFile, 'open').mockImplementation((...place) => {
    const file = open(...place);
    if (isFirst) act();
    isFirst = false;
    return file;
  });
}

describe('projections', () => {
  it('are refused together when one of three is not there, whichever it is, and none is read', () => {
    for (const missing of NAMES) {
      for (const name of NAMES) lay(name, 'x');
      rmSync(join(root, missing));
      const reads = jest.spyOn(ProjectedFile.prototype, 'read');
      expect(faultOf(read)).toBe('missing');
      expect(reads).not.toHaveBeenCalled();
    }
  });

  it('are never some of one generation and some of the next', () => {
    for (const generation of ['..old', '..new']) {
      mkdirSync(join(root, generation));
      for (const name of NAMES) lay(join(generation, name), generation);
    }
    symlinkSync('..old', join(root, '..data'));
    for (const name of NAMES) symlinkSync(join('..data', name), join(root, name));
    afterTheFirstOpen(() => {
      symlinkSync('..new', join(root, '..data_tmp'));
      renameSync(join(root, '..data_tmp'), join(root, '..data'));
    });
    expect(faultOf(read)).toBe('torn');
    expect(read()).toEqual(['..new', '..new', '..new']);
  });

  it('are torn while one is being written, and what was read of the others is zeroed', () => {
    for (const name of NAMES) lay(name, 'half');
    const reads = jest.spyOn(ProjectedFile.prototype, 'read');
    // All are open by then.
    reads.mockImplementationOnce(() => {
      appendFileSync(join(root, 'third'), '-written');
      return Buffer.from('half');
    });
    expect(faultOf(read)).toBe('torn');
    const contents = reads.mock.results
      .filter(({ type }) => type === 'return')
      .map(({ value }) => String(value));
    expect(contents).toEqual(['\0\0\0\0', '\0\0\0\0']);
    expect(read().at(-1)).toBe('half-written');
  });
});
