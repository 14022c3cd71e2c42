import { Module } from '@nestjs/common';
import { pino } from 'pino';
import { DEFAULT_SETTINGS } from '@valise/authority';
import { ARTIFACT_UPLOAD_DEADLINE_MS } from '@valise/contracts/wire';
import { Metrics } from '../metrics/metrics.js';
import { LIFETIME_MS } from './admissions.js';
import { Drain } from '../http/drain.js';
import { createListener } from '../http/listener.js';
import { ListenerCodes } from '../http/listener-codes.js';

@Module({})
class EmptyModule {}

it('a transfer has all the time that a worker waits for it, and nothing ends it before', async () => {
  const { application } = await createListener(EmptyModule, {
    listener: 'ingress',
    log: pino({ enabled: false }),
    metrics: new Metrics(),
    drain: new Drain(),
    codes: ListenerCodes.MANAGEMENT,
    maxConnections: 16,
    mutualTls: null,
  });
  expect(LIFETIME_MS.transfer).toBeGreaterThanOrEqual(ARTIFACT_UPLOAD_DEADLINE_MS);
  expect(application.getHttpServer().requestTimeout).toBeGreaterThanOrEqual(LIFETIME_MS.transfer);
  expect(DEFAULT_SETTINGS.uploadLifetimeMs).toBeGreaterThan(LIFETIME_MS.transfer);
  await application.close();
});
