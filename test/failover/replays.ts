import { randomUUID } from 'node:crypto';
import { completion, fenceOf, type Held, newLeaseToken, renewal, running } from '../support/held-attempt.js';
import { OPERATOR, plainSpec, publication } from '../support/published-task.js';
import { registration } from '../support/worker-session.js';
import type { Recorder } from '../history/recorder.js';
import type { Stage } from '../history/stage.js';

const PROJECT = 'replays';
const WORKER = 'worker-that-asks-again';

/** Every call of a run's life, each as it is sent once more after its answer was lost. */
export type Replays = Readonly<Record<string, () => Promise<unknown>>>;

/** A run is worked through to its end; a second one is left running. */
export async function workThrough(stage: Stage, recorder: Recorder, sessionId: string): Promise<Replays> {
  const allowed = { status: 'active', projects: [PROJECT], labels: {} } as const;
  await stage.workers.put(OPERATOR, WORKER, { ...allowed, projects: [PROJECT] });
  const key = { workerId: WORKER, sessionId };
  const { generation } = await stage.sessions.register(key, registration());
  const published = publication({ spec: plainSpec() });
  await stage.tasks.publish(OPERATOR, PROJECT, 'task', published);
  const first = await begin(stage, recorder, { ...key, generation });
  await stage.attempts.complete(key, completion(first.held));
  const second = await begin(stage, recorder, { ...key, generation });
  return {
    'publish task': async () => (await stage.tasks.publish(OPERATOR, PROJECT, 'task', published)).outcome,
    'start run': async () => (await stage.runs.start(OPERATOR, PROJECT, 'task', first.started)).outcome,
    register: async () => (await stage.sessions.register(key, registration())).generation === generation,
    completion: async () => (await stage.attempts.complete(key, completion(first.held))).status,
    'starting, after the end': async () => (await stage.attempts.starting(key, first.held.fence)).status,
    claim: async () => {
      const { offer } = await stage.leases.claim(key, second.asked);
      const { attemptId } = second.held.fence;
      return offer?.candidate.attemptId === attemptId ? offer.deliveryKind : 'another attempt';
    },
    starting: async () => (await stage.attempts.starting(key, second.held.fence)).status,
    running: async () => (await stage.attempts.running(key, running(second.held))).status,
    renew: async () => (await stage.leases.renew(key, renewal(second.held))).status,
  };
}

async function begin(stage: Stage, recorder: Recorder, worker: Held['worker']) {
  const started = { mutationId: randomUUID() };
  await stage.runs.start(OPERATOR, PROJECT, 'task', started);
  const asked = { workerGeneration: worker.generation, offerId: randomUUID(), leaseToken: newLeaseToken() };
  const answer = await recorder.call(
    { kind: 'claim', workerId: WORKER, requestId: asked.offerId },
    () => stage.leases.claim(worker, asked),
    ({ offer: claimed }) => ({
      answer: claimed ? 'new_claim' : 'idle',
      attemptId: claimed?.candidate.attemptId ?? null,
      leaseGeneration: claimed?.lease.leaseGeneration ?? null,
      leaseVersion: claimed?.lease.version ?? null,
    }),
  );
  const offer = answer?.offer;
  if (!offer) throw new Error('the run waits for this worker');
  const held: Held = { worker, offer, fence: fenceOf(worker, offer, asked.leaseToken) };
  await stage.attempts.starting(worker, held.fence);
  await stage.attempts.running(worker, running(held));
  return { started, asked, held };
}

/** What the replays say. */
export async function ask(replays: Replays): Promise<Record<string, unknown>> {
  const answers: Record<string, unknown> = {};
  for (const [name, replay] of Object.entries(replays)) answers[name] = await replay();
  return answers;
}
