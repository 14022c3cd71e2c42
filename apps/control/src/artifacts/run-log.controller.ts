import { pipeline } from 'node:stream/promises';
import { Controller, Get, Param, Req, Res } from '@nestjs/common';
import { ApiHeader, ApiOkResponse, ApiResponse } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { ArtifactService, RunService } from '@valise/authority';
import { ValiseError } from '@valise/contracts/failure';
import { RunPath } from '@valise/contracts/wire';
import { OfKind } from '../admission/admission.guard.js';
import { Refuses } from '../http/answers.js';
import { Callers } from '../http/callers.js';

const TEXT = { 'text/plain': { schema: { type: 'string' } } } as const;

@Controller('api/v3/projects/:projectId/runs/:runId/log')
export class RunLogController {
  constructor(
    private readonly runs: RunService,
    private readonly artifacts: ArtifactService,
  ) {}

  /** The masked log of the run's newest attempt, or one range of its bytes; complete once the attempt has ended. */
  @Get()
  @Callers('viewer')
  @OfKind('transfer')
  @ApiHeader({ name: 'range', required: false, description: 'One range of bytes.' })
  @ApiOkResponse({ description: 'The log.', content: TEXT })
  @ApiResponse({ status: 206, description: 'The range of the log.', content: TEXT })
  @Refuses('not_found', 'range_not_satisfiable')
  async read(
    @Param() { projectId, runId }: RunPath,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const run = await this.runs.get(projectId, runId);
    const attempt = run.attempts.at(-1);
    const artifact = attempt && (await this.artifacts.open(projectId, runId, attempt.attemptId));
    if (!artifact) throw new ValiseError('not_found', { runId });
    const { byteLength } = artifact;
    const range = rangeOf(request, byteLength);
    const { start, end } = range ?? { start: 0, end: byteLength };
    // The first chunk may fail to be read, and then the answer is a problem, not half a log.
    const chunks = artifact.read(start, end)[Symbol.asyncIterator]();
    const first = await chunks.next();
    response.setHeader('content-type', 'text/plain; charset=utf-8');
    response.setHeader('content-disposition', 'attachment; filename="log.txt"');
    response.setHeader('accept-ranges', 'bytes');
    response.setHeader('content-length', end - start);
    if (range) {
      response.status(206);
      response.setHeader('content-range', `bytes ${start}-${end - 1}/${byteLength}`);
    }
    await pipeline(startingWith(first, chunks), response);
  }
}

/**
 * The one range that is asked for, to before `end`; null where that is the whole: several ranges, another unit, or a
 * condition, which no answer of ours gives a validator for.
 */
function rangeOf(request: Request, byteLength: number): { start: number; end: number } | null {
  if (request.headers['if-range'] !== undefined) return null;
  const ranges = request.range(byteLength);
  if (ranges === -1) throw new ValiseError('range_not_satisfiable', { limit: byteLength });
  if (!Array.isArray(ranges) || ranges.type !== 'bytes' || ranges.length !== 1) return null;
  const [range] = ranges;
  return range ? { start: range.start, end: range.end + 1 } : null;
}

async function* startingWith(
  first: IteratorResult<Buffer>,
  rest: AsyncIterator<Buffer>,
): AsyncGenerator<Buffer> {
  for (let next = first; next.done !== true; next = await rest.next()) yield next.value;
}
