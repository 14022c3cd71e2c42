import { offerOf, plan } from '../../spec/plan.js';
import { monotonicMs } from '../clock/monotonic.js';
import { Control } from '../ingress/control.js';
import { EventLog } from '../events/event-log.js';
import { SessionService } from '../sessions/session.service.js';
import { Halt } from './halt.js';
import { Lease } from './lease.js';

const CLAIM = { offerId: '0a0b0c0d-0000-4000-8000-000000000001', leaseToken: 'T'.repeat(43) };
const offer = offerOf(plan('true'), { ...CLAIM, workerId: 'worker-1', sessionId: 's', generation: 1 });
const record = { state: 'accepted', claim: CLAIM, offer } as const;

/** What stands around a lease that never asks control anything. */
const logged: string[] = [];
const surroundings = {
  control: Object.create(Control.prototype) as Control,
  sessions: Object.create(SessionService.prototype) as SessionService,
  log: new EventLog('info', { write: (line) => void logged.push(line) }),
};

const leaseOf = (durationMs: number, halt: Halt): Lease => new Lease(record, durationMs, halt, surroundings);

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else
      signal.addEventListener('abort', () => {
        resolve();
      });
  });

describe('a lease that is not renewed', () => {
  it('is lost by our own clock whatever fraction of a millisecond it was granted at', async () => {
    const halts = Array.from({ length: 400 }, (_, index) => {
      const halt = new Halt();
      const durationMs = 40 + index / 7;
      leaseOf(durationMs, halt).anchor(monotonicMs());
      return { halt, fenceAtMs: monotonicMs() + durationMs * 0.75 };
    });
    const lostAtMs = await Promise.all(
      halts.map(async ({ halt }) => {
        await aborted(halt.urgent);
        return { atMs: monotonicMs(), reasonCode: halt.reasonCode };
      }),
    );
    for (const [index, { atMs, reasonCode }] of lostAtMs.entries()) {
      expect(reasonCode).toBe('lease_lost');
      // The anchor was read a moment earlier than the expectation.
      expect(atMs).toBeGreaterThan(halts[index]!.fenceAtMs - 5);
    }
  }, 5000);

  it('is lost also where a timer fires before its time', async () => {
    const timer = globalThis.setTimeout;
    const early = jest
      .spyOn(globalThis, 'setTimeout')
      .mockImplementation((act: () => void, ms = 0) => timer(act, Math.max(0, ms - 20)));
    try {
      const halt = new Halt();
      leaseOf(40, halt).anchor(monotonicMs());
      await aborted(halt.urgent);
    } finally {
      early.mockRestore();
    }
  }, 5000);

  it('is lost at once when the answer that granted it comes too late', () => {
    const halt = new Halt();
    const lease = leaseOf(1000, halt);
    lease.anchor(monotonicMs() - 750);
    expect(halt.reasonCode).toBe('lease_lost');
    expect(lease.isHeld).toBe(false);
  });

  it('is lost when it is to be confirmed after it has run out, before control is asked', async () => {
    const halt = new Halt();
    const lease = leaseOf(20, halt);
    lease.anchor(monotonicMs());
    const fenceAtMs = monotonicMs() + 15;
    // No timer runs meanwhile.
    while (monotonicMs() < fenceAtMs);
    logged.length = 0;
    await lease.confirm(new AbortController().signal);
    expect(halt.reasonCode).toBe('lease_lost');
    expect(logged.join('')).not.toContain('renew_failed');
  });

  it('is ours for the margin after it has run out, and for no time before it was granted', () => {
    const lease = leaseOf(1000, new Halt());
    expect(lease.isOursForMs).toBe(0);
    lease.anchor(monotonicMs() - 800);
    expect(lease.isOursForMs).toBeLessThanOrEqual(200);
    expect(lease.isOursForMs).toBeGreaterThan(100);
    lease.anchor(monotonicMs() - 2000);
    expect(lease.isOursForMs).toBe(0);
  });
});
