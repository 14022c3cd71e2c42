import { check } from '../history/checker.js';
import type { Call } from '../history/history.js';
import { play } from '../history/play.js';
import type { Recorder } from '../history/recorder.js';
import { until } from '../support/until.js';
import { report, verification } from '../support/verification.js';
import { newSessionId } from '../support/worker-session.js';
import { ask, workThrough, type Replays } from './replays.js';
import { ReplicatedPostgres } from './replicated-postgres.js';

const OPERATIONS = 600;
const PATIENCE = { deadlineMs: 120_000 };
const { promotions, seed } = verification;

const unavailable = ({ calls }: Recorder): Call[] =>
  calls.filter(({ answer }) => answer.endsWith('_unavailable') || answer === 'unknown');

describe.each(Array.from({ length: promotions }, (_none, promotion) => promotion))(
  'a standby that is promoted under load (%i)',
  (promotion) => {
    let cluster: ReplicatedPostgres;
    beforeAll(async () => {
      cluster = await ReplicatedPostgres.start();
    }, 120_000);
    afterAll(() => cluster.stop(), 60_000);

    it('leaves a history in which no rule is broken and no answer is lost, and answers replays as before', async () => {
      let asBefore: Record<string, unknown> = {};
      let afterwards: Record<string, unknown> = {};
      let outageMs = 0;
      const played = await play(cluster, {
        operations: OPERATIONS,
        seed: seed + promotion,
        lowered: false,
        meanwhile: async (stage, recorder) => {
          const replays: Replays = await workThrough(stage, recorder, newSessionId());
          asBefore = await ask(replays);
          await until('half of the operations', () => recorder.begun > OPERATIONS / 2, PATIENCE);
          const beforehand = unavailable(recorder).length;
          const crashedAt = performance.now();
          cluster.crash();
          // Some have met the node that only reads.
          await until(
            'refusals of the standby',
            () => unavailable(recorder).length > beforehand + 40,
            PATIENCE,
          );
          await cluster.promote();
          const promotedAt = performance.now();
          await until(
            'a delivery decided by the promoted standby',
            () => answeredSince(recorder, promotedAt),
            PATIENCE,
          );
          outageMs = performance.now() - crashedAt;
          afterwards = await ask(replays);
        },
      });
      const faults = [...new Set(check(played))];
      report(
        `failover ${promotion}: ${played.calls.length} calls, ${outageMs.toFixed(0)} ms without an answer, ` +
          `${played.calls.filter(({ answer }) => answer === 'unknown').length} of unknown outcome`,
      );
      expect(played.faults).toEqual([]);
      expect(faults.slice(0, 20)).toEqual([]);
      expect(afterwards).toEqual(asBefore);
      expect(afterwards).toMatchObject({ completion: 'already_completed', claim: 'lease_recovery' });
    }, 600_000);
  },
);

/** A delivery is decided again: the pools have left the node that was read-only. */
function answeredSince({ calls }: Recorder, sinceMs: number): boolean {
  return calls.some(
    ({ kind, answer, invokedMs }) =>
      kind === 'deliver' &&
      invokedMs > sinceMs &&
      (answer === 'granted' || answer === 'worker_secret_delivery_fenced'),
  );
}
