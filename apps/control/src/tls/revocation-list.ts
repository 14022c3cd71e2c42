import { verify, type X509Certificate } from 'node:crypto';
import { RuleBroken } from '@valise/contracts/settings';
import { DerReader } from './der.js';
import { pemDocuments } from './pem.js';

/** What one authority has revoked, as of its newest list. */
export interface RevocationList {
  readonly thisUpdateMs: number;
  readonly nextUpdateMs: number;
  /** Serial numbers as `serialOf` writes them. */
  readonly revoked: ReadonlySet<string>;
}

/** The newest list of each authority. */
export type RevocationLists = ReadonlyMap<X509Certificate, RevocationList>;

const BOOLEAN = 0x01;
const INTEGER = 0x02;
const BIT_STRING = 0x03;
const OID = 0x06;
const UTC_TIME = 0x17;
const GENERALIZED_TIME = 0x18;
const SEQUENCE = 0x30;
const EXPLICIT_0 = 0xa0;
const TRUE = 0xff;

/** Digest of each signature algorithm, by its object identifier; Ed25519 and Ed448 have none of their own. */
const DIGESTS: ReadonlyMap<string, string | null> = new Map([
  ['2a8648ce3d040302', 'sha256'],
  ['2a8648ce3d040303', 'sha384'],
  ['2a8648ce3d040304', 'sha512'],
  ['2a864886f70d01010b', 'sha256'],
  ['2a864886f70d01010c', 'sha384'],
  ['2a864886f70d01010d', 'sha512'],
  ['2b6570', null],
  ['2b6571', null],
]);

/** A certificate's serial number in the form that revocation lists are asked with. */
export function serialOf({ serialNumber }: X509Certificate): string {
  return serialNumber.toLowerCase().replace(/^0+(?=.)/, '');
}

/**
 * Reads revocation lists (RFC 5280 §5; PEM, or one list in DER) of exactly these authorities. Nothing of a list is
 * interpreted before its signature holds.
 * @throws RuleBroken when a list is malformed, not one of an authority, has no nextUpdate or a critical extension (as
 * partial lists and deltas have), or when an authority has none
 */
export function readRevocationLists(bytes: Buffer, authorities: readonly X509Certificate[]): RevocationLists {
  const documents = bytes[0] === SEQUENCE ? [bytes] : pemDocuments(bytes.toString('latin1'), 'X509 CRL');
  const lists = new Map<X509Certificate, RevocationList>();
  for (const document of documents) {
    const { issuers, list } = readList(document, authorities);
    for (const issuer of issuers) {
      const known = lists.get(issuer);
      if (!known || known.thisUpdateMs < list.thisUpdateMs) lists.set(issuer, list);
    }
  }
  if (authorities.some((authority) => !lists.has(authority)))
    throw new RuleBroken('must hold a list of every authority');
  return lists;
}

function readList(
  document: Buffer,
  authorities: readonly X509Certificate[],
): { issuers: readonly X509Certificate[]; list: RevocationList } {
  const outside = new DerReader(document);
  const signed = outside.enter(SEQUENCE);
  const body = signed.take(SEQUENCE);
  const algorithm = signed.take(SEQUENCE);
  const signature = signed.take(BIT_STRING).content;
  const fields = new DerReader(body.content);
  if (fields.isAt(INTEGER)) fields.take(INTEGER);
  const innerAlgorithm = fields.take(SEQUENCE);
  const name = fields.take(SEQUENCE).whole;
  const isWhole = outside.isAtEnd && signed.isAtEnd && signature[0] === 0;
  if (!isWhole || !innerAlgorithm.whole.equals(algorithm.whole))
    throw new RuleBroken('must hold well-formed lists');
  const digest = DIGESTS.get(new DerReader(algorithm.content).take(OID).content.toString('hex'));
  if (digest === undefined)
    throw new RuleBroken('must be signed with ECDSA, RSA PKCS #1 or EdDSA, and SHA-2');
  const named = authorities.filter((authority) => subjectOf(authority).equals(name));
  if (named.length === 0) throw new RuleBroken('must hold lists of the authorities only');
  const issuers = named.filter(({ publicKey }) =>
    verify(digest, body.whole, publicKey, signature.subarray(1)),
  );
  if (issuers.length === 0) throw new RuleBroken('must hold lists with a signature of their authority');
  return { issuers, list: readUpdate(fields) };
}

/** What follows the issuer: the times, the revoked serials, the extensions. */
function readUpdate(fields: DerReader): RevocationList {
  const thisUpdateMs = readTime(fields);
  if (!fields.isAt(UTC_TIME) && !fields.isAt(GENERALIZED_TIME))
    throw new RuleBroken('must hold lists that say when the next one is due');
  const nextUpdateMs = readTime(fields);
  const revoked = new Set<string>();
  if (fields.isAt(SEQUENCE)) {
    const entries = fields.enter(SEQUENCE);
    while (!entries.isAtEnd) {
      const serial = entries.enter(SEQUENCE).take(INTEGER).content;
      revoked.add(serial.toString('hex').replace(/^0+(?=.)/, ''));
    }
  }
  if (fields.isAt(EXPLICIT_0)) assertNothingCritical(fields.enter(EXPLICIT_0).enter(SEQUENCE));
  if (!fields.isAtEnd) throw new RuleBroken('must hold well-formed lists');
  return { thisUpdateMs, nextUpdateMs, revoked };
}

/** A critical extension narrows what a list says (RFC 5280 §5.2): a part of the certificates, or changes only. */
function assertNothingCritical(extensions: DerReader): void {
  while (!extensions.isAtEnd) {
    const extension = extensions.enter(SEQUENCE);
    extension.take(OID);
    if (extension.isAt(BOOLEAN) && extension.take(BOOLEAN).content[0] === TRUE)
      throw new RuleBroken('must hold complete lists, without critical extensions');
  }
}

/** RFC 5280 §5.1.2.4: UTCTime until 2049, GeneralizedTime from then on; both in Zulu, to the second. */
function readTime(fields: DerReader): number {
  const isShort = fields.isAt(UTC_TIME);
  const text = fields.take(isShort ? UTC_TIME : GENERALIZED_TIME).content.toString('latin1');
  const [, year = '', rest = ''] = (isShort ? /^(\d{2})(\d{10})Z$/ : /^(\d{4})(\d{10})Z$/).exec(text) ?? [];
  const century = isShort ? (Number(year) < 50 ? '20' : '19') : '';
  const time = Date.parse(`${century}${year}-${rest.replace(/^(..)(..)(..)(..)(..)$/, '$1-$2T$3:$4:$5')}Z`);
  if (Number.isNaN(time)) throw new RuleBroken('must hold well-formed lists');
  return time;
}

/** The subject of a certificate as it is encoded (RFC 5280 §4.1). */
function subjectOf({ raw }: X509Certificate): Buffer {
  const fields = new DerReader(raw).enter(SEQUENCE).enter(SEQUENCE);
  if (fields.isAt(EXPLICIT_0)) fields.take(EXPLICIT_0);
  fields.take(INTEGER); // serial number
  fields.take(SEQUENCE); // signature algorithm
  fields.take(SEQUENCE); // issuer
  fields.take(SEQUENCE); // validity
  return fields.take(SEQUENCE).whole;
}
