import type { X509Certificate } from 'node:crypto';

/** A certificate and the one that signed it. */
export interface CertificateLink {
  readonly certificate: X509Certificate;
  readonly issuer: X509Certificate;
}

const MAX_SENT = 8;

/**
 * The links from `leaf` up to a self-signed one of `authorities`, each signature checked; null when there is no such
 * path. Authorities between the two may stand in `authorities` or come with the leaf.
 *
 * OpenSSL has judged the path in the handshake (RFC 5280 §6). This finds it again, to ask each issuer's revocation list,
 * and to see whether it still ends in an authority that we trust.
 */
export function pathTo(
  authorities: readonly X509Certificate[],
  leaf: X509Certificate,
): readonly CertificateLink[] | null {
  // Each candidate is tried once: what led nowhere leads nowhere, however many copies a client sends.
  const untried = new Set([...authorities, ...sentWith(leaf)]);
  const search = (certificate: X509Certificate): readonly CertificateLink[] | null => {
    for (const issuer of untried) {
      if (!isIssuedBy(certificate, issuer)) continue;
      const link = { certificate, issuer };
      // A root is trusted because it is among the authorities; its signature of itself says nothing.
      if (authorities.includes(issuer) && issuer.checkIssued(issuer)) return [link];
      untried.delete(issuer);
      const above = search(issuer);
      if (above) return [link, ...above];
    }
    return null;
  };
  return search(leaf);
}

function isIssuedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  return issuer.ca && certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
}

/** The certificates that came in the same handshake. */
function sentWith(leaf: X509Certificate): X509Certificate[] {
  const sent: X509Certificate[] = [];
  for (let next = leaf.issuerCertificate; next && sent.length < MAX_SENT; next = next.issuerCertificate) {
    if (next.checkIssued(next)) break;
    sent.push(next);
  }
  return sent;
}
