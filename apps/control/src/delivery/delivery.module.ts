import { Module } from '@nestjs/common';
import { CustodyModule } from '../custody/custody.module.js';
import { DeliveryController } from './delivery.controller.js';
import { DeliveryService } from './delivery.service.js';

/** `POST …/secrets`: what Valise exists for. */
@Module({ imports: [CustodyModule], controllers: [DeliveryController], providers: [DeliveryService] })
export class DeliveryModule {}
