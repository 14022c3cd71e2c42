import { RuleBroken } from '@valise/contracts/settings';

const BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----\r?\n([A-Za-z0-9+/=\r\n]+)-----END \1-----/g;

/**
 * The DER documents of a PEM text, all of them labelled `label` (RFC 7468). Text between the blocks is a comment.
 * @throws RuleBroken when there is none, or a block is damaged or of another kind
 */
export function pemDocuments(text: string, label: string): readonly Buffer[] {
  const blocks = [...text.matchAll(BLOCK)];
  const begun = text.split('-----BEGIN ').length - 1;
  if (blocks.length === 0 || blocks.length !== begun || blocks.some(([, found]) => found !== label))
    throw new RuleBroken(`must hold PEM blocks of the kind ${label} and no other`);
  return blocks.map(([, , base64 = '']) => Buffer.from(base64, 'base64'));
}
