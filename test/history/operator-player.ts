import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { PutWorkerRequest } from '@valise/contracts/wire';
import { OPERATOR, PROJECT } from '../support/published-task.js';
import type { CallKind } from './history.js';
import type { Answered } from './recorder.js';
import type { Scene } from './scene.js';

const ALLOWED: PutWorkerRequest = { status: 'active', projects: [PROJECT], labels: {} };
const RESTRICTED: readonly PutWorkerRequest[] = [
  { status: 'revoked', projects: [], labels: {} },
  { status: 'revoked', projects: [PROJECT], labels: {} },
  { status: 'active', projects: ['another-project'], labels: {} },
  { status: 'draining', projects: [PROJECT], labels: {} },
];

/** Operators at work: runs are started, cancelled and tried again; workers lose and regain what they may do. */
export class OperatorPlayer {
  private readonly restricted: string[] = [];

  constructor(private readonly scene: Scene) {}

  async play(): Promise<void> {
    const { random } = this.scene;
    while (!this.scene.over) {
      await pause(random.below(40));
      await this.step();
    }
    for (const workerId of this.restricted) await this.put(workerId, ALLOWED);
  }

  private async step(): Promise<void> {
    const { random, runIds } = this.scene;
    if (this.scene.hungry > 4 && random.chance(0.5)) {
      this.scene.hungry = 0;
      return this.startRuns(4);
    }
    const recent = this.recentRun();
    await random.weighted<() => Promise<void>>([
      [runIds.length > 0 ? 2.5 : 0, () => this.changeRun('cancel_run', recent)],
      [runIds.length > 0 ? 3 : 0, () => this.changeRun('retry_run', random.pick(runIds) ?? recent)],
      [2, () => this.restrict(this.scene.recentMemory()?.held.worker.workerId ?? '')],
      [this.restricted.length > 0 ? 3 : 0, () => this.put(this.restricted.shift() ?? '', ALLOWED)],
    ])();
  }

  /** A run whose attempt somebody reaches for. */
  private recentRun(): string {
    return this.scene.recentMemory()?.held.fence.runId ?? this.scene.runIds.at(-1) ?? '';
  }

  async startRuns(runs: number): Promise<void> {
    for (let started = 0; started < runs; started += 1) await this.startRun();
  }

  private async startRun(): Promise<void> {
    const taskId = this.scene.random.pick(this.scene.taskIds) ?? '';
    await this.mutate('start_run', async () => {
      const run = await this.scene.stage.runs.start(OPERATOR, PROJECT, taskId, { mutationId: randomUUID() });
      this.scene.runIds.push(run.runId);
      return { answer: run.outcome, attemptId: run.attempts.at(-1)?.attemptId ?? null };
    });
  }

  changeRun(kind: 'cancel_run' | 'retry_run', runId: string): Promise<void> {
    const { runs } = this.scene.stage;
    const mutationId = randomUUID();
    return this.mutate(kind, async () => {
      const run =
        kind === 'cancel_run'
          ? await runs.cancel(OPERATOR, PROJECT, runId, { mutationId })
          : await runs.retry(OPERATOR, PROJECT, runId, { mutationId, previousMayStillRun: true });
      return { answer: run.outcome, attemptId: run.attempts.at(-1)?.attemptId ?? null };
    });
  }

  private async restrict(workerId: string): Promise<void> {
    const request = this.scene.random.pick(RESTRICTED);
    if (!request || workerId === '' || this.restricted.includes(workerId)) return;
    this.restricted.push(workerId);
    await this.put(workerId, request);
  }

  async put(workerId: string, request: PutWorkerRequest): Promise<void> {
    const fences = request.status === 'revoked' || !request.projects.includes(PROJECT);
    await this.scene.recorder.call(
      { kind: 'put_worker', workerId },
      () => this.scene.stage.workers.put(OPERATOR, workerId, request),
      () => ({ answer: fences ? 'fenced' : 'put' }),
    );
  }

  private async mutate(kind: CallKind, act: () => Promise<Answered>): Promise<void> {
    await this.scene.recorder.call({ kind }, act, (answered) => answered);
  }
}
