import { Body, Post } from '@nestjs/common';
import { AttemptService } from '@valise/authority';
import {
  ActivationResponse,
  CompletionRequest,
  CompletionResponse,
  RunningRequest,
  StartFailureRequest,
  StartingRequest,
} from '@valise/contracts/wire';
import { Answers } from '../http/answers.js';
import { Caller, type WorkerCaller } from '../http/callers.js';
import { WorkerRoutes } from '../http/worker-routes.js';

@WorkerRoutes()
export class AttemptController {
  constructor(private readonly attempts: AttemptService) {}

  /** The holder begins to prepare the attempt. */
  @Post('starting')
  @Answers(ActivationResponse, 'worker_activation_fenced')
  starting(@Caller() caller: WorkerCaller, @Body() request: StartingRequest): Promise<ActivationResponse> {
    return this.attempts.starting(caller, request);
  }

  /** The attempt ended before any process of it was started. */
  @Post('start-failure')
  @Answers(ActivationResponse, 'worker_activation_fenced')
  startFailure(
    @Caller() caller: WorkerCaller,
    @Body() request: StartFailureRequest,
  ): Promise<ActivationResponse> {
    return this.attempts.startFailure(caller, request);
  }

  /** The attempt's process was started. */
  @Post('running')
  @Answers(ActivationResponse, 'worker_activation_fenced')
  running(@Caller() caller: WorkerCaller, @Body() request: RunningRequest): Promise<ActivationResponse> {
    return this.attempts.running(caller, request);
  }

  /** The attempt's process has ended and its artefact is stored. */
  @Post('completion')
  @Answers(CompletionResponse, 'worker_completion_fenced')
  complete(@Caller() caller: WorkerCaller, @Body() request: CompletionRequest): Promise<CompletionResponse> {
    return this.attempts.complete(caller, request);
  }
}
