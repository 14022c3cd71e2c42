import { readFileSync } from 'node:fs';
import type { ServerOptions } from 'node:https';
import { constants } from 'node:crypto';
import type { TlsFiles } from '../config/control-config.js';

const HANDSHAKE_TIMEOUT_MS = 10_000;
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 120_000;
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
const MAX_HEADER_BYTES = 16 * 1024;

/** Mutual TLS 1.3: a client without a certificate of our authority does not get past the handshake. */
export function mutualTlsOptions(files: TlsFiles): ServerOptions {
  return {
    cert: readFileSync(files.certificateFile),
    key: readFileSync(files.keyFile),
    ca: readFileSync(files.clientCaFile),
    requestCert: true,
    rejectUnauthorized: true,
    minVersion: 'TLSv1.3',
    // A resumed session skips the certificate's expiry and revocation, so none is ever resumed.
    secureOptions: constants.SSL_OP_NO_TICKET,
    sessionTimeout: 1,
    handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: HEADERS_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
  };
}
