import { pemBlocks, RuleBroken } from '@valise/contracts/settings';

/**
 * The DER documents of a PEM text, all of them labelled `label`.
 * @throws RuleBroken when there is none, or a block is damaged or of another kind
 */
export function pemDocuments(text: string, label: string): readonly Buffer[] {
  const blocks = pemBlocks(text);
  const begun = text.split('-----BEGIN ').length - 1;
  if (blocks.length === 0 || blocks.length !== begun || blocks.some((block) => block.label !== label))
    throw new RuleBroken(`must hold PEM blocks of the kind ${label} and no other`);
  return blocks.map(({ der }) => der);
}
