import { ValiseError } from '@valise/contracts/failure';
import type { World } from './world.js';

/** The code of the refusal, and the proof that it left the world as it was. */
export async function refusal(world: World, act: () => Promise<unknown>): Promise<string> {
  const before = await world.snapshot();
  const code = await codeOf(act());
  expect(await world.snapshot()).toEqual(before);
  return code;
}

/** The code that `outcome` is refused with. */
export async function codeOf(outcome: Promise<unknown>): Promise<string> {
  try {
    await outcome;
  } catch (error) {
    if (error instanceof ValiseError) return error.code;
    throw error;
  }
  return 'no refusal';
}
