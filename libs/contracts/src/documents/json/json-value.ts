import { compareCodeUnits } from '../text/order.js';
import { readList, readPlain } from './plain-data.js';
import type { Refuse } from '../refusal.js';
import { text } from '../text/text.js';
import { utf8Bytes } from '../text/utf8.js';

/** What a configuration may hold; sizes in UTF-8 bytes, `depth` counted from 0, `nodes` without keys. */
export interface JsonLimits {
  readonly stringBytes: number;
  readonly items: number;
  readonly depth: number;
  readonly nodes: number;
}

const MAX_KEY_BYTES = 128;

/** A copy of plain JSON data with sorted keys, so that equal data is equal text: the canonical form (wire.md §11). */
export function canonicalJson(value: unknown, limits: JsonLimits, field: string, refuse: Refuse): unknown {
  return new CanonicalCopy(limits, field, refuse).copy(value, 0);
}

class CanonicalCopy {
  #nodes = 0;

  constructor(
    private readonly limits: JsonLimits,
    private readonly field: string,
    private readonly refuse: Refuse,
  ) {}

  copy(value: unknown, depth: number): unknown {
    const { field, limits, refuse } = this;
    if (depth > limits.depth) refuse({ field, rule: 'depth', limit: limits.depth });
    if (++this.#nodes > limits.nodes) refuse({ field, rule: 'nodes', limit: limits.nodes });
    if (typeof value === 'string') return text(value, 0, limits.stringBytes, field, refuse);
    if (typeof value === 'number') {
      if (!Number.isFinite(value)) refuse({ field, rule: 'number' });
      return value + 0;
    }
    if (typeof value === 'boolean' || value === null) return value;
    if (Array.isArray(value)) {
      return readList(value, limits.items, field, refuse).map((item) => this.copy(item, depth + 1));
    }
    return this.#record(value, depth);
  }

  #record(value: unknown, depth: number): unknown {
    const { field, limits, refuse } = this;
    const record = readPlain(value, field, refuse);
    const keys = Object.keys(record).sort(compareCodeUnits);
    if (keys.length > limits.items) {
      refuse({ field, rule: 'max_items', limit: limits.items, actual: keys.length });
    }
    const copy = Object.create(null) as Record<string, unknown>;
    for (const key of keys) {
      text(key, 0, MAX_KEY_BYTES, field, refuse);
      copy[key] = this.copy(record[key], depth + 1);
    }
    return copy;
  }
}

/** UTF-8 bytes of a value's JSON. */
export const jsonBytes = (value: unknown): number => utf8Bytes(JSON.stringify(value));
