import { useDatabase } from '../support/postgres.js';
import { report, verification } from '../support/verification.js';
import { check } from './checker.js';
import { play, type Played } from './play.js';
import { movesOf } from './replay.js';

const { operations, seed } = verification;

describe.each([
  ['at the isolation levels of the product', false],
  ['with every transaction lowered to READ COMMITTED', true],
])('32 hostile workers, operators, sweepers and time at once, %s', (name, lowered) => {
  const database = useDatabase();

  it('leave a history in which no rule of state.md is broken', async () => {
    const started = performance.now();
    const played = await play(database(), { operations: Math.ceil(operations / 2), seed, lowered });
    const seconds = (performance.now() - started) / 1000;
    report(`history ${name}: ${summary(played)}, ${seconds.toFixed(1)} s`);
    expect(played.faults).toEqual([]);
    expect([...new Set(check(played))].slice(0, 20)).toEqual([]);
    expectWork(played);
  }, 86_400_000);
});

/** A history in which little happened proves little. */
function expectWork({ calls }: Played): void {
  const answers = (kind: string, answer: string): number =>
    calls.filter((call) => call.kind === kind && call.answer === answer).length;
  expect(answers('deliver', 'granted')).toBeGreaterThan(calls.length / 200);
  expect(answers('deliver', 'worker_secret_delivery_fenced')).toBeGreaterThan(calls.length / 100);
  expect(answers('claim', 'new_claim')).toBeGreaterThan(calls.length / 50);
  expect(answers('renew', 'renewed')).toBeGreaterThan(calls.length / 100);
}

function summary({ calls, moves, retried }: Played): string {
  const counts = new Map<string, number>();
  const denials = movesOf(moves, 'delivery_records').flatMap(({ after }) => after.denial ?? []);
  for (const name of [
    ...calls.map(({ kind, answer }) => `${kind}/${answer}`),
    ...denials.map((denial) => `denied/${denial}`),
  ]) {
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const words = [...counts].sort(([one], [other]) => (one < other ? -1 : 1));
  return `${calls.length} calls, ${moves.length} moves, ${retried} retried; ${words
    .map(([name, count]) => `${name} ${count}`)
    .join(', ')}`;
}
