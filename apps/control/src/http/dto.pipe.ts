import { type ArgumentMetadata, Injectable, type PipeTransform } from '@nestjs/common';
import { fieldsOf, readBody } from '@valise/contracts/wire';
import { ListenerCodes } from './listener-codes.js';

/** Validates every body and path against the DTO class that the handler declares for it. */
@Injectable()
export class DtoPipe implements PipeTransform {
  constructor(private readonly codes: ListenerCodes) {}

  transform(value: unknown, { type, metatype }: ArgumentMetadata): unknown {
    if (type === 'custom') return value;
    const dto = metatype as (new () => object) | undefined;
    if (!dto || fieldsOf(dto).size === 0)
      throw new Error('a handler takes bodies and paths as DTO classes only');
    return readBody(dto, type === 'param' ? { ...(value as object) } : value, this.codes.invalid);
  }
}
