import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Logger } from 'pino';
import type { ControlConfig } from './config/control-config.js';
import { createListener, listen } from './http/listener.js';
import { ListenerCodes } from './http/listener-codes.js';
import { IngressModule } from './ingress.module.js';
import { ManagementModule } from './management.module.js';
import { createOpenApiDocument } from './openapi/document.js';
import { PublishedDocument } from './openapi/published-document.js';
import { PlainModule } from './plain.module.js';
import { mutualTlsOptions } from './tls/server-options.js';

/** How long requests in flight may take once control stops. */
const DRAIN_MS = 10_000;

/** A control that listens: its ports, and the way to end it. */
export interface Control {
  readonly ports: { readonly ingress: number; readonly management: number; readonly plain: number };
  /** Stops listening, lets requests in flight end, stops the sweeper and closes the pools. */
  close(): Promise<void>;
}

/** Starts both listeners and the plain address; when one of them cannot start, none is left running. */
export async function startControl(config: ControlConfig, log: Logger): Promise<Control> {
  const applications: NestExpressApplication[] = [];
  const close = async (): Promise<void> => {
    const cut = setTimeout(() => {
      for (const application of applications) application.getHttpServer().closeAllConnections();
    }, DRAIN_MS);
    await Promise.all(applications.map((application) => application.close()));
    clearTimeout(cut);
  };
  try {
    const tls = mutualTlsOptions(config.tls);
    const ingress = await createListener(IngressModule.forRoot(config, log), ListenerCodes.INGRESS, log, tls);
    applications.push(ingress);
    const management = await createListener(
      ManagementModule.forRoot(config, log),
      ListenerCodes.MANAGEMENT,
      log,
      tls,
    );
    applications.push(management);
    const plain = await createListener(PlainModule.forRoot(config, log), ListenerCodes.MANAGEMENT, log, null);
    applications.push(plain);
    management.get(PublishedDocument).document = createOpenApiDocument([ingress, management]);
    const ports = {
      ingress: await listen(ingress, config.ingress),
      management: await listen(management, config.management),
      plain: await listen(plain, config.plain),
    };
    return { ports, close };
  } catch (error) {
    await close();
    throw error;
  }
}
