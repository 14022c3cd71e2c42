/**
 * What Valise is measured against: the least that does the same work. Bare node:https with mutual TLS, control's own
 * statements through pg, the same files, the same bytes. It checks nothing, wipes nothing and logs nothing.
 *
 * Its task comes as JSON in the first argument; it says its port on standard output.
 */
import { createHash, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import { join } from 'node:path';
import pg from 'pg';

const { databaseUrlFile, connection, directory, tls, statements } = JSON.parse(process.argv[2]);
pg.types.setTypeParser(20, Number);
const pool = new pg.Pool({ connectionString: readFileSync(databaseUrlFile, 'utf8'), ...connection });
pool.on('error', () => undefined);

const [begin, read, write, commit, ...settle] = statements;

/** A statement as control asks it: prepared where control prepares it. */
const ask = (client, { name, text }, values) => client.query({ ...(name && { name }), text, values });

async function deliver(workerId, sessionId, body) {
  const request = JSON.parse(body.toString());
  const requestDigest = createHash('sha256').update(body).digest('hex');
  const recordId = randomUUID();
  const client = await pool.connect();
  let plan;
  let written;
  try {
    await ask(client, begin);
    [plan] = (await ask(client, read, [workerId, request.attemptId])).rows;
    [written] = (
      await ask(client, write, [
        request.attemptId,
        recordId,
        plan.version,
        plan.generation,
        plan.token_digest,
        plan.authorisations,
        8,
        plan.open_since_ms,
        workerId,
        sessionId,
        plan.run_id,
        plan.secret_refs.length,
        plan.environment_bundle_refs.length,
        '01',
        requestDigest,
        5,
      ])
    ).rows;
    await ask(client, commit);
  } finally {
    client.release();
  }
  if (!written) throw new Error('denied');
  const load = async (secretRef) => {
    const name = createHash('sha256').update(secretRef).digest('hex');
    return { secretRef, value: await readFile(join(directory, name), 'utf8') };
  };
  const document = JSON.stringify({
    schema: request.schema,
    runId: plan.run_id,
    attemptId: plan.attempt_id,
    offerId: plan.offer_id,
    executionDigest: plan.content_digest,
    values: await Promise.all(plan.secret_refs.map(load)),
    environmentBundles: await Promise.all(plan.environment_bundle_refs.map(load)),
  });
  return { document, outcome: [recordId, written.decided_at_ms, 'sent', request.attemptId] };
}

/** One statement by itself, or one in a transaction of its own, as control does it. */
async function record(outcome) {
  if (settle.length === 1) return void (await ask(pool, settle[0], outcome));
  const client = await pool.connect();
  try {
    for (const each of settle) await ask(client, each, each.text.startsWith('WITH') ? outcome : undefined);
  } finally {
    client.release();
  }
}

const server = createServer(
  {
    cert: readFileSync(tls.certificateFile),
    key: readFileSync(tls.keyFile),
    ca: readFileSync(tls.caFile),
    requestCert: true,
    rejectUnauthorized: true,
    minVersion: 'TLSv1.3',
    secureOptions: 0x4000, // SSL_OP_NO_TICKET
    keepAliveTimeout: 65_000,
  },
  (request, response) => {
    const [, , , , , workerId, , sessionId] = request.url.split('/');
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      deliver(workerId, sessionId, Buffer.concat(chunks)).then(
        ({ document, outcome }) => {
          response.setHeader('content-type', 'application/json');
          response.setHeader('content-length', Buffer.byteLength(document));
          response.end(document, () => {
            record(outcome).catch((error) => process.stderr.write(`${error.stack}\n`));
          });
        },
        (error) => {
          process.stderr.write(`${error.stack}\n`);
          response.statusCode = 500;
          response.end();
        },
      );
    });
  },
);
server.listen(0, '127.0.0.1', () =>
  console.log(JSON.stringify({ event: 'listening', port: server.address().port })),
);
process.on('disconnect', () => process.exit(0));
