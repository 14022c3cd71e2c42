import { writeFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createSecretReference } from '@valise/contracts/documents';
import { Search } from '../../apps/cli/src/demo/search.js';
import { OPERATORS } from '../support/control-settings.js';
import { Deployment } from '../support/deployment.js';
import { LeaseStock, stockWorkers } from '../support/lease-stock.js';
import type { TestDatabase } from '../support/postgres.js';
import { PROJECT } from '../support/published-task.js';
import { Canary } from './canary.js';
import { CLIENTS } from './clients.js';
import { searchMemory } from './process-memory.js';
import { decoySeen, type Residue } from './residue.js';

/** How much is delivered. */
export interface DeliveryLoad {
  readonly bundleBytes: readonly number[];
  /** How often each canary is delivered. */
  readonly times: readonly number[];
}

export const SHORT_CONTROL: DeliveryLoad = { bundleBytes: [32, 96 * 1024], times: [1, 20] };
export const FULL_CONTROL: DeliveryLoad = {
  bundleBytes: [32, 64, 1024, 4 * 1024, 16 * 1024, 96 * 1024],
  times: [1, 200],
};

export interface ControlResidueReport extends Residue {
  readonly program: 'control';
  readonly deliveries: number;
}

const MAX_SECRET_BYTES = 16 * 1024;
const AFTER_MS = 1000;
/** With the eight deliveries of a claim, more than the largest load asks for at once. */
const CLAIMS = 64;

/** Delivers canaries in every way through a real control, and then looks for them in its memory. */
export async function measureControlResidue(
  database: TestDatabase,
  load: DeliveryLoad,
): Promise<ControlResidueReport> {
  const keptOnPurpose = {
    utf8: new Canary('kept as text'),
    utf16: new Canary('kept as wide text', 'awkward'),
  };
  const directory = mkdtempSync(join(tmpdir(), 'valise-residue-'));
  const operatorsFile = join(directory, 'operators.json');
  // Names of operators stay in memory as strings; one with a wide character as UTF-16.
  writeFileSync(
    operatorsFile,
    JSON.stringify({ ...OPERATORS, [keptOnPurpose.utf8.text]: {}, [keptOnPurpose.utf16.text]: {} }),
    { mode: 0o600 },
  );
  const deployment = await Deployment.start(database, { VALISE_OPERATORS_FILE: operatorsFile });
  try {
    const { canaries, deliveries } = await deliverCanaries(deployment, load);
    await delay(AFTER_MS);
    const patterns = [...canaries, ...Object.values(keptOnPurpose)].flatMap((canary) => canary.patterns());
    const search = new Search(patterns);
    await searchMemory(deployment.control.pid, search);
    return {
      program: 'control',
      deliveries,
      canaries: canaries.length,
      found: search.sightings
        .filter(({ pattern }) => canaries.some(({ needle }) => needle === pattern.needle))
        .map(({ pattern, place }) => ({ canary: pattern.needle.label, form: pattern.form, place })),
      decoySeen: decoySeen(search, keptOnPurpose),
      searchedBytes: search.searchedBytes,
    };
  } finally {
    await deployment.stop();
    rmSync(directory, { recursive: true });
  }
}

async function deliverCanaries(
  deployment: Deployment,
  { bundleBytes, times }: DeliveryLoad,
): Promise<{ canaries: Canary[]; deliveries: number }> {
  const workers = await stockWorkers(deployment, 1);
  const secret = createSecretReference({ projectId: PROJECT, name: 'canary' });
  const bundle = createSecretReference({ projectId: PROJECT, name: 'canaries', version: 1 });
  const nothing = Buffer.from('-');
  const stock = await LeaseStock.prepare(deployment, workers, CLAIMS, {
    secrets: new Map([[secret, nothing]]),
    bundle: { reference: bundle, carrier: nothing },
  });
  const claims = stock.requestsOf(0, true);
  const canaries: Canary[] = [];
  let deliveries = 0;
  for (const size of bundleBytes) {
    for (const count of times) {
      for (const [name, client] of Object.entries(CLIENTS)) {
        const label = `${size} bytes × ${count}, ${name}`;
        const plain = new Canary(label);
        const awkward = new Canary(`${label}, awkward`, 'awkward');
        canaries.push(plain, awkward);
        deployment.secrets.lay(secret, plain.bytes(Math.min(size, MAX_SECRET_BYTES)));
        deployment.secrets.lay(bundle, awkward.bytes(size));
        await stock.refill();
        const requests = Array.from({ length: count }, (_, index) => claims[index % claims.length]!);
        await client(workers[0]!.caller, requests);
        await stock.settled();
        deliveries += count;
      }
    }
  }
  return { canaries, deliveries };
}
