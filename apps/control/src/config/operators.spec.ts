import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ValiseError } from '@valise/contracts/failure';
import { openOperators } from './operators.js';

let directory: string;
let file: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'valise-operators-'));
  file = join(directory, 'operators');
});

afterEach(() => {
  rmSync(directory, { recursive: true });
});

function refusal(): unknown {
  try {
    openOperators(file);
    return null;
  } catch (error) {
    return error instanceof ValiseError ? [error.code, error.facts] : error;
  }
}

describe('the operators’ file', () => {
  it('gives an operator a role in its projects only', () => {
    writeFileSync(file, '{"alice":{"*":"viewer","billing":"admin"}}');
    const operators = openOperators(file).current;
    expect(operators.permits('alice', 'billing', 'admin')).toBe(true);
    expect(operators.permits('alice', 'other', 'viewer')).toBe(true);
    expect(operators.permits('alice', 'other', 'editor')).toBe(false);
    expect(operators.permits('bob', 'billing', 'viewer')).toBe(false);
    expect(operators.permits('constructor', 'billing', 'viewer')).toBe(false);
  });

  it.each(['{', '[]', '{"alice":"admin"}', '{"alice":{"*":"root"}}', '{"alice":{},"alice":{"*":"admin"}}'])(
    'is refused where it holds %s, without a word of it',
    (text) => {
      writeFileSync(file, text);
      const rule = 'must give operators their roles by project';
      expect(refusal()).toEqual(['configuration_invalid', { setting: 'VALISE_OPERATORS_FILE', rule }]);
    },
  );

  it('is refused where it is not there', () => {
    const rule = 'names a file that cannot be read';
    expect(refusal()).toEqual(['configuration_invalid', { setting: 'VALISE_OPERATORS_FILE', rule }]);
  });
});
