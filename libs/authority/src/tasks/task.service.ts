import { Inject, Injectable } from '@nestjs/common';
import { normalizeCommandSpec, type Spec } from '@valise/contracts/documents';
import { ValiseError } from '@valise/contracts/failure';
import type { PublishTaskRequest, PublishTaskResponse, TaskView } from '@valise/contracts/wire';
import type { Operator } from '../audit/audit.js';
import { AuditRepository } from '../audit/audit.repository.js';
import { assertReplays, type Mutation } from '../audit/mutation.js';
import { MutationRepository } from '../audit/mutation.repository.js';
import { MANAGEMENT, PUBLISHING } from '../database/isolation.js';
import { TransactionRunner } from '../database/transaction-runner.js';
import type { Tx } from '../database/tx.js';
import { AUTHORITY_SETTINGS, type AuthoritySettings } from '../settings.js';
import { assertNamesPermitted, assertNext, createPublication, taskView } from './task.js';
import { TaskRepository } from './task.repository.js';

/** What is to be run: tasks and their revisions, which are never changed once published. */
@Injectable()
export class TaskService {
  constructor(
    private readonly transactions: TransactionRunner,
    private readonly tasks: TaskRepository,
    private readonly mutations: MutationRepository,
    private readonly audit: AuditRepository,
    @Inject(AUTHORITY_SETTINGS) private readonly settings: AuthoritySettings,
  ) {}

  /**
   * The task's next revision stands, with its execution revision if it is enabled; the same request again is answered
   * as a replay. @throws ValiseError the documents' codes, revision_conflict, mutation_conflict
   */
  publish(
    operator: Operator,
    projectId: string,
    taskId: string,
    request: PublishTaskRequest,
  ): Promise<PublishTaskResponse> {
    const spec = normalizeCommandSpec({ projectId, taskId, kind: request.kind, spec: request.spec });
    assertNamesPermitted(projectId, spec, this.settings.allowedNames);
    return this.transactions.run(PUBLISHING, (tx) =>
      this.publishIn(tx, operator, projectId, taskId, request, spec),
    );
  }

  /** @throws ValiseError not_found */
  get(projectId: string, taskId: string): Promise<TaskView> {
    return this.transactions.run(MANAGEMENT, async (tx) => {
      const head = await this.tasks.findHead(tx, projectId, taskId);
      if (!head) throw new ValiseError('not_found', { subject: 'task' });
      return taskView(head);
    });
  }

  private async publishIn(
    tx: Tx,
    operator: Operator,
    projectId: string,
    taskId: string,
    request: PublishTaskRequest,
    spec: Spec,
  ): Promise<PublishTaskResponse> {
    const applied = await this.mutations.find(tx, projectId, request.mutationId);
    const head = await this.tasks.findHead(tx, projectId, taskId);
    const nowMs = await this.tasks.readClock(tx);
    const { definition, execution } = createPublication(projectId, taskId, request, spec, head, nowMs);
    const mutation: Mutation = {
      projectId,
      mutationId: request.mutationId,
      kind: 'publish_task',
      contentDigest: definition.contentDigest,
      subjectId: taskId,
      result: definition.revision,
    };
    if (applied) {
      assertReplays(applied, mutation);
      const published = await this.tasks.findRevision(tx, projectId, taskId, definition.revision);
      if (!published) throw new Error('a published revision is never removed');
      return { ...taskView(published), outcome: 'replayed' };
    }
    assertNext(head, request.expectedRevision);
    await this.mutations.append(tx, mutation);
    await this.tasks.appendDefinition(tx, definition);
    if (execution) await this.tasks.appendExecution(tx, execution);
    await (head ? this.tasks.moveHead(tx, definition) : this.tasks.insertHead(tx, definition));
    await this.audit.append(tx, {
      actorKind: 'operator',
      actorId: operator.operatorId,
      action: 'publish_task',
      projectId,
      subjectId: taskId,
      facts: { revision: definition.revision, enabled: definition.enabled, mutationId: request.mutationId },
    });
    const { revision, contentDigest, createdAtMs, updatedAtMs } = definition;
    const executionDigest = execution?.contentDigest ?? null;
    const task = { projectId, taskId, revision, contentDigest, executionDigest, createdAtMs, updatedAtMs };
    return { ...taskView(task), outcome: 'published' };
  }
}
