import { writeLogRecords } from '@valise/contracts/documents';
import { harmless, linesOf, remarksOf } from './run-log.js';

const LOG = Buffer.concat([
  writeLogRecords('stdout', 1, Buffer.from('one\ntw')),
  writeLogRecords('stderr', 2, Buffer.from('error\n')),
  writeLogRecords('stdout', 3, Buffer.from('o\n')),
  writeLogRecords('valise', 4, Buffer.from('7 bytes of the output could not be kept.\n')),
  writeLogRecords('stdout', 5, Buffer.from('last')),
]);

const shown = (streams: ('stdout' | 'stderr')[], sinceLine = 1): string =>
  Buffer.concat([...linesOf(LOG, { streams, sinceLine })]).toString();

describe('the log of a run', () => {
  it('is shown as the task wrote it, one stream alone where that is asked for', () => {
    expect(shown(['stdout', 'stderr'])).toBe('one\ntwerror\no\nlast');
    expect(shown(['stdout'])).toBe('one\ntwo\nlast');
    expect(shown(['stderr'])).toBe('error\n');
  });

  it('is shown from a line on', () => {
    expect(shown(['stdout'], 2)).toBe('two\nlast');
    expect(shown(['stdout'], 3)).toBe('last');
    expect(shown(['stdout'], 4)).toBe('');
  });

  it('says what is missing apart from what the task wrote', () => {
    expect(remarksOf(LOG)).toEqual(['7 bytes of the output could not be kept.']);
  });

  it('cannot drive a terminal', () => {
    const hostile = Buffer.from('\u001b]0;title\u0007 a\tb\r\n\u009b2J\u007f é');
    expect(Buffer.from(harmless(hostile)).toString()).toBe('?]0;title? a\tb?\n\u009b2J? é');
  });
});
