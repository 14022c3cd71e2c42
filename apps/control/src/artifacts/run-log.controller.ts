import { pipeline } from 'node:stream/promises';
import { Controller, Get, Param, Res } from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
import type { Response } from 'express';
import { ArtifactService, RunService } from '@valise/authority';
import { ValiseError } from '@valise/contracts/failure';
import { RunPath } from '@valise/contracts/wire';
import { OfKind } from '../http/admission.interceptor.js';
import { Refuses } from '../http/answers.js';
import { Callers } from '../http/callers.js';

@Controller('api/v3/projects/:projectId/runs/:runId/log')
export class RunLogController {
  constructor(
    private readonly runs: RunService,
    private readonly artifacts: ArtifactService,
  ) {}

  /** The masked log of the run's newest attempt; complete once the attempt has ended. */
  @Get()
  @Callers('viewer')
  @OfKind('transfer')
  @ApiOkResponse({ description: 'The log.', content: { 'text/plain': { schema: { type: 'string' } } } })
  @Refuses('not_found')
  async read(@Param() { projectId, runId }: RunPath, @Res() response: Response): Promise<void> {
    const run = await this.runs.get(projectId, runId);
    const attempt = run.attempts.at(-1);
    const artifact = attempt && (await this.artifacts.open(projectId, runId, attempt.attemptId));
    if (!artifact) throw new ValiseError('not_found', { runId });
    // The first chunk may fail to be read, and then the answer is a problem, not half a log.
    const chunks = artifact.chunks[Symbol.asyncIterator]();
    const first = await chunks.next();
    response.setHeader('content-type', 'text/plain; charset=utf-8');
    response.setHeader('content-disposition', 'attachment; filename="log.txt"');
    response.setHeader('content-length', artifact.byteLength);
    await pipeline(startingWith(first, chunks), response);
  }
}

async function* startingWith(
  first: IteratorResult<Buffer>,
  rest: AsyncIterator<Buffer>,
): AsyncGenerator<Buffer> {
  for (let next = first; next.done !== true; next = await rest.next()) yield next.value;
}
