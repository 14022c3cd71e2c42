import { measureWorkerResidue, SHORT_WORKER, type WorkerResidueReport } from './residue/worker-residue.js';
import { useDatabase } from './support/postgres.js';

const database = useDatabase();

describe('the worker’s memory, one second after a task’s end', () => {
  let report: WorkerResidueReport;
  beforeAll(async () => {
    report = await measureWorkerResidue(database(), SHORT_WORKER);
  }, 120_000);

  it('has no copy of any secret of the task, nor of its bundle, in the masker neither', () => {
    expect(report.found).toEqual([]);
  });

  it('was searched well enough to see what the worker does keep, in UTF-8 and in UTF-16', () => {
    expect(report.decoySeen).toEqual({ utf8: true, utf16: true });
  });

  it('had them all while the task ran, for its masker, and they were seen there', () => {
    expect(report.seenWhileRunning).toBe(report.tasks);
  });
});
