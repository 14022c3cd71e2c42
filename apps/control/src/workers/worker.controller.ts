import { Body, Controller, Get, Param, Put } from '@nestjs/common';
import { type Operator, WorkerService } from '@valise/authority';
import { PutWorkerRequest, WorkerPath, WorkerView } from '@valise/contracts/wire';
import { Answers } from '../http/answers.js';
import { Caller, Callers } from '../http/callers.js';

@Controller('api/v3/workers/:workerId')
export class WorkerController {
  constructor(private readonly workers: WorkerService) {}

  /** What the worker is for: its status, the projects it may serve, the operator's labels. */
  @Get()
  @Callers('admin')
  @Answers(WorkerView, 'not_found')
  get(@Param() { workerId }: WorkerPath): Promise<WorkerView> {
    return this.workers.get(workerId);
  }

  /** Says what the worker is for. Taking a project away or revoking fences its leases at once. */
  @Put()
  @Callers('admin')
  @Answers(WorkerView)
  put(
    @Caller() operator: Operator,
    @Param() { workerId }: WorkerPath,
    @Body() request: PutWorkerRequest,
  ): Promise<WorkerView> {
    return this.workers.put(operator, workerId, request);
  }
}
