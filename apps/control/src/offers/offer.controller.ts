import { Body, Post } from '@nestjs/common';
import { LeaseService } from '@valise/authority';
import {
  LeaseControlRequest,
  LeaseControlResponse,
  OfferRequest,
  OfferResponse,
} from '@valise/contracts/wire';
import { Answers } from '../http/answers.js';
import { Caller, type WorkerCaller } from '../http/callers.js';
import { WorkerRoutes } from '../http/worker-routes.js';

@WorkerRoutes()
export class OfferController {
  constructor(private readonly leases: LeaseService) {}

  /** Leases the best matching attempt to the worker, or finds the same claim again. */
  @Post('offers')
  @Answers(OfferResponse, 'worker_session_fenced', 'worker_offer_fenced')
  claim(@Caller() caller: WorkerCaller, @Body() request: OfferRequest): Promise<OfferResponse> {
    return this.leases.claim(caller, request);
  }

  /** Renews the lease, or tells its holder to stop. */
  @Post('lease-control')
  @Answers(LeaseControlResponse, 'worker_lease_control_fenced')
  renew(@Caller() caller: WorkerCaller, @Body() request: LeaseControlRequest): Promise<LeaseControlResponse> {
    return this.leases.renew(caller, request);
  }
}
