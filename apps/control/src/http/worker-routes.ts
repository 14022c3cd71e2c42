import { applyDecorators, Controller } from '@nestjs/common';
import { Callers } from './callers.js';

/** A controller of routes that a worker calls in its session (wire.md §6). */
export function WorkerRoutes(): ClassDecorator {
  return applyDecorators(
    Controller('api/v3/worker-ingress/workers/:workerId/sessions/:sessionId'),
    Callers('worker'),
  );
}
