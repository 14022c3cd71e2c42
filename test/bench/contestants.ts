import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Deployment } from '../support/deployment.js';
import { LeaseStock, stockWorkers } from '../support/lease-stock.js';
import type { TestDatabase } from '../support/postgres.js';
import { WireConnection } from '../support/wire/wire-connection.js';
import type { Server } from './load.js';
import { bundleOf } from './material.js';
import { StatementRecorder, type RecordedStatement } from './statement-recorder.js';

/** What control asks PostgreSQL in one delivery. */
export interface Protocol {
  readonly statements: readonly RecordedStatement[];
  readonly roundTrips: number;
}

const START_DEADLINE_MS = 20_000;
/** Of both: enough for control to have every one of 64 deliveries at work at once, and turn none away. */
export const DATABASE_CONNECTIONS = 32;

/** Watches one delivery of a real control on its way to PostgreSQL. */
export async function recordProtocol(database: TestDatabase): Promise<Protocol> {
  const recorder = await StatementRecorder.open(database.url('valise_ingress'));
  const urlFile = join(tmpdir(), `valise-bench-${process.pid}-url`);
  writeFileSync(urlFile, recorder.url, { mode: 0o600 });
  const deployment = await Deployment.start(database, { VALISE_INGRESS_DATABASE_URL_FILE: urlFile });
  try {
    const workers = await stockWorkers(deployment, 1);
    const stock = await LeaseStock.prepare(deployment, workers, 2, bundleOf(1));
    const [first, second] = stock.requestsOf(0, true);
    const connection = await WireConnection.open(workers[0]!.caller);
    for (const request of [first!, second!]) {
      // What a new database connection asks once is seen in the first delivery alone.
      recorder.reset();
      const { status } = await connection.exchange(request);
      if (status !== 200) throw new Error(`the recorded delivery was answered ${status}`);
      await stock.settled();
    }
    connection.close();
    return { statements: [...recorder.statements], roundTrips: recorder.roundTrips };
  } finally {
    await deployment.stop();
    await recorder.close();
  }
}

/** The floor as a process of its own, over the database, the files and the certificates of `deployment`. */
export async function startFloor(
  deployment: Deployment,
  { statements }: Protocol,
): Promise<Server & { stop(): Promise<void> }> {
  const { directory, database, pki } = deployment;
  const databaseUrlFile = join(directory, 'floor-url');
  writeFileSync(databaseUrlFile, database.url('valise_ingress'), { mode: 0o600 });
  const identity = await pki.server('floor');
  const task = {
    databaseUrlFile,
    connection: { max: DATABASE_CONNECTIONS, options: '-c search_path=valise -c enable_seqscan=off' },
    directory: join(directory, 'secrets'),
    tls: { ...identity, caFile: pki.caFile },
    statements,
  };
  const child = fork(join(__dirname, 'floor.mjs'), [JSON.stringify(task)], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    execArgv: [],
  });
  const port = await portOf(child);
  return {
    pid: child.pid ?? 0,
    port,
    stop: async () => {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    },
  };
}

async function portOf(child: ChildProcess): Promise<number> {
  const [line] = (await once(child.stdout!, 'data', { signal: AbortSignal.timeout(START_DEADLINE_MS) })) as [
    Buffer,
  ];
  return (JSON.parse(line.toString()) as { port: number }).port;
}
