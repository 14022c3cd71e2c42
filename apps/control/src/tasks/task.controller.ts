import { Body, Controller, Get, Param, Put } from '@nestjs/common';
import { type Operator, TaskService } from '@valise/authority';
import { PublishTaskRequest, PublishTaskResponse, TaskPath, TaskView } from '@valise/contracts/wire';
import { Answers } from '../http/answers.js';
import { Caller, Callers } from '../http/callers.js';
import { TaskBody } from '../http/json-body.js';

@Controller('api/v3/projects/:projectId/tasks/:taskId')
export class TaskController {
  constructor(private readonly tasks: TaskService) {}

  /** The task's current revision. */
  @Get()
  @Callers('viewer')
  @Answers(TaskView, 'not_found')
  get(@Param() { projectId, taskId }: TaskPath): Promise<TaskView> {
    return this.tasks.get(projectId, taskId);
  }

  /** Appends the task's next revision, and the execution revision that workers will get. */
  @Put()
  @Callers('editor')
  @TaskBody()
  @Answers(
    PublishTaskResponse,
    'revision_conflict',
    'mutation_conflict',
    'TASK_DEFINITION_INVALID',
    'TASK_SPEC_UNSUPPORTED',
    'TASK_SPEC_SEMANTIC_INVALID',
    'CLUSTER_EXECUTION_REVISION_INVALID',
    'TASK_DEFINITION_COMPILATION_UNSUPPORTED',
  )
  publish(
    @Caller() operator: Operator,
    @Param() { projectId, taskId }: TaskPath,
    @Body() request: PublishTaskRequest,
  ): Promise<PublishTaskResponse> {
    return this.tasks.publish(operator, projectId, taskId, request);
  }
}
