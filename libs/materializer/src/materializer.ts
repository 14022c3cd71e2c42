import { Injectable } from '@nestjs/common';
import { expandEnvironment, type EnvironmentSource, type ExpandedEnvironment } from './expand-environment.js';

/** Makes one flat environment of what a task declares and what was delivered for it. */
@Injectable()
export class Materializer {
  /** @see expandEnvironment */
  expand(source: EnvironmentSource): ExpandedEnvironment {
    return expandEnvironment(source);
  }
}
