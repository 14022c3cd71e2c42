import { canonicalJson, jsonBytes, type JsonLimits } from '../json/json-value.js';
import { readRecord } from '../json/plain-data.js';
import type { Refuse } from '../refusal.js';
import { matching } from '../text/text.js';

/** A schema id and the configuration it gives a meaning to, with sorted keys. */
export interface Spec {
  readonly schema: string;
  readonly config: Readonly<Record<string, unknown>>;
}

const SCHEMA_ID = /^[a-z][a-z0-9.-]{0,63}\/[a-z][a-z0-9.-]{0,63}@v[1-9][0-9]{0,5}$/;

/** The generic layer of a specification: shape, schema id, sizes; what the configuration means is not looked at. */
export function readSpec(value: unknown, limits: JsonLimits & { bytes: number }, refuse: Refuse): Spec {
  const { schema, config } = readRecord(value, ['schema', 'config'], [], 'spec', refuse);
  const id = matching(schema, SCHEMA_ID, 'spec.schema', refuse);
  const copy = canonicalJson(config, limits, 'spec.config', refuse);
  if (typeof copy !== 'object' || copy === null || Array.isArray(copy)) {
    refuse({ field: 'spec.config', rule: 'object' });
  }
  const spec = { schema: id, config: copy as Record<string, unknown> };
  const actual = jsonBytes(spec);
  if (actual > limits.bytes) refuse({ field: 'spec', rule: 'max_bytes', limit: limits.bytes, actual });
  return spec;
}
