const BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----\r?\n([A-Za-z0-9+/=\r\n]+)-----END \1-----/g;

/** One block of a PEM text (RFC 7468), and the document in it. */
export interface PemBlock {
  readonly label: string;
  readonly der: Buffer;
}

/** The well-formed blocks of a PEM text; what stands between them is a comment. */
export function pemBlocks(text: string): readonly PemBlock[] {
  return [...text.matchAll(BLOCK)].map(([, label = '', base64 = '']) => ({
    label,
    der: Buffer.from(base64, 'base64'),
  }));
}
