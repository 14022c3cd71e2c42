/**
 * Loaded before the worker (`--import`): the process is killed, as by the kernel, when it reaches one of the
 * boundaries CRASH_AT (by commas) that its hook `Steps` names, once it has passed CRASH_AFTER where that is given.
 */
import { createRequire } from 'node:module';
import { dirname } from 'node:path';

const { CRASH_AT, CRASH_AFTER } = process.env;
const require = createRequire(process.argv[1]);
require('reflect-metadata');
const { Steps } = require(`${dirname(process.argv[1])}/events/steps.js`);
let armed = CRASH_AFTER === undefined;

function passing(boundary) {
  armed ||= boundary === CRASH_AFTER;
  if (armed && CRASH_AT.split(',').includes(boundary)) process.kill(process.pid, 'SIGKILL');
}

const { reached, journal } = Steps.prototype;
Steps.prototype.reached = function (step, fields) {
  reached.call(this, step, fields);
  passing(step);
};
Steps.prototype.journal = function (moment, change) {
  journal.call(this, moment, change);
  passing(`${moment} ${change}`);
};
