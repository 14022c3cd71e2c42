import { ValiseError } from '../src/failure/index.js';

/** The code and the facts that `act` is refused with; null when it is done, and any other error as it was thrown. */
export function refusal(act: () => unknown): unknown {
  try {
    act();
    return null;
  } catch (error) {
    return error instanceof ValiseError ? { code: error.code, ...error.facts } : error;
  }
}
