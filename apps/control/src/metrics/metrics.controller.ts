import { Controller, Get, Res } from '@nestjs/common';
import type { Response } from 'express';
import { Metrics } from './metrics.js';

/** For Prometheus, on the plain address. */
@Controller()
export class MetricsController {
  constructor(private readonly metrics: Metrics) {}

  /** docs/reference/metrics.md. */
  @Get('metrics')
  async scrape(@Res() response: Response): Promise<void> {
    const text = await this.metrics.exposition();
    response.setHeader('content-type', this.metrics.contentType);
    response.end(text);
  }
}
