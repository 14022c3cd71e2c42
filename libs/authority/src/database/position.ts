/** Where the last batch of a list in order of time ended. The next one begins behind it and comes round. */
export interface Position {
  readonly atMs: number;
  readonly id: string;
}

export const BEGINNING: Position = { atMs: 0, id: '' };
