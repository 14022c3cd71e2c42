import { Post, Req } from '@nestjs/common';
import type { Request } from 'express';
import { ArtifactService } from '@valise/authority';
import { ArtifactUploadResponse } from '@valise/contracts/wire';
import { OfKind } from '../admission/admission.guard.js';
import { Answers } from '../http/answers.js';
import { Caller, type WorkerCaller } from '../http/callers.js';
import { StreamedBody } from '../http/json-body.js';
import { WorkerRoutes } from '../http/worker-routes.js';
import { readUpload } from './upload.js';

@WorkerRoutes()
export class ArtifactController {
  constructor(private readonly artifacts: ArtifactService) {}

  /** Stores the attempt's log, which the worker has already masked. */
  @Post('artifacts')
  @StreamedBody()
  @OfKind('transfer')
  @Answers(ArtifactUploadResponse, 'worker_artifact_fenced')
  async store(@Caller() caller: WorkerCaller, @Req() request: Request): Promise<ArtifactUploadResponse> {
    const { header, content } = await readUpload(request);
    return this.artifacts.store(caller, header, content);
  }
}
