import { randomUUID } from 'node:crypto';
import { LeaseService, TransactionRunner } from '@valise/authority';
import { newLeaseToken } from '../support/held-attempt.js';
import { useDatabase } from '../support/postgres.js';
import { report } from '../support/verification.js';
import type { TestWorker } from '../support/worker-session.js';
import { useWorld } from '../support/world.js';
import { queue } from './population.js';

const CLAIMERS = 32;
const ATTEMPTS = 1000;
const database = useDatabase();
const world = useWorld(database);

describe('32 workers that claim at once', () => {
  it('drain 1,000 attempts, each claimed once, without a retry storm', async () => {
    await queue(world(), database(), ATTEMPTS);
    const ingress = await world().connect('valise_ingress', CLAIMERS);
    try {
      const leases = ingress.get(LeaseService);
      const slots = { maxConcurrentRuns: 1024, availableSlots: 1024 };
      const workers: TestWorker[] = [];
      for (let worker = 0; worker < CLAIMERS; worker += 1) {
        workers.push(await world().worker(undefined, {}, slots));
      }
      const claimed: string[] = [];
      let raced = 0;
      const drain = async (worker: TestWorker): Promise<void> => {
        for (;;) {
          const offerId = randomUUID();
          const { offer, reason } = await leases.claim(worker, {
            workerGeneration: worker.generation,
            offerId,
            leaseToken: newLeaseToken(),
          });
          if (offer) claimed.push(offer.candidate.attemptId);
          else if (reason === 'claim_raced') raced += 1;
          else return;
        }
      };
      const started = performance.now();
      await Promise.all(workers.map(drain));
      const seconds = (performance.now() - started) / 1000;
      const { retried, unavailable } = ingress.get(TransactionRunner).counts;
      report(
        `${CLAIMERS} claimers: ${ATTEMPTS} attempts in ${seconds.toFixed(1)} s, ${retried} retried, ` +
          `${raced} answered claim_raced`,
      );
      expect(claimed).toHaveLength(ATTEMPTS);
      expect(new Set(claimed).size).toBe(ATTEMPTS);
      expect(unavailable).toBe(0);
      expect(retried).toBeLessThan(ATTEMPTS / 20);
    } finally {
      await ingress.close();
    }
  }, 300_000);
});
