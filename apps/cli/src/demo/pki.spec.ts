import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, createServer, type PeerCertificate, type TLSSocket } from 'node:tls';
import type { IdentityFiles } from '../management/management-client.js';
import { createPki, type Pki } from './pki.js';

describe('the throw-away PKI', () => {
  let directory: string;
  let pki: Pki;

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'valise-pki-spec-'));
    pki = await createPki(join(directory, 'pki'), {
      trustDomain: 't.example',
      workerId: 'w-1',
      operatorId: 'o-1',
    });
  });
  afterAll(() => {
    rmSync(directory, { recursive: true });
  });

  const identity = ({
    certificateFile,
    keyFile,
  }: IdentityFiles): { cert: Buffer; key: Buffer; ca: Buffer } => ({
    cert: readFileSync(certificateFile),
    key: readFileSync(keyFile),
    ca: readFileSync(pki.caFile),
  });

  it.each([
    ['worker', 'spiffe://t.example/worker/w-1'],
    ['operator', 'spiffe://t.example/operator/o-1'],
  ] as const)('lets the %s reach control over mutual TLS 1.3, named by one URI SAN', async (who, uri) => {
    const server = createServer({
      ...identity(pki.control),
      requestCert: true,
      rejectUnauthorized: true,
      minVersion: 'TLSv1.3',
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const seen = once(server, 'secureConnection') as Promise<[TLSSocket]>;
    const client = connect({
      host: '127.0.0.1',
      port: (server.address() as AddressInfo).port,
      ...identity(pki[who]),
    });
    const [socket] = await seen;
    expect((socket.getPeerCertificate() as PeerCertificate & { subjectaltname: string }).subjectaltname).toBe(
      `URI:${uri}`,
    );
    expect(socket.authorized).toBe(true);
    client.destroy();
    server.close();
  });

  it('keeps every file to its owner, and the authority’s key in none', () => {
    const files = readdirSync(join(directory, 'pki'));
    expect(files.filter((file) => file.endsWith('-key.pem')).sort()).toEqual([
      'control-key.pem',
      'operator-key.pem',
      'worker-key.pem',
    ]);
    for (const file of files) expect(statSync(join(directory, 'pki', file)).mode & 0o777).toBe(0o600);
  });

  it('is of one day', () => {
    const { validFrom, validTo } = new X509Certificate(readFileSync(pki.worker.certificateFile));
    expect(Date.parse(validTo) - Date.parse(validFrom)).toBeLessThanOrEqual(25 * 60 * 60 * 1000);
  });
});
