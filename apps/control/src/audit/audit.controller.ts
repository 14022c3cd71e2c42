import { Controller, Get, Param } from '@nestjs/common';
import { AuditService } from '@valise/authority';
import { AuditPage, AuditPath } from '@valise/contracts/wire';
import { Answers } from '../http/answers.js';
import { Callers } from '../http/callers.js';

@Controller('api/v3/audit')
export class AuditController {
  constructor(private readonly audit: AuditService) {}

  /** The first page of what operators and the sweeper did, in every project. */
  @Get()
  @Callers('viewer')
  @Answers(AuditPage)
  first(): Promise<AuditPage> {
    return this.audit.page(null);
  }

  /** The page after a cursor. Whoever goes on from `next` sees each event once, whoever writes meanwhile. */
  @Get('after/:cursor')
  @Callers('viewer')
  @Answers(AuditPage)
  after(@Param() { cursor }: AuditPath): Promise<AuditPage> {
    return this.audit.page(cursor);
  }
}
