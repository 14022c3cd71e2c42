import { Body, Controller, Get, Param, Post } from '@nestjs/common';
import { type Operator, RunService } from '@valise/authority';
import {
  CancelRunRequest,
  RetryRunRequest,
  RunMutationResponse,
  RunPath,
  RunView,
  StartRunRequest,
  TaskPath,
} from '@valise/contracts/wire';
import { Answers } from '../http/answers.js';
import { Caller, Callers } from '../http/callers.js';

@Controller('api/v3/projects/:projectId')
export class RunController {
  constructor(private readonly runs: RunService) {}

  /** Queues a run of the task's current revision. */
  @Post('tasks/:taskId/runs')
  @Callers('editor')
  @Answers(RunMutationResponse, 'not_found', 'task_disabled', 'mutation_conflict')
  start(
    @Caller() operator: Operator,
    @Param() { projectId, taskId }: TaskPath,
    @Body() request: StartRunRequest,
  ): Promise<RunMutationResponse> {
    return this.runs.start(operator, projectId, taskId, request);
  }

  /** The run with its attempts. */
  @Get('runs/:runId')
  @Callers('viewer')
  @Answers(RunView, 'not_found')
  get(@Param() { projectId, runId }: RunPath): Promise<RunView> {
    return this.runs.get(projectId, runId);
  }

  /** Cancels a queued run; tells the holder of a claimed one to stop. */
  @Post('runs/:runId/cancel')
  @Callers('editor')
  @Answers(RunMutationResponse, 'not_found', 'mutation_conflict')
  cancel(
    @Caller() operator: Operator,
    @Param() { projectId, runId }: RunPath,
    @Body() request: CancelRunRequest,
  ): Promise<RunMutationResponse> {
    return this.runs.cancel(operator, projectId, runId, request);
  }

  /** Queues the next attempt of a run that ended and has not succeeded. */
  @Post('runs/:runId/retry')
  @Callers('editor')
  @Answers(RunMutationResponse, 'not_found', 'run_not_retryable', 'run_may_still_run', 'mutation_conflict')
  retry(
    @Caller() operator: Operator,
    @Param() { projectId, runId }: RunPath,
    @Body() request: RetryRunRequest,
  ): Promise<RunMutationResponse> {
    return this.runs.retry(operator, projectId, runId, request);
  }
}
