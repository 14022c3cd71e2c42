import { Controller, Get, Param } from '@nestjs/common';
import { DeliveryRecordService } from '@valise/authority';
import { DeliveryRecordList, RunPath } from '@valise/contracts/wire';
import { Answers } from '../http/answers.js';
import { Callers } from '../http/callers.js';

@Controller('api/v3/projects/:projectId/runs/:runId/deliveries')
export class DeliveryRecordController {
  constructor(private readonly records: DeliveryRecordService) {}

  /** Every decision on the run's material, authorised or denied, and what became of it. */
  @Get()
  @Callers('viewer')
  @Answers(DeliveryRecordList, 'not_found')
  async list(@Param() { projectId, runId }: RunPath): Promise<DeliveryRecordList> {
    return { deliveries: await this.records.list(projectId, runId) };
  }
}
