import type { IncomingMessage } from 'node:http';
import type { ServerOptions } from 'node:https';
import type { Server as NetServer } from 'node:net';
import { Server, TLSSocket } from 'node:tls';
import type { Logger } from 'pino';
import { ValiseError } from '@valise/contracts/failure';
import type { TlsConfig } from '../config/control-config.js';
import { LiveFiles } from '../config/live-files.js';
import { type CallerIdentity, ClientTrust, type ClientTrustOptions } from './client-trust.js';
import { type Credentials, credentialFiles, parseCredentials } from './credentials.js';
import { handshakeFailureOf } from './handshake-failure.js';
import { mutualTlsOptions } from './server-options.js';
import { type CertificateRefusal, type HandshakeFailure, TransportFacts } from './transport-facts.js';

/** What no better list or later moment makes good, as a handshake says it: such connections are worth nothing any more. */
const FINAL: Partial<Record<CertificateRefusal, HandshakeFailure>> = {
  untrusted: 'untrusted_issuer',
  expired: 'certificate_expired',
  revoked: 'certificate_revoked',
};

/** Mutual TLS for the program's listeners: one set of credentials, in force until a better one lies on the disk. */
export class Transport {
  readonly facts = new TransportFacts();
  private readonly servers = new Set<Server>();
  private readonly sockets = new Set<TLSSocket>();
  private readonly said = new Set<string>();
  private trust: ClientTrust;

  constructor(
    private readonly files: LiveFiles<Credentials>,
    private readonly options: ClientTrustOptions,
    private readonly log: Logger,
  ) {
    this.trust = this.trustOf(files.current);
  }

  /** @throws ValiseError configuration_invalid where the files do not make a whole set of credentials */
  static open(trustDomain: string, config: TlsConfig, log: Logger): Transport {
    const files = LiveFiles.open(credentialFiles(config), (contentOf) =>
      parseCredentials(contentOf, config, Date.now()),
    );
    return new Transport(files, { trustDomain, graceMs: config.revocationGraceMs }, log);
  }

  /** For a listener that is made now; `serve` keeps it up to date. */
  get serverOptions(): ServerOptions {
    return mutualTlsOptions(this.files.current);
  }

  /** The listener uses whatever credentials are in force, and its connections end with their certificates. */
  serve(server: NetServer): void {
    if (!(server instanceof Server)) throw new Error('mutual TLS is for servers of TLS');
    this.servers.add(server);
    // Node would report it as a broken request, and answer that on a connection which cannot carry an answer.
    server.removeAllListeners('tlsClientError');
    server.on('tlsClientError', (error: Error, socket: TLSSocket) => {
      const reason = handshakeFailureOf(error, socket);
      this.facts.handshakeFailures[reason] += 1;
      this.log.debug({ event: 'handshake_failed', reason }, 'a handshake failed');
      // Nobody else ends a handshake that never comes to its end.
      socket.destroy();
    });
    server.on('secureConnection', (socket: TLSSocket) => {
      this.welcome(socket);
    });
  }

  /**
   * Who asks, as the certificate says, if that is good now; null for everybody else.
   * @throws ValiseError revocation_unavailable while a revocation list that is needed is out of date
   */
  callerOf({ socket }: IncomingMessage): CallerIdentity | null {
    if (!(socket instanceof TLSSocket)) return null;
    const verdict = this.trust.judge(socket, Date.now());
    if (typeof verdict !== 'string') return verdict;
    this.facts.refusedRequests[verdict] += 1;
    if (verdict === 'revocation_unknown') throw new ValiseError('revocation_unavailable');
    return null;
  }

  /**
   * Takes the credentials that lie on the disk now, all of them or none. New connections use them; of the open ones,
   * those whose certificates they do not accept are destroyed. Answers whether they are new.
   * @throws ValiseError configuration_invalid; then the old ones stay in force
   */
  async refresh(when: { readonly always: boolean }): Promise<boolean> {
    if (!(await this.files.refresh(when))) return false;
    this.trust = this.trustOf(this.files.current);
    for (const server of this.servers) server.setSecureContext(mutualTlsOptions(this.files.current));
    this.endRefused();
    return true;
  }

  /** Destroys every connection whose certificate has ended, and says so once a revocation list is overdue. */
  endRefused(): void {
    const nowMs = Date.now();
    for (const socket of this.sockets) {
      const verdict = this.trust.judge(socket, nowMs);
      if (typeof verdict !== 'string' || !FINAL[verdict]) continue;
      this.facts.destroyedSockets[verdict] += 1;
      this.sayRefused(socket, verdict);
      socket.destroy();
    }
    const { revocationNextUpdateMs } = this.facts;
    const isOverdue = revocationNextUpdateMs !== null && revocationNextUpdateMs <= nowMs;
    if (isOverdue && !this.facts.revocationOverdue)
      this.log.error({ event: 'revocation_list_overdue' }, 'a revocation list is past its next update');
    this.facts.revocationOverdue = isOverdue;
  }

  /** A dead certificate gets no further than an expired one does: to the end of the handshake. */
  private welcome(socket: TLSSocket): void {
    const verdict = this.trust.judge(socket, Date.now());
    const failure = typeof verdict === 'string' && FINAL[verdict];
    if (failure) {
      this.facts.handshakeFailures[failure] += 1;
      this.sayRefused(socket, verdict);
      socket.destroy();
      return;
    }
    this.sockets.add(socket);
    socket.once('close', () => this.sockets.delete(socket));
  }

  /** Once for each certificate: a client that comes again and again fills no log. */
  private sayRefused(socket: TLSSocket, reason: CertificateRefusal): void {
    const certificateSerial = socket.getPeerX509Certificate()?.serialNumber ?? '';
    if (this.said.has(certificateSerial)) return;
    this.said.add(certificateSerial);
    this.log.warn({ event: 'connection_destroyed', reason, certificateSerial }, 'a certificate has ended');
  }

  private trustOf(credentials: Credentials): ClientTrust {
    this.said.clear();
    const lists = [...(credentials.revocation?.values() ?? [])];
    this.facts.certificateNotAfterMs = credentials.notAfterMs;
    this.facts.authorityNotAfterMs = Math.min(
      ...credentials.authorities.map(({ validTo }) => Date.parse(validTo)),
    );
    this.facts.revocationNextUpdateMs =
      lists.length === 0 ? null : Math.min(...lists.map(({ nextUpdateMs }) => nextUpdateMs));
    return new ClientTrust(credentials, this.options);
  }
}
