import { Identifier, Text, UUID_ANY, WORKER_ID } from './fields.js';

export class WorkerPath {
  @Text({ max: 128, pattern: WORKER_ID })
  workerId: string;
}

export class TaskPath {
  @Identifier()
  projectId: string;

  @Identifier()
  taskId: string;
}

export class RunPath {
  @Identifier()
  projectId: string;

  @Text({ min: 36, max: 36, pattern: UUID_ANY })
  runId: string;
}
