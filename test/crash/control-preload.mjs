/**
 * Loaded before control (`--import`). Every transaction is named after the method that runs it, and its name is logged.
 * CRASH_AT (`before NAME` or `after NAME`) kills the process there, as by the kernel: before the transaction begins, or
 * when it has committed and nobody has been told. CUT_AT=all ends the connection of each name's first transaction once,
 * when its work is done and COMMIT comes next.
 */
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { isMainThread } from 'node:worker_threads';

const { CRASH_AT, CUT_AT } = process.env;
const cut = new Set();

function callerName() {
  const [, , , line = ''] = new Error().stack.split('\n');
  return /at (?:async )?([\w.]+)/.exec(line)?.[1] ?? 'unknown';
}

function passing(boundary) {
  if (boundary === CRASH_AT) process.kill(process.pid, 'SIGKILL');
}

function watch({ TransactionRunner: { prototype } }) {
  const { run } = prototype;
  prototype.run = async function (options, work) {
    const name = callerName();
    console.log(JSON.stringify({ event: 'transaction', name }));
    passing(`before ${name}`);
    const isCut = CUT_AT === 'all' && !cut.has(name);
    cut.add(name);
    const result = await run.call(
      this,
      options,
      !isCut
        ? work
        : async (tx) => {
            const done = await work(tx);
            console.log(JSON.stringify({ event: 'cut', name }));
            await tx.query('SELECT pg_terminate_backend(pg_backend_pid())').catch(() => undefined);
            return done;
          },
    );
    passing(`after ${name}`);
    return result;
  };
}

// Loaded by control's threads as well, which have no database.
if (isMainThread) {
  const require = createRequire(process.argv[1]);
  require('reflect-metadata');
  const database = join(dirname(process.argv[1]), '../../../libs/authority/src/database');
  watch(require(join(database, 'transaction-runner.js')));
}
