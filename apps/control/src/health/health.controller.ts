import { Controller, Get } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { ValiseError } from '@valise/contracts/failure';

/** For the orchestrator, on the plain address; says nothing but yes or no. */
@Controller()
export class HealthController {
  constructor(private readonly database: DataSource) {}

  /** The process runs and its event loop turns. */
  @Get('livez')
  live(): { status: 'ok' } {
    return { status: 'ok' };
  }

  /** The database answers. */
  @Get('readyz')
  async ready(): Promise<{ status: 'ok' }> {
    try {
      await this.database.query('SELECT 1');
    } catch {
      throw new ValiseError('management_unavailable');
    }
    return { status: 'ok' };
  }
}
