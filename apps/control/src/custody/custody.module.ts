import { Module } from '@nestjs/common';
import { ControlConfig } from '../config/control-config.js';
import { MountedFilesCustody } from './mounted-files.custody.js';
import { ReadGate } from './read-gate.js';
import { SecretCustody } from './secret-custody.js';

/** One less than the threads of libuv's default pool, so that hung reads leave one for everybody else. */
const CONCURRENT_READS = 3;

@Module({
  providers: [
    {
      provide: SecretCustody,
      inject: [ControlConfig],
      useFactory: ({ secretsDirectory }: ControlConfig) =>
        new MountedFilesCustody(secretsDirectory, new ReadGate(CONCURRENT_READS)),
    },
  ],
  exports: [SecretCustody],
})
export class CustodyModule {}
