import { Body, Post, Res } from '@nestjs/common';
import type { Response } from 'express';
import { SecretDeliveryRequest, SecretDeliveryResponse } from '@valise/contracts/wire';
import type { Place } from '../admission/admission.js';
import { Answers } from '../http/answers.js';
import { BodyDigest, Caller, RequestPlace, type WorkerCaller } from '../http/callers.js';
import { WorkerRoutes } from '../http/worker-routes.js';
import { DeliveryService } from './delivery.service.js';

@WorkerRoutes()
export class DeliveryController {
  constructor(private readonly deliveries: DeliveryService) {}

  /** Hands the worker the secret material of the attempt whose live lease it holds. */
  @Post('secrets')
  @Answers(
    SecretDeliveryResponse,
    'worker_secret_delivery_fenced',
    'delivery_budget_exhausted',
    'REMOTE_SECRET_DELIVERY_TOO_LARGE',
    'rate_limited',
    'worker_secret_delivery_unavailable',
  )
  deliver(
    @Caller() caller: WorkerCaller,
    @Body() request: SecretDeliveryRequest,
    @BodyDigest() bodyDigest: string,
    @Res() response: Response,
    @RequestPlace() place: Place,
  ): Promise<void> {
    return this.deliveries.deliver(caller, request, bodyDigest, response, place);
  }
}
