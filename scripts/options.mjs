import { parseArgs } from 'node:util';
import { Obstacle } from './prepare.mjs';

/** The options of the command line; `options` as `parseArgs` has them. @throws Obstacle for any other argument */
export function readOptions(options) {
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    throw new Obstacle(error.message);
  }
}

/** The whole number that an option was given. @throws Obstacle */
export function integer(option, text, min, max) {
  const value = /^\d+$/.test(text) ? Number(text) : NaN;
  if (!(value >= min && value <= max)) throw new Obstacle(`${option} is an integer from ${min} to ${max}.`);
  return value;
}
