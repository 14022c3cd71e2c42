import { WorkerUnderTest } from '../../spec/worker-under-test.js';
import { nextSessionId } from './session-id.js';

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe('a session id', () => {
  it('is a UUIDv7 and sorts after the last one, whatever the clock says', () => {
    let last = nextSessionId(null, 1_700_000_000_000);
    for (const nowMs of [1_700_000_000_000, 1_700_000_000_000, 1_600_000_000_000, 1_700_000_000_001]) {
      const next = nextSessionId(last, nowMs);
      expect(next).toMatch(UUID_V7);
      expect(next > last).toBe(true);
      last = next;
    }
  });
});

describe('a session', () => {
  let worker: WorkerUnderTest;

  beforeEach(async () => {
    worker = await WorkerUnderTest.create({ leaseDurationMs: 300 });
  });
  afterEach(() => worker.remove());

  it('is kept alive by heartbeats', async () => {
    await worker.start();
    const { body } = await worker.control.heard('heartbeat', 2);
    expect(body).toMatchObject({ generation: 1, availableSlots: 1, leaseDurationMs: 300 });
  });

  it('is registered with the same id when control has fenced it, and with a larger one when that is refused', async () => {
    await worker.start();
    const first = await worker.control.heard('register');
    await worker.control.heard('heartbeat');
    worker.control.on('heartbeat', () => {
      worker.control.on('heartbeat', null);
      worker.control.on('register', () => {
        worker.control.on('register', null);
        return { refuse: 'worker_session_fenced', status: 409 };
      });
      return { refuse: 'worker_session_fenced', status: 409 };
    });
    const [again, next] = [
      await worker.control.heard('register', 2),
      await worker.control.heard('register', 3),
    ];
    expect(again.sessionId).toBe(first.sessionId);
    expect(next.sessionId > first.sessionId).toBe(true);
  });

  it('is the same one after a restart', async () => {
    await worker.start();
    const first = await worker.control.heard('register');
    await worker.stop();
    await worker.start();
    expect((await worker.control.heard('register', 2)).sessionId).toBe(first.sessionId);
  });

  it('asks with the same claim through idle answers, and with another once that one is fenced', async () => {
    await worker.start();
    const first = await worker.control.heard('offers', 1);
    const second = await worker.control.heard('offers', 2);
    expect(second.body).toEqual(first.body);
    worker.control.on('offers', () => {
      worker.control.on('offers', null);
      return { refuse: 'worker_offer_fenced', status: 409 };
    });
    await worker.control.heard('offers', worker.control.asked('offers').length + 3);
    const last = worker.control.asked('offers').at(-1)!;
    expect(last.body.offerId).not.toBe(first.body.offerId);
    expect(last.body.leaseToken).not.toBe(first.body.leaseToken);
  });

  it('belongs to one worker: an inbox of another one is refused', async () => {
    await worker.start();
    await worker.control.heard('register');
    await worker.stop();
    await worker.rename('worker-2');
    await expect(worker.start()).rejects.toMatchObject({ code: 'configuration_invalid' });
  });
});
