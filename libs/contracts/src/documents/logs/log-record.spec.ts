import * as fc from 'fast-check';
import { holds } from '../../../spec/property.js';
import { readLogRecords, textOfLog, writeLogRecords } from './log-record.js';

const AT_MS = Date.UTC(2026, 0, 31, 12);
const written = (text: string): string => writeLogRecords('stdout', AT_MS, Buffer.from(text)).toString();

describe('log records', () => {
  it('say when a line came, on which stream, and whether it ends', () => {
    expect(written('one\ntwo')).toBe(
      '2026-01-31T12:00:00.000Z stdout F one\n2026-01-31T12:00:00.000Z stdout P two\n',
    );
    expect(written('\n')).toBe('2026-01-31T12:00:00.000Z stdout F \n');
    expect(written('')).toBe('');
  });

  it('lose nothing of any bytes, in whatever pieces they come', () => {
    const output = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 8 });
    const property = fc.property(output, (pieces) => {
      const log = Buffer.concat(pieces.map((piece) => writeLogRecords('stderr', AT_MS, piece)));
      expect(textOfLog(log).equals(Buffer.concat(pieces))).toBe(true);
      expect(textOfLog(log, ['stdout']).length).toBe(0);
    });
    holds('log/identity', property);
  });

  it('are read as they were written', () => {
    const log = Buffer.concat([
      writeLogRecords('stdout', AT_MS, Buffer.from('a b  c')),
      writeLogRecords('valise', AT_MS + 1, Buffer.from('\n')),
    ]);
    expect(
      [...readLogRecords(log)].map((record) => ({
        ...record,
        content: Buffer.from(record.content).toString(),
      })),
    ).toEqual([
      { atMs: AT_MS, stream: 'stdout', endsLine: false, content: 'a b  c' },
      { atMs: AT_MS + 1, stream: 'valise', endsLine: true, content: '' },
    ]);
  });

  it.each([
    'no record\n',
    '2026-01-31T12:00:00.000Z stdout F no end',
    '2026-01-31T12:00:00.000Z stdin F x\n',
    '2026-01-31T12:00:00.000Z stdout X x\n',
    '2026-01-31T12:00:00Z stdout F x\n',
    '2026-01-31T12:00:00.000Z stdout F\n',
    '\n',
  ])('are refused when they are none: %j', (text) => {
    let refusal: unknown = null;
    try {
      Array.from(readLogRecords(Buffer.from(text)));
    } catch (error) {
      refusal = error;
    }
    expect(refusal).toMatchObject({ code: 'LOG_ARTIFACT_INVALID' });
  });
});
