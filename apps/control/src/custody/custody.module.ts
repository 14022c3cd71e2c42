import { type DynamicModule, Module } from '@nestjs/common';
import { MountedFilesCustody } from './mounted-files.custody.js';
import { ReadGate } from './read-gate.js';
import { SecretCustody } from './secret-custody.js';

/** One less than the threads of libuv's default pool, so that hung reads leave one for everybody else. */
const CONCURRENT_READS = 3;

/** Where the ingress finds secret material. */
@Module({})
export class CustodyModule {
  static forRoot(secretsDirectory: string): DynamicModule {
    const custody = new MountedFilesCustody(secretsDirectory, new ReadGate(CONCURRENT_READS));
    return {
      module: CustodyModule,
      global: true,
      providers: [{ provide: SecretCustody, useValue: custody }],
      exports: [SecretCustody],
    };
  }
}
