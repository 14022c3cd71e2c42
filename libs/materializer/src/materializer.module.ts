import { Module } from '@nestjs/common';
import { Materializer } from './materializer.js';

@Module({ providers: [Materializer], exports: [Materializer] })
export class MaterializerModule {}
