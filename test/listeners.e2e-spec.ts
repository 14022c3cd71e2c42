import { useDeployment } from './support/deployment.js';
import { PlayedWorker } from './support/played-worker.js';
import { useDatabase } from './support/postgres.js';
import { logged } from './support/programs.js';
import { PlainAddress } from './support/wire/plain-address.js';
import { wireCaller } from './support/wire/wire-caller.js';
import { WireClient } from './support/wire/wire-client.js';

const database = useDatabase();
const deployment = useDeployment(database);

/** A control that is one of two processes. */
interface Half {
  readonly ports: { readonly ingress: number | null; readonly management: number | null };
  readonly plain: PlainAddress;
}

async function start(listeners: 'ingress' | 'management'): Promise<Half> {
  const { pki, programs, settings } = deployment();
  const program = programs.start('control', settings.of(listeners, await pki.server(listeners)));
  const line = await logged(program, 'listening');
  return {
    ports: { ingress: line.ingress as number | null, management: line.management as number | null },
    plain: new PlainAddress(Number(line.plain)),
  };
}

describe('control in two processes', () => {
  let ingress: Half;
  let management: Half;

  beforeAll(async () => {
    [ingress, management] = await Promise.all([start('ingress'), start('management')]);
  }, 60_000);

  it('listens for workers in one and for operators in the other', async () => {
    expect([ingress.ports.management, management.ports.ingress]).toEqual([null, null]);
    const { pki } = deployment();
    await deployment().allow('w-1');
    const worker = await PlayedWorker.register(
      'w-1',
      new WireClient(wireCaller(Number(ingress.ports.ingress), pki.caFile, await pki.worker('w-1'))),
    );
    expect(worker.generation).toBe(1);
    worker.client.close();
    const alice = await pki.operator('alice');
    const operator = new WireClient(wireCaller(Number(management.ports.management), pki.caFile, alice));
    expect((await operator.send('GET', '/api/v3/workers/w-1', null)).status).toBe(200);
    operator.close();
  });

  it('sweeps in the one for operators alone', async () => {
    expect(await management.plain.metric('valise_sweeper_lag_seconds')).toBeLessThan(30);
    expect(await ingress.plain.metric('valise_sweeper_lag_seconds')).toBeNull();
  });

  it('is ready only while the database lets each of its own roles in', async () => {
    const [{ name }] = (await database().query<{ name: string }>('SELECT current_database() AS name')) as [
      { name: string },
    ];
    expect((await management.plain.get('/readyz')).status).toBe(200);
    // Its sweeper still gets in: that alone does not make it ready.
    await database().query(`REVOKE CONNECT ON DATABASE ${name} FROM valise_operator`);
    await database()
      .query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'valise_operator'
      AND datname = current_database()`);
    expect((await management.plain.get('/readyz')).status).toBe(503);
    expect((await management.plain.get('/livez')).status).toBe(200);
    expect((await ingress.plain.get('/readyz')).status).toBe(200);
    await database().query(`GRANT CONNECT ON DATABASE ${name} TO valise_operator`);
    expect((await management.plain.get('/readyz')).status).toBe(200);
  });
});
