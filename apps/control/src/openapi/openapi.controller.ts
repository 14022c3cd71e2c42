import { Controller, Get } from '@nestjs/common';
import { ApiExcludeController, type OpenAPIObject } from '@nestjs/swagger';
import { ValiseError } from '@valise/contracts/failure';
import { Callers } from '../http/callers.js';
import { PublishedDocument } from './published-document.js';

@ApiExcludeController()
@Controller('openapi.json')
export class OpenApiController {
  constructor(private readonly published: PublishedDocument) {}

  /** The OpenAPI document of both listeners. */
  @Get()
  @Callers('operator')
  read(): OpenAPIObject {
    const { document } = this.published;
    if (!document) throw new ValiseError('management_unavailable');
    return document;
  }
}
