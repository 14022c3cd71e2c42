import { Module, type DynamicModule, type Provider } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ArtifactRepository } from './artifacts/artifact.repository.js';
import { ArtifactService } from './artifacts/artifact.service.js';
import { TransferShare } from './artifacts/transfer-share.js';
import { AttemptService } from './attempts/attempt.service.js';
import { ExecutionRepository } from './attempts/execution.repository.js';
import { LateReportRepository } from './attempts/late-report.repository.js';
import { MoveRepository } from './attempts/move.repository.js';
import { AuditRepository } from './audit/audit.repository.js';
import { AuditService } from './audit/audit.service.js';
import { MutationRepository } from './audit/mutation.repository.js';
import { connectionOptions, type PoolOptions } from './database/data-source.js';
import { TransactionRunner } from './database/transaction-runner.js';
import { DeliveryAuthority } from './deliveries/delivery.authority.js';
import { DeliveryRecordRepository } from './deliveries/delivery-record.repository.js';
import { DeliveryRecordService } from './deliveries/delivery-record.service.js';
import { DeliveryRepository } from './deliveries/delivery.repository.js';
import { CandidateRepository } from './leases/candidate.repository.js';
import { ClaimGate } from './leases/claim-gate.js';
import { ClaimRepository } from './leases/claim.repository.js';
import { LeaseRepository } from './leases/lease.repository.js';
import { LeaseService } from './leases/lease.service.js';
import { Placements } from './leases/placements.js';
import { Queue } from './leases/queue.js';
import { RunRepository } from './runs/run.repository.js';
import { RunService } from './runs/run.service.js';
import { SessionRepository } from './sessions/session.repository.js';
import { SessionService } from './sessions/session.service.js';
import { AUTHORITY_SETTINGS, DEFAULT_SETTINGS, type AuthoritySettings } from './settings.js';
import { SweeperRepository } from './sweeper/sweeper.repository.js';
import { SweeperService } from './sweeper/sweeper.service.js';
import { TaskRepository } from './tasks/task.repository.js';
import { TaskService } from './tasks/task.service.js';
import { WorkerRepository } from './workers/worker.repository.js';
import { WorkerService } from './workers/worker.service.js';

/** One role's way into the authority. */
export interface AuthorityOptions extends PoolOptions {
  readonly settings?: Partial<AuthoritySettings>;
}

const REPOSITORIES: Provider[] = [
  ArtifactRepository,
  AuditRepository,
  CandidateRepository,
  ClaimGate,
  ClaimRepository,
  DeliveryRecordRepository,
  DeliveryRepository,
  ExecutionRepository,
  LateReportRepository,
  LeaseRepository,
  MoveRepository,
  MutationRepository,
  Placements,
  Queue,
  RunRepository,
  SessionRepository,
  SweeperRepository,
  TaskRepository,
  WorkerRepository,
];

const SERVICES = [
  ArtifactService,
  AttemptService,
  AuditService,
  DeliveryAuthority,
  DeliveryRecordService,
  LeaseService,
  RunService,
  SessionService,
  SweeperService,
  TaskService,
  TransactionRunner,
  WorkerService,
];

/**
 * Who may have what, now. What an application may do with it is decided by the grants of the database role in its URL,
 * not by which of the services it takes.
 */
@Module({})
export class AuthorityModule {
  /** The services over one pool; one application has one. A database that is not there fails the start at once. */
  static forRoot({ settings, ...pool }: AuthorityOptions): DynamicModule {
    const complete: AuthoritySettings = { ...DEFAULT_SETTINGS, ...settings };
    const connection = { ...connectionOptions(pool, complete), retryAttempts: 0 };
    return {
      module: AuthorityModule,
      global: true,
      // Each application has one data source; TypeOrmModule.forRoot would count those of the whole process.
      imports: [TypeOrmModule.forRootAsync({ useFactory: () => connection })],
      providers: [
        { provide: AUTHORITY_SETTINGS, useValue: complete },
        { provide: TransferShare, useValue: new TransferShare(pool.poolSize) },
        ...REPOSITORIES,
        ...SERVICES,
      ],
      exports: [AUTHORITY_SETTINGS, ...SERVICES],
    };
  }
}
