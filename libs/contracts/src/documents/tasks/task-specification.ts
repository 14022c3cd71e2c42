import type { Refuse } from '../refusal.js';
import { readSpec, type Spec } from './specification.js';
import { oneOf } from '../text/text.js';

export const TASK_KINDS = ['command', 'script', 'workflow', 'agent', 'tool'] as const;
export type TaskKind = (typeof TASK_KINDS)[number];

const LIMITS = { bytes: 64 * 1024, stringBytes: 16 * 1024, items: 256, depth: 12, nodes: 1024 } as const;

export const readTaskKind = (value: unknown, refuse: Refuse): TaskKind =>
  oneOf(value, TASK_KINDS, 'kind', refuse);

/** The generic layer of a task's specification (wire.md §3, §11). */
export const readTaskSpec = (value: unknown, refuse: Refuse): Spec => readSpec(value, LIMITS, refuse);
