import type { Search } from '../../apps/cli/src/demo/search.js';
import type { Canary } from './canary.js';

/** What is left of secrets in a program that had them. */
export interface Residue {
  readonly canaries: number;
  /** Where a canary was seen 1 s after it was last used: which one, in which form, in which memory. */
  readonly found: readonly Found[];
  /** Whether text that the program keeps was seen, in UTF-8 and in UTF-16: else the search proves nothing. */
  readonly decoySeen: { readonly utf8: boolean; readonly utf16: boolean };
  readonly searchedBytes: number;
}

export interface Found {
  readonly canary: string;
  readonly form: string;
  readonly place: string;
}

/** Text that the program keeps, once in each encoding that strings have. */
export interface Decoy {
  readonly utf8: Canary;
  readonly utf16: Canary;
}

/** In which encodings `search` has seen it. */
export function decoySeen({ sightings }: Search, { utf8, utf16 }: Decoy): Residue['decoySeen'] {
  const seen = (canary: Canary, form: string): boolean =>
    sightings.some(({ pattern }) => pattern.needle === canary.needle && pattern.form === form);
  return { utf8: seen(utf8, 'raw'), utf16: seen(utf16, 'utf16') };
}
