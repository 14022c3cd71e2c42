import { Injectable } from '@nestjs/common';
import type { OpenAPIObject } from '@nestjs/swagger';

/** Holds the OpenAPI document, which can be made only once both listeners exist. */
@Injectable()
export class PublishedDocument {
  document: OpenAPIObject | undefined;
}
