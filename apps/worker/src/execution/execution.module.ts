import { join } from 'node:path';
import { Module } from '@nestjs/common';
import { MaterializerModule } from '@valise/materializer';
import { WorkerConfig } from '../config/worker-config.js';
import { makePrivateDirectory } from '../inbox/durable-file.js';
import { SessionsModule } from '../sessions/sessions.module.js';
import { AttemptService } from './attempt.service.js';
import { ConclusionService } from './conclusion.service.js';
import { DeliveryService } from './delivery.service.js';
import { Launcher } from './launcher.js';
import { LOG_DIRECTORY } from './log-directory.js';
import { PreparationService } from './preparation.service.js';
import { RecoveryService } from './recovery.service.js';
import { Shutdown } from './shutdown.js';
import { SlotProcesses } from './slot-processes.js';
import { SlotService } from './slot.service.js';
import { WorkerService } from './worker.service.js';

async function openLogDirectory({ stateDirectory }: WorkerConfig): Promise<string> {
  const directory = join(stateDirectory, 'artifacts');
  await makePrivateDirectory(directory);
  return directory;
}

@Module({
  imports: [SessionsModule, MaterializerModule],
  providers: [
    { provide: LOG_DIRECTORY, inject: [WorkerConfig], useFactory: openLogDirectory },
    Shutdown,
    Launcher,
    SlotProcesses,
    DeliveryService,
    PreparationService,
    ConclusionService,
    AttemptService,
    RecoveryService,
    SlotService,
    WorkerService,
  ],
  exports: [WorkerService],
})
export class ExecutionModule {}
