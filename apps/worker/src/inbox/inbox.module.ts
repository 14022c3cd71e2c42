import { join } from 'node:path';
import { Global, Module } from '@nestjs/common';
import { ValiseError } from '@valise/contracts/failure';
import { WorkerConfig } from '../config/worker-config.js';
import { WORKER_IDENTITY, type WorkerIdentity } from '../ingress/worker-identity.js';
import { Steps } from '../events/steps.js';
import { makePrivateDirectory } from './durable-directory.js';
import { Inbox } from './inbox.js';

async function openInbox(config: WorkerConfig, identity: WorkerIdentity, steps: Steps): Promise<Inbox> {
  await makePrivateDirectory(config.stateDirectory);
  const inbox = await Inbox.open(join(config.stateDirectory, 'inbox'), (moment, change) => {
    steps.journal(moment, change);
  });
  if (inbox.session && inbox.session.workerId !== identity.workerId) {
    await inbox.close();
    throw new ValiseError('configuration_invalid', {
      setting: 'VALISE_STATE_DIRECTORY',
      rule: 'inbox_of_this_worker',
    });
  }
  return inbox;
}

@Global()
@Module({
  providers: [{ provide: Inbox, inject: [WorkerConfig, WORKER_IDENTITY, Steps], useFactory: openInbox }],
  exports: [Inbox],
})
export class InboxModule {}
