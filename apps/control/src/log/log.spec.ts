import type { Logger } from 'pino';
import { QueryFailedError } from 'typeorm';
import { ValiseError } from '@valise/contracts/failure';
import { createLog } from './log.js';

const CANARY = 'hunter2-canary';

let written: string;
let log: Logger;

beforeEach(() => {
  written = '';
  log = createLog('trace', {
    write: (line: string) => {
      written += line;
    },
  });
});

const line = (): Record<string, unknown> => JSON.parse(written) as Record<string, unknown>;

class Connection {
  readonly password = CANARY;
  toJSON(): string {
    return CANARY;
  }
}

const poisoned = (): Error =>
  Object.assign(new QueryFailedError(`INSERT ${CANARY}`, [CANARY], new Error(CANARY)), {
    detail: CANARY,
    toJSON: () => CANARY,
    [Symbol.for(CANARY)]: CANARY,
  });

/** What an author might hand to a log, each with something in it that nobody may read. */
const LINES: Record<string, (log: Logger) => void> = {
  'an error as the only argument': (to) => {
    to.error(poisoned());
  },
  'an error without a sentence': (to) => {
    to.error({ err: poisoned() });
  },
  'an error under another key': (to) => {
    to.error({ failure: poisoned(), deep: { in: [poisoned()] } }, 'failed');
  },
  'arguments for a format': (to) => {
    to.error('failed: %s', CANARY);
    to.error({ event: 'x' }, 'failed: %s %o', CANARY, poisoned());
  },
  'an object that writes itself': (to) => {
    to.error({ connection: new Connection(), literal: { toJSON: () => CANARY } }, 'failed');
  },
  'an object with secrets in it': (to) => {
    to.error({ connection: new Connection(), bytes: Buffer.from(CANARY), set: new Map([[1, CANARY]]) }, 'x');
  },
  'a getter': (to) => {
    to.error(
      {
        get secret(): string {
          return CANARY;
        },
      },
      'x',
    );
  },
  'a getter that throws': (to) => {
    to.error(
      {
        get secret(): string {
          throw new Error(CANARY);
        },
      },
      'x',
    );
  },
};

describe('the log', () => {
  it.each(Object.entries(LINES))('writes nothing of what %s holds', (_, act) => {
    act(log);
    expect(written).toMatch(/^\{"level":50/);
    expect(written).not.toContain('hunter2');
    expect(written).not.toContain(Buffer.from(CANARY).toString('base64'));
    for (const each of written.trim().split('\n')) JSON.parse(each);
  });

  it('writes the fields of ours, and of an error its type, code and frames', () => {
    log.warn({ event: 'x', counts: { open: 1 }, err: new ValiseError('not_found', { runId: 'r' }) }, 'gone');
    expect(line()).toMatchObject({
      event: 'x',
      counts: { open: 1 },
      err: { type: 'ValiseError', code: 'not_found', facts: { runId: 'r' } },
      msg: 'gone',
    });
  });

  it('takes a sentence alone', () => {
    log.info('control stops');
    expect(line()).toMatchObject({ msg: 'control stops' });
  });
});
