import { ValiseError } from '@valise/contracts/failure';
import { Admission, type AdmissionLimits, type Place } from './admission.js';

const LIMITS: AdmissionLimits = {
  running: 4,
  runningPerCaller: 2,
  places: 100,
  placesPerCaller: 50,
  waitMs: 60_000,
};

const admission = (limits: Partial<AdmissionLimits> = {}): Admission =>
  new Admission({ ...LIMITS, ...limits }, 'worker_ingress_unavailable');

const codeOf = (error: unknown): unknown =>
  error instanceof ValiseError ? [error.code, error.facts.rule] : error;

const refusalOf = (act: () => unknown): unknown => {
  try {
    act();
    return 'taken';
  } catch (error) {
    return codeOf(error);
  }
};

const taken: Place[] = [];

afterEach(() => {
  taken.splice(0).forEach(end);
});

/** What it was for is done, and the answer has left. */
function end(place: Place): void {
  place.rest();
  place.leave();
}

/** Names the callers in the order in which their turns come. */
class Turns {
  readonly order: string[] = [];
  readonly running: Place[] = [];

  constructor(private readonly all: Admission) {}

  ask(caller: string): void {
    const place = this.all.take(caller);
    taken.push(place);
    place.turn().then(
      () => {
        this.order.push(caller);
        this.running.push(place);
      },
      () => undefined,
    );
  }

  /** Ends the oldest turn; whoever gets it has it afterwards. */
  async endOne(): Promise<void> {
    this.running.splice(0, 1).forEach(end);
    await settled();
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('an admission', () => {
  it('lets no more work at once than its limit, and the next one as soon as one has ended', async () => {
    const all = admission();
    const turns = new Turns(all);
    for (const caller of ['a', 'b', 'c', 'd', 'e']) turns.ask(caller);
    await settled();
    expect([turns.order.join(''), all.load]).toEqual(['abcd', { running: 4, waiting: 1 }]);
    await turns.endOne();
    expect([turns.order.join(''), all.load]).toEqual(['abcde', { running: 4, waiting: 0 }]);
  });

  it('gives one caller its share of the turns and no more, though nobody else asks', async () => {
    const turns = new Turns(admission());
    for (let count = 0; count < 10; count += 1) turns.ask('a');
    await settled();
    expect(turns.order).toEqual(['a', 'a']);
  });

  it('goes round by caller: one with forty requests delays another by one turn at most', async () => {
    const turns = new Turns(admission());
    for (const caller of ['a', 'b']) for (let count = 0; count < 40; count += 1) turns.ask(caller);
    await settled();
    turns.ask('c');
    turns.ask('d');
    for (let count = 0; count < 6; count += 1) await turns.endOne();
    expect(turns.order.slice(0, 4).sort().join('')).toBe('aabb');
    expect(turns.order.slice(4, 8).sort().join('')).toBe('abcd');
  });

  it('turns away the caller that has too many, and nobody else', () => {
    const all = admission({ placesPerCaller: 2 });
    all.take('a');
    const second = all.take('a');
    expect(refusalOf(() => all.take('a'))).toEqual(['rate_limited', 'caller']);
    expect(refusalOf(() => all.take('b'))).toBe('taken');
    second.leave();
    expect(refusalOf(() => all.take('a'))).toBe('taken');
    expect(all.refused).toEqual({ caller: 1, listener: 0, late: 0 });
  });

  it('turns away everybody while all places are taken', () => {
    const all = admission({ places: 2 });
    const first = all.take('a');
    all.take('b');
    expect(refusalOf(() => all.take('c'))).toEqual(['worker_ingress_unavailable', 'listener']);
    first.leave();
    expect(refusalOf(() => all.take('c'))).toBe('taken');
  });

  it('turns away whose turn does not come in time, and forgets it', async () => {
    const all = admission({ running: 1, waitMs: 1 });
    const working = all.take('a');
    await working.turn();
    const late = all.take('b');
    await expect(late.turn().catch(codeOf)).resolves.toEqual(['worker_ingress_unavailable', 'late']);
    late.leave();
    end(working);
    await expect(all.take('b').turn()).resolves.toBeUndefined();
  });

  it('gives no turn to a caller that has left, and keeps no place for it', async () => {
    const all = admission({ running: 1 });
    const working = all.take('a');
    await working.turn();
    const gone = all.take('b');
    const turn = gone.turn().catch(codeOf);
    gone.leave();
    gone.leave();
    await expect(turn).resolves.toEqual(['request_timeout', undefined]);
    end(working);
    expect(all.load).toEqual({ running: 0, waiting: 0 });
    await expect(all.take('c').turn()).resolves.toBeUndefined();
    await expect(gone.turn().catch(codeOf)).resolves.toEqual(['request_timeout', undefined]);
  });

  it('gives a caller that leaves in its turn no second one while the work goes on', async () => {
    const all = admission({ runningPerCaller: 1, placesPerCaller: 2 });
    const left = all.take('a');
    await left.turn();
    left.leave();
    left.leave();
    const again = all.take('a');
    let hasTurn = false;
    const turn = again.turn().then(() => {
      hasTurn = true;
    });
    await settled();
    expect([hasTurn, refusalOf(() => all.take('a')), all.load]).toEqual([
      false,
      ['rate_limited', 'caller'],
      { running: 1, waiting: 1 },
    ]);
    left.rest();
    left.rest();
    await turn;
    expect(all.load).toEqual({ running: 1, waiting: 0 });
    end(again);
    expect(all.load).toEqual({ running: 0, waiting: 0 });
  });

  it('gives the turn on when the work is done, and the place only when the answer has left', async () => {
    const all = admission({ running: 1, placesPerCaller: 1 });
    const slow = all.take('a');
    await slow.turn();
    slow.rest();
    await expect(all.take('b').turn()).resolves.toBeUndefined();
    expect(refusalOf(() => all.take('a'))).toEqual(['rate_limited', 'caller']);
    slow.leave();
    expect(all.load).toEqual({ running: 1, waiting: 0 });
  });
});
