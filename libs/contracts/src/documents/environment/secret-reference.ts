import { ValiseError } from '../../failure/index.js';
import { sha256Hex } from '../text/digest.js';
import { parseJson } from '../json/json.js';
import { readRecord } from '../json/plain-data.js';
import { refusal, type Refuse } from '../refusal.js';
import { identifier, integer, MAX_INT32 } from '../text/text.js';
import { utf8Bytes } from '../text/utf8.js';

const PREFIX = 'qlsecret:v1:';
const SHAPE = /^qlsecret:v1:[A-Za-z0-9_-]+$/;
const MAX_BYTES = 512;

const refuse: Refuse = refusal('SECRET_REFERENCE_INVALID');

/** What a reference names. It is *pinned* when it has a version (1…2147483647). */
export interface SecretName {
  readonly projectId: string;
  readonly name: string;
  readonly version?: number;
}

export interface SecretReference extends SecretName {
  /** The canonical text. */
  readonly text: string;
}

/**
 * The canonical text of a reference (wire.md §1).
 * @throws ValiseError SECRET_REFERENCE_INVALID
 */
export function createSecretReference(secret: SecretName): string {
  return write(secretName(secret));
}

/**
 * Takes a reference apart. Only canonical text is accepted: written again, it comes back byte for byte.
 * @throws ValiseError SECRET_REFERENCE_INVALID
 */
export function parseSecretReference(text: unknown): SecretReference {
  if (typeof text !== 'string') refuse({ field: 'reference', rule: 'string' });
  const known = parsed.get(text);
  if (known) return known;
  const reference = parse(text);
  if (parsed.size === KEPT) parsed.clear();
  parsed.set(text, reference);
  return reference;
}

/** A delivery takes each of its references apart four times; what a text says never changes. */
const parsed = new Map<string, SecretReference>();
const KEPT = 1024;

function parse(text: string): SecretReference {
  assertBytes(text);
  if (!SHAPE.test(text)) refuse({ field: 'reference', rule: 'pattern' });
  const secret = secretName(payload(text));
  if (write(secret) !== text) refuse({ field: 'reference', rule: 'canonical' });
  return Object.freeze({ text, ...secret });
}

/**
 * The name under which the material of a reference is mounted: the digest of the whole text, so that another version
 * is another file.
 * @throws ValiseError SECRET_REFERENCE_INVALID
 */
export function projectionFileName(text: string): string {
  return sha256Hex(parseSecretReference(text).text);
}

function payload(text: string): unknown {
  try {
    return parseJson(Buffer.from(text.slice(PREFIX.length), 'base64url'));
  } catch (error) {
    if (error instanceof ValiseError) refuse({ field: 'reference', rule: 'payload' });
    throw error;
  }
}

function secretName(value: unknown): SecretName {
  const { projectId, name, version } = readRecord(
    value,
    ['projectId', 'name'],
    ['version'],
    'reference',
    refuse,
  );
  return {
    projectId: identifier(projectId, 'projectId', refuse),
    name: identifier(name, 'name', refuse),
    ...(version !== undefined && { version: integer(version, 1, MAX_INT32, 'version', refuse) }),
  };
}

function write(secret: SecretName): string {
  const text = PREFIX + Buffer.from(JSON.stringify(secret), 'utf8').toString('base64url');
  assertBytes(text);
  return text;
}

function assertBytes(text: string): void {
  const actual = utf8Bytes(text);
  if (actual > MAX_BYTES) refuse({ field: 'reference', rule: 'max_bytes', limit: MAX_BYTES, actual });
}
