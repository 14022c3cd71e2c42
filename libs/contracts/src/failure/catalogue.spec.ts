import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FAILURES } from './catalogue.js';

const reference = readFileSync(join(__dirname, '../../../../docs/reference/problems.md'), 'utf8');

describe('the catalogue of failures', () => {
  it('is the list that docs/reference/problems.md gives, line by line', () => {
    const documented = [...reference.matchAll(/^\| `(\w+)` \| (\d{3}) \| (.+) \|$/gm)].map((row) =>
      row.slice(1),
    );
    const known = Object.entries(FAILURES).map(([code, { status, title }]) => [code, String(status), title]);
    expect(documented).toEqual(known);
  });
});
