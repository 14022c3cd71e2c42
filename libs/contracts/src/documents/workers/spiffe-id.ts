/** A caller's identity, `spiffe://<trust domain>/<kind>/<id>` (wire.md §6; the SPIFFE ID of an X.509-SVID). */
export interface SpiffeId {
  readonly trustDomain: string;
  readonly kind: 'worker' | 'operator';
  readonly id: string;
}

const SPIFFE_ID =
  /^URI:spiffe:\/\/([a-z0-9._-]{1,255})\/(worker|operator)\/([A-Za-z0-9][A-Za-z0-9._:-]{0,127})$/;

/**
 * The identity in a certificate's subject alternative names, in the one-line form that Node gives them: exactly one URI,
 * and that one ours. Null for everything else.
 *
 * Node joins the entries with `, ` and quotes one that holds a comma or a quote (CVE-2021-44532). Such a name could
 * imitate further entries, so a certificate with one names nobody.
 */
export function parseSpiffeId(subjectAltName: string | undefined): SpiffeId | null {
  if (subjectAltName === undefined || subjectAltName.includes('"')) return null;
  const uris = subjectAltName.split(', ').filter((entry) => entry.startsWith('URI:'));
  const [uri] = uris;
  if (uri === undefined || uris.length !== 1) return null;
  const [, trustDomain, kind, id] = SPIFFE_ID.exec(uri) ?? [];
  if (trustDomain === undefined || id === undefined) return null;
  return { trustDomain, kind: kind === 'worker' ? 'worker' : 'operator', id };
}
