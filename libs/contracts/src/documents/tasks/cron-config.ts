import { readRecord } from '../json/plain-data.js';
import { refusal, type Refuse } from '../refusal.js';
import { readRevision } from './revision.js';
import type { Spec } from './specification.js';
import { identifier, oneOf } from '../text/text.js';
import { readTriggerSpec } from './trigger.js';
import { utf8Bytes } from '../text/utf8.js';

export const CRON_SCHEMA = 'qinglong/cron@v1';

export interface TriggerSpecContext {
  readonly projectId: string;
  readonly triggerId: string;
  readonly taskId: string;
  readonly taskRevision: number;
  readonly spec: unknown;
}

const FIELD = /^[0-9A-Za-z*?,/#LW-]+$/;
const MAX_FIELD_BYTES = 128;

const refuseTrigger: Refuse = refusal('TRIGGER_INVALID');
const refuseSchema: Refuse = refusal('TRIGGER_SPEC_UNSUPPORTED');
const refuseMeaning: Refuse = refusal('TRIGGER_SPEC_SEMANTIC_INVALID');

/**
 * The canonical specification of a schedule: fields joined by single spaces, the time zone as ICU names it.
 * @throws ValiseError TRIGGER_INVALID (generic layer), then TRIGGER_SPEC_UNSUPPORTED, then
 * TRIGGER_SPEC_SEMANTIC_INVALID
 */
export function normalizeTriggerSpec(input: TriggerSpecContext): Spec {
  const keys = ['projectId', 'triggerId', 'taskId', 'taskRevision', 'spec'];
  const context = readRecord(input, keys, [], 'trigger', refuseTrigger);
  for (const id of ['projectId', 'triggerId', 'taskId']) identifier(context[id], id, refuseTrigger);
  readRevision(context.taskRevision, 'taskRevision', refuseTrigger);
  const spec = readTriggerSpec(context.spec);
  if (spec.schema !== CRON_SCHEMA) refuseSchema({ field: 'spec.schema', rule: 'known_schema' });
  const config = readRecord(
    spec.config,
    ['expression', 'misfirePolicy', 'timezone'],
    [],
    'config',
    refuseMeaning,
  );
  return {
    schema: CRON_SCHEMA,
    config: {
      expression: readExpression(config.expression),
      misfirePolicy: oneOf(
        config.misfirePolicy,
        ['skip', 'fire_once'],
        'config.misfirePolicy',
        refuseMeaning,
      ),
      timezone: readTimeZone(config.timezone),
    },
  };
}

function readExpression(value: unknown): string {
  const field = 'config.expression';
  if (typeof value !== 'string') refuseMeaning({ field, rule: 'string' });
  const fields = value.split(/\s+/).filter((part) => part !== '');
  if (fields.length < 5 || fields.length > 6)
    refuseMeaning({ field, rule: 'cron_fields', actual: fields.length });
  for (const [index, part] of fields.entries()) {
    if (!FIELD.test(part) || utf8Bytes(part) > MAX_FIELD_BYTES)
      refuseMeaning({ field, rule: 'cron_field', index });
  }
  return fields.join(' ');
}

function readTimeZone(value: unknown): string {
  const field = 'config.timezone';
  if (typeof value !== 'string') refuseMeaning({ field, rule: 'string' });
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: value }).resolvedOptions().timeZone;
  } catch {
    return refuseMeaning({ field, rule: 'time_zone' });
  }
}
