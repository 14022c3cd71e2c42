export interface BenchOptions {
  readonly full: boolean;
  /** Of each contestant, for each row. */
  readonly rounds: number;
  readonly say: (line: string) => void;
}
