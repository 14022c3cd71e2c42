import { Client } from 'pg';
import { useDatabase } from '../support/postgres.js';
import { report, verification } from '../support/verification.js';
import { Cast, type Phase } from './cast.js';
import { check } from './checker.js';
import { conclude } from './play.js';
import { Random } from './random.js';
import { Recorder } from './recorder.js';
import { Scene } from './scene.js';
import { Stage } from './stage.js';
import { TimePlayer } from './time-player.js';
import { layTrail } from './trail.js';
import { Turnstile } from './turnstile.js';

type Act = (cast: Cast) => Promise<void>;

/** What is interrupted, and how far the attempt has come before it. */
const INTERRUPTED: Readonly<Record<string, readonly [Phase, Act]>> = {
  'a delivery': ['starting', (cast) => cast.deliver()],
  'a renewal': ['running', (cast) => cast.renew()],
  'a claim': ['queued', (cast) => cast.claim()],
  'a completion': ['running', (cast) => cast.complete()],
  'a repeated claim': ['claimed', (cast) => cast.claim()],
  starting: ['claimed', (cast) => cast.starting()],
  running: ['starting', (cast) => cast.running()],
  'a start-failure': ['starting', (cast) => cast.failToStart()],
  'a start-failure that gives back': ['starting', (cast) => cast.giveBack()],
  'a cancellation': ['starting', (cast) => cast.cancel()],
  'a larger session id': ['starting', (cast) => cast.replaceSession()],
  'a revocation': ['starting', (cast) => cast.revoke()],
  'a sweep of the expired lease': ['starting', (cast) => cast.sweepExpired()],
  'a sweep of the overdue run': ['running', (cast) => cast.sweepOverdue()],
};

/** What comes between. */
const INTERRUPTING: Readonly<Record<string, Act>> = {
  'a renewal': (cast) => cast.renew(),
  'another delivery': (cast) => cast.deliver(),
  'a completion': (cast) => cast.complete(),
  'a start-failure': (cast) => cast.failToStart(),
  'a start-failure that gives back': (cast) => cast.giveBack(),
  'a cancellation': (cast) => cast.cancel(),
  'a larger session id': (cast) => cast.replaceSession(),
  'a draining session': (cast) => cast.drain(),
  'a revocation': (cast) => cast.revoke(),
  'a project taken away': (cast) => cast.takeProject(),
  'the end of the lease': (cast) => cast.expire(),
  'a sweep of the expired lease': (cast) => cast.sweepExpired(),
  'a sweep of the overdue run': (cast) => cast.sweepOverdue(),
  'a claim by another worker': (cast) => cast.claimByAnother(),
};
/** What a worker says of an attempt it holds. */
const OF_A_HOLDER = /renewal|delivery|completion|start-failure|lease|overdue/;

type Plan = Readonly<Record<string, readonly string[]>>;

/** Everything interrupted by everything; of an attempt that nobody holds, no holder speaks. */
const EVERYTHING: Plan = Object.fromEntries(
  Object.entries(INTERRUPTED).map(([what, [phase]]) => [
    what,
    Object.keys(INTERRUPTING).filter((other) => phase !== 'queued' || !OF_A_HOLDER.test(other)),
  ]),
);
/** Those of which each has its own lock or condition to rely on. */
const DECISIVE: Plan = {
  'a renewal': ['a completion', 'a cancellation', 'a larger session id', 'the end of the lease'],
  'a claim': ['a cancellation', 'a larger session id', 'a revocation', 'a claim by another worker'],
};
/** Nothing but the delivery has another isolation level to lose. */
const DELIVERY: Plan = { 'a delivery': Object.keys(INTERRUPTING) };

const isLong = verification.operations >= 10_000;
const MAX_POINTS = 60;

describe.each([
  ['at the isolation levels of the product', false, isLong ? EVERYTHING : DECISIVE],
  ['with every transaction lowered to READ COMMITTED', true, DELIVERY],
])('one act between any two statements of another, %s', (name, lowered, plan) => {
  const database = useDatabase();

  it('leaves a history in which no rule of state.md is broken', async () => {
    const started = performance.now();
    const watcher = new Client({ connectionString: database().adminUrl });
    await watcher.connect();
    const turnstile = new Turnstile(async () => {
      const { rowCount } = await watcher.query(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      );
      return (rowCount ?? 0) > 0;
    });
    const stage = await Stage.open(database(), { lowered, pace: turnstile });
    try {
      const recorder = new Recorder();
      const scene = new Scene(database(), stage, recorder, new Random(1), 0);
      await layTrail(database());
      await scene.publishTasks();
      const titles = new Map<string, string>();
      for (const [what, others] of Object.entries(plan)) {
        for (const other of others) {
          let inside = true;
          for (let point = 0; inside; point += 1) {
            if (point > MAX_POINTS) throw new Error('an act has an end');
            const [phase, act] = INTERRUPTED[what] ?? [];
            if (!phase || !act) throw new Error('what is interrupted is known');
            const cast = await Cast.of(phase, scene);
            titles.set(cast.attemptId, `${what}, interrupted at ${point} by ${other}`);
            inside = await turnstile.interrupt(
              point,
              () => act(cast),
              async () => INTERRUPTING[other]?.(cast),
            );
            await cast.leave();
          }
        }
      }
      const played = await conclude(scene, new TimePlayer(scene));
      const seconds = (performance.now() - started) / 1000;
      report(`interruptions ${name}: ${titles.size}, ${played.calls.length} calls, ${seconds.toFixed(1)} s`);
      expect(played.faults).toEqual([]);
      const faults = check(played).map((fault) =>
        fault.replace(/attempt ([0-9a-f-]{36})/, (_all, id: string) => titles.get(id) ?? id),
      );
      expect([...new Set(faults)].slice(0, 20)).toEqual([]);
    } finally {
      await stage.close();
      await watcher.end();
    }
  }, 1_200_000);
});
