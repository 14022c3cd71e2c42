import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { offerOf, plan } from '../../spec/plan.js';
import { IS_ROOT, TEST_BASE_UID } from '../../spec/worker-under-test.js';
import { monotonicMs } from '../clock/monotonic.js';
import { WorkerConfig } from '../config/worker-config.js';
import { Control } from '../ingress/control.js';
import { EventLog } from '../events/event-log.js';
import { SessionService } from '../sessions/session.service.js';
import { Attempt } from './attempt.js';
import { SlotProcesses } from './slot-processes.js';

const BASE_UID = TEST_BASE_UID + 300;
const STOP_GRACE_MS = 60_000;
const LEASE_MS = 20_000;
const CLAIM = { offerId: '0a0b0c0d-0000-4000-8000-000000000001', leaseToken: 'T'.repeat(43) };

const log = new EventLog('info', { write: () => undefined });
const config = Object.assign(Object.create(WorkerConfig.prototype) as WorkerConfig, {
  stopGraceMs: STOP_GRACE_MS,
  isolation: IS_ROOT
    ? { kind: 'uid_per_slot', baseUid: BASE_UID }
    : { kind: 'shared_uid', uid: process.getuid?.() ?? -1 },
});
const processes = new SlotProcesses(config, log);
afterAll(() => {
  processes.onModuleDestroy();
});

function attempt(): Attempt {
  const offer = offerOf(plan('true'), { ...CLAIM, workerId: 'w', sessionId: 's', generation: 1 });
  return new Attempt(0, { state: 'accepted', claim: CLAIM, offer }, LEASE_MS, {
    control: Object.create(Control.prototype) as Control,
    sessions: Object.create(SessionService.prototype) as SessionService,
    log,
  });
}

/** A process of the attempt's slot that takes no TERM. */
async function stubborn({ offer }: Attempt): Promise<{ ended: Promise<unknown[]> }> {
  const child = spawn('/bin/sh', ['-c', 'trap "" TERM; echo up; while :; do sleep 0.05; done'], {
    detached: true,
    cwd: '/',
    env: { PATH: '/usr/bin:/bin', QL3_ATTEMPT_ID: offer.candidate.attemptId },
    stdio: ['ignore', 'pipe', 'ignore'],
    ...(IS_ROOT && { uid: BASE_UID, gid: BASE_UID }),
  });
  const ended = once(child, 'exit');
  await once(child.stdout, 'data');
  return { ended };
}

describe('what lives in a slot', () => {
  it('has no grace once the lease is past control’s expiry', async () => {
    const late = attempt();
    const { ended } = await stubborn(late);
    late.lease.anchor(monotonicMs() - LEASE_MS);
    const before = monotonicMs();
    await processes.end(late, null);
    expect(await ended).toEqual([null, 'SIGKILL']);
    // Half the margin would be this.
    expect(monotonicMs() - before).toBeLessThan(late.lease.marginMs / 2);
  });

  (IS_ROOT ? it : it.skip)('is ended without grace before the next attempt starts there', async () => {
    const next = attempt();
    const { ended } = await stubborn(next);
    await processes.clear(next);
    expect(await ended).toEqual([null, 'SIGKILL']);
  });
});
