import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FAILURES } from '@valise/contracts/failure';
import { METRICS } from './catalogue.js';
import { Metrics } from './metrics.js';

const reference = readFileSync(join(__dirname, '../../../../docs/reference/metrics.md'), 'utf8');
const codes = new Set(Object.keys(FAILURES));

/** How the reference writes a label with its values. */
function written(label: string, values: readonly string[]): string {
  if (values.length === 0) return `\`${label}\`: our own pattern, or none`;
  const own = values.filter((value) => !codes.has(value));
  const named = own.length + codes.size === values.length ? [...own, '[a code](problems.md)'] : values;
  return `\`${label}\`: ${named.join(', ')}`;
}

describe('the catalogue of metrics', () => {
  it('is the list that docs/reference/metrics.md gives, line by line', () => {
    const documented = [...reference.matchAll(/^\| `(valise_\w+)` \| (\w+) \| (.*) \| (.+) \|$/gm)];
    const known = Object.entries(METRICS).map(([name, { type, labels, help }]) => [
      name,
      type,
      Object.entries(labels)
        .map(([label, values]) => written(label, values as readonly string[]))
        .join('; '),
      help,
    ]);
    expect(documented.map((row) => row.slice(1))).toEqual(known);
  });

  it('is what a scrape offers, and all of it', async () => {
    const text = await new Metrics().exposition();
    const offered = [...text.matchAll(/^# TYPE (valise_\w+) (\w+)$/gm)].map((row) => row.slice(1));
    expect(offered.sort()).toEqual(
      Object.entries(METRICS)
        .map(([name, { type }]) => [name, type])
        .sort(),
    );
  });
});

describe('a metric', () => {
  it('adds up what is counted, and takes a total that stands elsewhere as it is', async () => {
    const metrics = new Metrics();
    let total = 3;
    metrics.read('valise_transaction_retries_total', (report) => {
      report({ role: 'ingress', sqlstate: '40001' }, total);
    });
    metrics.count('valise_deliveries_total', { outcome: 'sent' });
    metrics.count('valise_deliveries_total', { outcome: 'sent' });
    await metrics.exposition();
    total = 5;
    const text = await metrics.exposition();
    expect(text).toContain('valise_deliveries_total{outcome="sent"} 2\n');
    expect(text).toContain('valise_transaction_retries_total{role="ingress",sqlstate="40001"} 5\n');
  });

  it('is absent, not 0, where nobody reports it', async () => {
    expect(await new Metrics().exposition()).not.toMatch(/^valise_(sweeper_lag|revocation\w*|ready)\w* /m);
  });
});
