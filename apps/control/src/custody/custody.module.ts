import { type DynamicModule, Module } from '@nestjs/common';
import { MountedFilesCustody } from './mounted-files.custody.js';
import { ProjectionThreads } from './projection-threads.js';
import { ReadGate } from './read-gate.js';
import { SecretCustody } from './secret-custody.js';

/** Each costs a thread while it reads. */
const CONCURRENT_READS = 3;

/** Where the ingress finds secret material. */
@Module({})
export class CustodyModule {
  static forRoot(secretsDirectory: string): DynamicModule {
    const threads = new ProjectionThreads(secretsDirectory);
    const custody = new MountedFilesCustody(
      (projections) => threads.read(projections),
      new ReadGate(CONCURRENT_READS),
    );
    return {
      module: CustodyModule,
      global: true,
      providers: [{ provide: SecretCustody, useValue: custody }],
      exports: [SecretCustody],
    };
  }
}
