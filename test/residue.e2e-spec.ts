import {
  measureControlResidue,
  SHORT_CONTROL,
  type ControlResidueReport,
} from './residue/control-residue.js';
import { useDatabase } from './support/postgres.js';

const database = useDatabase();

describe('control’s memory, one second after the last delivery', () => {
  let report: ControlResidueReport;
  beforeAll(async () => {
    report = await measureControlResidue(database(), SHORT_CONTROL);
  });

  it('has no copy of any secret, kept alive or not, read slowly or left half-way', () => {
    expect(report.found).toEqual([]);
  });

  it('was searched well enough to see what control does keep, in UTF-8 and in UTF-16', () => {
    expect(report.decoySeen).toEqual({ utf8: true, utf16: true });
  });
});
