import type { MigrationInterface } from 'typeorm';
import { Foundation1764460800001 } from './1764460800001-foundation.js';
import { Workers1764460800002 } from './1764460800002-workers.js';
import { Tasks1764460800003 } from './1764460800003-tasks.js';
import { Runs1764460800004 } from './1764460800004-runs.js';
import { Deliveries1764460800005 } from './1764460800005-deliveries.js';
import { Artifacts1764460800006 } from './1764460800006-artifacts.js';
import { Records1764460800007 } from './1764460800007-records.js';
import { Grants1764460800008 } from './1764460800008-grants.js';
import { Uploads1764460800009 } from './1764460800009-uploads.js';
import { CustodyFailures1764460800010 } from './1764460800010-custody-failures.js';
import { QueueByRevision1764460800011 } from './1764460800011-queue-by-revision.js';
import { FinishedUploads1764460800012 } from './1764460800012-finished-uploads.js';
import { LogRetention1764460800013 } from './1764460800013-log-retention.js';

/** In the order they run. */
export const MIGRATIONS: readonly (new () => MigrationInterface)[] = [
  Foundation1764460800001,
  Workers1764460800002,
  Tasks1764460800003,
  Runs1764460800004,
  Deliveries1764460800005,
  Artifacts1764460800006,
  Records1764460800007,
  Grants1764460800008,
  Uploads1764460800009,
  CustodyFailures1764460800010,
  QueueByRevision1764460800011,
  FinishedUploads1764460800012,
  LogRetention1764460800013,
];
