import { INGRESS_EXAMPLES } from './ingress.js';
import { MANAGEMENT_EXAMPLES } from './management.js';

/**
 * One accepted body of every DTO class: what the OpenAPI document shows, and what the tests of the bodies damage. The
 * programs that talk to each other do not load it.
 */
export const EXAMPLES: ReadonlyMap<new () => object, Readonly<Record<string, unknown>>> = new Map<
  new () => object,
  Readonly<Record<string, unknown>>
>([...INGRESS_EXAMPLES, ...MANAGEMENT_EXAMPLES]);
