import * as documents from '@valise/contracts/documents';
import { BODY_KINDS } from './body-kinds.js';
import { deliveryBody, deliveryRequest, deliveryResponse, writtenResponse } from './delivery-kinds.js';

/** What a vector's kind does with its decoded input. */
export type Kind = (input: never) => unknown;

interface Created<Command> {
  readonly command: Command;
  readonly createdAtMs: number;
}

const createTask = ({ command, createdAtMs }: Created<documents.PutTaskCommand>): documents.TaskDefinition =>
  documents.createTaskDefinition(command, createdAtMs);

/** Every kind of wire.md §9; a kind that is not here is a failure. */
export const KINDS: Readonly<Record<string, Kind | undefined>> = {
  ...BODY_KINDS,

  'secretRef.create': documents.createSecretReference,
  'secretRef.parse': (input: unknown) => {
    const { projectId, name, version } = documents.parseSecretReference(input);
    return { projectId, name, version };
  },
  projectionFileName: documents.projectionFileName,

  'bundle.parse': documents.parseEnvironmentBundle,
  'bundle.serialize': documents.serializeEnvironmentBundle,

  'commandSpec.normalize': documents.normalizeCommandSpec,
  'taskDefinition.create': createTask,
  'taskDefinition.digest': (input: Created<documents.PutTaskCommand>) =>
    documents.taskDefinitionDigest(createTask(input)),
  'taskDefinition.preimage': (input: Created<documents.PutTaskCommand>) =>
    documents.taskDefinitionPreimage(createTask(input)),
  'taskDefinition.compileLocal': documents.compileLocalExecution,
  'taskRevisionRef.create': documents.writeTaskRevisionRef,
  'taskRevisionRef.parse': documents.parseTaskRevisionRef,

  'executionRevision.compile': documents.compileExecutionRevision,
  'executionRevision.create': documents.createExecutionRevision,
  'executionRevision.normalize': documents.readExecutionRevision,
  'executionRevision.digest': (plan: documents.ExecutionPlan) =>
    documents.createExecutionRevision(plan).contentDigest,
  'executionRevision.preimage': (plan: documents.ExecutionPlan) =>
    documents.executionRevisionPreimage(documents.createExecutionRevision(plan)),

  'placement.normalize': (input: unknown) => documents.normalizePlacement(input),
  'placement.effective': (input: unknown) => documents.effectivePlacement(input),
  'placement.evaluate': documents.evaluatePlacement,
  'collation.sort': (texts: string[]) => texts.toSorted(documents.compareFixed),

  'deliveryRequest.normalize': deliveryRequest,
  'deliveryRequest.body': deliveryBody,
  'deliveryResponse.parse': deliveryResponse,
  'deliveryResponse.create': writtenResponse,
  'leaseToken.digest': documents.leaseTokenDigest,
  logArtifactId: documents.logArtifactId,

  'triggerSpec.normalize': documents.normalizeTriggerSpec,
  'trigger.create': ({ command, createdAtMs }: Created<documents.PutTriggerCommand>) =>
    documents.createTrigger(command, createdAtMs),

  'legacyPlan.create': ({
    intent,
    plannedAtMs,
  }: {
    intent: documents.LegacyPlanIntent;
    plannedAtMs: number;
  }) => documents.createLegacyPlan(intent, plannedAtMs),
  'legacyTaskSet.digest': documents.digestLegacyTaskSet,
  'legacyTriggerSet.digest': documents.digestLegacyTriggerSet,
  'legacyReceipt.create': documents.createLegacyReceipt,
  'legacyTaskItem.digest': documents.appliedTaskItemDigest,
  'legacyTriggerItem.digest': documents.appliedTriggerItemDigest,
};
