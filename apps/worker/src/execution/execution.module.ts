import { Module } from '@nestjs/common';
import { MaterializerModule } from '@valise/materializer';
import { WorkerConfig } from '../config/worker-config.js';
import { Inbox } from '../inbox/inbox.js';
import { SessionsModule } from '../sessions/sessions.module.js';
import { ActivationService } from './activation.service.js';
import { AttemptRecords } from './attempt-records.js';
import { AttemptService } from './attempt.service.js';
import { ConclusionService } from './conclusion.service.js';
import { DeliveryService } from './delivery.service.js';
import { Launcher } from './launcher.js';
import { PreparationService } from './preparation.service.js';
import { RecoveryService } from './recovery.service.js';
import { Shutdown } from './shutdown.js';
import { killerUidOf } from './slot-killer.js';
import { SlotProcesses } from './slot-processes.js';
import { SlotUids } from './slot-uids.js';
import { SlotService } from './slot.service.js';
import { TaskService } from './task.service.js';
import { WorkerService } from './worker.service.js';

/** Of every slot that this start has, the ones included that only the inbox knows, and of their killer. */
async function reserveSlotUids({ isolation, slots }: WorkerConfig, inbox: Inbox): Promise<SlotUids> {
  if (isolation.kind !== 'uid_per_slot') return SlotUids.NONE;
  const configured = Array.from({ length: slots }, (_, slot) => slot);
  const slotUids = [...new Set([...configured, ...inbox.occupiedSlots])].map(
    (slot) => isolation.baseUid + slot,
  );
  try {
    return await SlotUids.reserve([killerUidOf(isolation.baseUid), ...slotUids]);
  } catch (error) {
    await inbox.close();
    throw error;
  }
}

@Module({
  imports: [SessionsModule, MaterializerModule],
  providers: [
    { provide: SlotUids, inject: [WorkerConfig, Inbox], useFactory: reserveSlotUids },
    Shutdown,
    Launcher,
    SlotProcesses,
    DeliveryService,
    PreparationService,
    AttemptRecords,
    ActivationService,
    TaskService,
    ConclusionService,
    AttemptService,
    RecoveryService,
    SlotService,
    WorkerService,
  ],
  exports: [WorkerService],
})
export class ExecutionModule {}
