import { ValiseError } from '@valise/contracts/failure';

export type Grade = 'ok' | 'warning' | 'problem';

/** What one look at the machine or the settings found, in words for the operator; no secret and no content of a file. */
export interface Finding {
  readonly grade: Grade;
  readonly subject: string;
  readonly sentence: string;
}

export const ok = (subject: string, sentence: string): Finding => ({ grade: 'ok', subject, sentence });

/** The worker starts, but an operator should know. */
export const warning = (subject: string, sentence: string): Finding => ({
  grade: 'warning',
  subject,
  sentence,
});

/** The worker does not start, or cannot do its work. */
export const problem = (subject: string, sentence: string): Finding => ({
  grade: 'problem',
  subject,
  sentence,
});

/** A setting breaks its rule, as `error` says. @throws `error` when it is of another kind */
export function brokenRule(subject: string, error: unknown): Finding {
  if (!(error instanceof ValiseError)) throw error;
  return problem(subject, `${String(error.facts.setting)} ${String(error.facts.rule)}`);
}
