import { bundleOf } from './bench/material.js';
import { useDeployment } from './support/deployment.js';
import { LeaseStock, stockWorkers } from './support/lease-stock.js';
import { useDatabase } from './support/postgres.js';
import { NarrowPath, STALLED } from './support/wire/narrow-path.js';
import { PlainAddress } from './support/wire/plain-address.js';
import { WireConnection } from './support/wire/wire-connection.js';

const WORKERS = 4;
const EACH = 25;
const READERS = WORKERS * EACH;

const deployment = useDeployment(useDatabase(), { VALISE_INGRESS_DATABASE_CONNECTIONS: '10' });

describe('100 workers that do not read their answers, with ten connections to the database', () => {
  it('hold none of these, and nobody up; each has its whole answer once it reads', async () => {
    const plain = new PlainAddress(deployment().ports.plain);
    const workers = await stockWorkers(deployment(), WORKERS);
    const stock = await LeaseStock.prepare(deployment(), workers, EACH, bundleOf(96));
    const requests = workers.flatMap(({ caller }, worker) =>
      stock.requestsOf(worker, true).map((request) => ({ caller, request })),
    );
    expect(requests.length).toBe(READERS);
    const readers = await Promise.all(
      requests.map(async ({ caller, request }) => {
        const connection = await WireConnection.open(caller);
        connection.socket.pause();
        return { connection, answer: connection.exchange(request) };
      }),
    );
    const granted = 'valise_delivery_phase_seconds_count{phase="authorise"}';
    await plain.until(granted, READERS);
    await plain.until('valise_pool_connections{role="ingress",state="busy"}', 0);
    expect((await deployment().playedWorker()).generation).toBe(1);
    expect((await plain.get('/readyz')).status).toBe(200);
    for (const { connection } of readers) connection.socket.resume();
    const answers = await Promise.all(readers.map(({ answer }) => answer));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: READERS }, () => 200));
    for (const { bodyBytes } of answers) expect(bodyBytes).toBeGreaterThan(96 * 1024);
    for (const { connection } of readers) connection.close();
  }, 60_000);
});

describe('workers whose lines take no more than the beginning of an answer', () => {
  it('hold no connection to the database, are cut at the deadline, and the record says so', async () => {
    const plain = new PlainAddress(deployment().ports.plain);
    const workers = await stockWorkers(deployment(), 1);
    const stock = await LeaseStock.prepare(deployment(), workers, EACH, bundleOf(96));
    const path = await NarrowPath.open(deployment().ports.ingress, STALLED);
    try {
      const answers = stock.requestsOf(0, true).map(async (request) => {
        const connection = await WireConnection.open({ ...workers[0]!.caller, port: path.port });
        return { connection, outcome: connection.ask(request) };
      });
      const connections = await Promise.all(answers);
      await plain.until('valise_admission_waiting{listener="ingress",kind="call"}', EACH);
      await plain.until('valise_pool_connections{role="ingress",state="busy"}', 0);
      expect((await deployment().playedWorker()).generation).toBe(1);
      await plain.until('valise_deliveries_total{outcome="aborted"}', EACH);
      await plain.until('valise_admission_waiting{listener="ingress",kind="call"}', 0);
      for (const { connection } of connections) connection.close();
      for (const { outcome } of connections) expect(await outcome).toBe('closed');
    } finally {
      await path.close();
    }
  }, 60_000);
});
