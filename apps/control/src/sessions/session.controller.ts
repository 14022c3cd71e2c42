import { Body, Post } from '@nestjs/common';
import { SessionService } from '@valise/authority';
import {
  SessionHeartbeatRequest,
  SessionHeartbeatResponse,
  SessionRegisterRequest,
  SessionRegisterResponse,
  SessionTransitionRequest,
  SessionTransitionResponse,
} from '@valise/contracts/wire';
import { Answers } from '../http/answers.js';
import { Caller, type WorkerCaller } from '../http/callers.js';
import { WorkerRoutes } from '../http/worker-routes.js';

@WorkerRoutes()
export class SessionController {
  constructor(private readonly sessions: SessionService) {}

  /** Begins the worker's session, or finds it again. */
  @Post('register')
  @Answers(SessionRegisterResponse, 'worker_session_fenced')
  register(
    @Caller() caller: WorkerCaller,
    @Body() request: SessionRegisterRequest,
  ): Promise<SessionRegisterResponse> {
    return this.sessions.register(caller, request);
  }

  /** Keeps the session alive. */
  @Post('heartbeat')
  @Answers(SessionHeartbeatResponse, 'worker_session_fenced')
  heartbeat(
    @Caller() caller: WorkerCaller,
    @Body() request: SessionHeartbeatRequest,
  ): Promise<SessionHeartbeatResponse> {
    return this.sessions.heartbeat(caller, request);
  }

  /** Ends claiming (`draining`) or the session (`offline`). */
  @Post('transition')
  @Answers(SessionTransitionResponse, 'worker_session_fenced')
  transition(
    @Caller() caller: WorkerCaller,
    @Body() request: SessionTransitionRequest,
  ): Promise<SessionTransitionResponse> {
    return this.sessions.transition(caller, request);
  }
}
