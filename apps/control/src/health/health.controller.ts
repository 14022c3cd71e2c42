import { Controller, Get } from '@nestjs/common';
import { ValiseError } from '@valise/contracts/failure';
import { Readiness } from './readiness.js';

/** For the orchestrator, on the plain address; says nothing but yes or no. */
@Controller()
export class HealthController {
  constructor(private readonly readiness: Readiness) {}

  /** The process runs and its event loop turns. */
  @Get('livez')
  live(): { status: 'ok' } {
    return { status: 'ok' };
  }

  /** The program takes traffic, and the database lets every role in that its listeners and its sweeper use. */
  @Get('readyz')
  async ready(): Promise<{ status: 'ok' }> {
    if (!(await this.readiness.isReady())) throw new ValiseError('management_unavailable');
    return { status: 'ok' };
  }
}
