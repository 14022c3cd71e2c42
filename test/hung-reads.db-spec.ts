import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Settings } from '@valise/contracts/settings';
import { ControlConfig } from '../apps/control/src/config/control-config.js';
import { startControl, type Control } from '../apps/control/src/control.js';
import { ProjectionThreads } from '../apps/control/src/custody/projection-threads.js';
import { createLog } from '../apps/control/src/log/log.js';
import { ControlSettings } from './support/control-settings.js';
import { MountedSecrets } from './support/mounted-secrets.js';
import { PlayedWorker } from './support/played-worker.js';
import { useDatabase } from './support/postgres.js';
import { OPERATOR, PROJECT, publication, SECRET } from './support/published-task.js';
import { TestPki } from './support/test-pki.js';
import { PlainAddress } from './support/wire/plain-address.js';
import { wireCaller } from './support/wire/wire-caller.js';
import { WireClient } from './support/wire/wire-client.js';
import { useWorld } from './support/world.js';

/** More than libuv has threads, and more than there are connections to the database. */
const DELIVERIES = 8;

const database = useDatabase();
const world = useWorld(database);

let directory: string;
let control: Control;
let written = '';
let worker: PlayedWorker;
let release: () => void = () => undefined;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'valise-hung-'));
  const pki = await TestPki.create(join(directory, 'pki'));
  await pki.revoke();
  const secrets = new MountedSecrets(join(directory, 'secrets'));
  const settings = new Settings({
    ...new ControlSettings(directory, database(), secrets, pki).of('ingress', await pki.server('control')),
    VALISE_INGRESS_DATABASE_CONNECTIONS: '1',
  });
  control = await startControl(
    new ControlConfig(settings),
    createLog('warn', { write: (line: string) => void (written += line) }),
  );
  const workerId = 'hung';
  await world().workers.put(OPERATOR, workerId, { status: 'active', projects: [PROJECT], labels: {} });
  const caller = wireCaller(Number(control.ports.ingress), pki.caFile, await pki.worker(workerId));
  worker = await PlayedWorker.register(workerId, new WireClient(caller));
}, 60_000);

afterAll(async () => {
  release();
  worker.client.close();
  await control.close();
  rmSync(directory, { recursive: true });
}, 60_000);

describe('files whose reads hang, with one connection to the database', () => {
  it('hold up nothing but their own deliveries, and those no longer than their deadline', async () => {
    const plain = new PlainAddress(control.ports.plain);
    const helds = [];
    for (let count = 0; count < DELIVERIES; count += 1) {
      await world().queuedRun(publication());
      helds.push(await worker.hold());
    }
    const until = new Promise<void>((resolve) => (release = resolve));
    jest.spyOn(ProjectionThreads.prototype, 'read').mockImplementation(async (projections) => {
      await until;
      return projections.map(() => Buffer.from('{}'));
    });
    // What is left of the lease bounds a delivery.
    await database().query('UPDATE leases SET expires_at_ms = clock_ms() + 4000');
    const answers = Promise.all(helds.map((held) => worker.secrets(held)));
    await plain.until('valise_transactions_total{role="ingress",outcome="committed"}', 1 + 3 * DELIVERIES);
    await plain.until('valise_pool_connections{role="ingress",state="busy"}', 0);
    expect((await worker.renew(helds[0]!)).status).toBe(200);
    expect((await worker.ask()).status).toBe(200);
    expect((await plain.get('/readyz')).status).toBe(200);
    for (const { status, headers } of await answers)
      expect([status, headers['retry-after']]).toEqual([503, '1']);
    expect(await plain.metric('valise_custody_failures_total{fault="deadline"}')).toBe(DELIVERIES);
    expect(written.match(/"fault":"deadline"/g)).toHaveLength(DELIVERIES);
    expect(written).not.toContain(SECRET);
    release();
    await database().query('UPDATE leases SET expires_at_ms = clock_ms() + 60000');
    expect((await worker.secrets(helds[1]!)).status).toBe(200);
  });
});
