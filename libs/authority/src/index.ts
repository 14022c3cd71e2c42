export { ArtifactService, type OpenArtifact } from './artifacts/artifact.service.js';
export { AttemptService } from './attempts/attempt.service.js';
export { type AuditRecord, type Operator } from './audit/audit.js';
export { AuditService } from './audit/audit.service.js';
export { AuthorityModule, type AuthorityOptions } from './authority.module.js';
export { DatabaseProbe } from './database/database-probe.js';
export { migrate } from './database/migrate.js';
export { PROCESS_ROLES, type ProcessRole } from './database/roles.js';
export { TransactionRunner, type PoolUse, type TransactionCounts } from './database/transaction-runner.js';
export {
  DeliveryAuthority,
  type DeliveryGrant,
  type DeliveryOutcome,
} from './deliveries/delivery.authority.js';
export { DENIALS, type DeliveryCaller, type Denial } from './deliveries/delivery.js';
export { DeliveryRecordService } from './deliveries/delivery-record.service.js';
export { LeaseService } from './leases/lease.service.js';
export { RunService } from './runs/run.service.js';
export { SessionService } from './sessions/session.service.js';
export { type WorkerSessionKey } from './sessions/session.js';
export { DEFAULT_SETTINGS, type AuthoritySettings } from './settings.js';
export { type SweepFailure, type SweepReport } from './sweeper/sweep.js';
export { SweeperService } from './sweeper/sweeper.service.js';
export { TaskService } from './tasks/task.service.js';
export { WorkerService } from './workers/worker.service.js';
