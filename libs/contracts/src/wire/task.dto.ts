import {
  Digest,
  Flag,
  Generation,
  Identifier,
  IntegerOrNull,
  MAX_INT32,
  OneOf,
  Opaque,
  Optional,
  Text,
  TimeMs,
  Uuid,
} from './fields.js';

/** `PUT /api/v3/projects/{p}/tasks/{t}`: the next revision of a task. */
export class PublishTaskRequest {
  /** The current revision, or null for the first. */
  @IntegerOrNull(1, MAX_INT32)
  expectedRevision: number | null;

  /** The same id with the same content is answered as a replay; with other content it is refused. */
  @Uuid()
  mutationId: string;

  @Text({ max: 255, anyCharacter: true })
  name: string;

  @Optional()
  @Text({ max: 4096, anyCharacter: true })
  description?: string;

  @OneOf(['command', 'script', 'workflow', 'agent', 'tool'])
  kind: 'command' | 'script' | 'workflow' | 'agent' | 'tool';

  @Opaque('{schema, config} (wire.md §3).')
  spec: Record<string, unknown>;

  @Opaque('Label keys and values.')
  labels: Record<string, string>;

  @Flag()
  enabled: boolean;
}

export class TaskView {
  @Identifier()
  projectId: string;

  @Identifier()
  taskId: string;

  @Generation()
  revision: number;

  @Digest()
  contentDigest: string;

  /** `qltd:v1:{revision}:{contentDigest}`. */
  @Identifier()
  taskRevision: string;

  /** Content digest of the execution revision, or null for a disabled task (nothing to execute). */
  @Optional()
  @Digest()
  executionDigest?: string;

  @TimeMs()
  createdAtMs: number;

  @TimeMs()
  updatedAtMs: number;
}

export class PublishTaskResponse extends TaskView {
  @OneOf(['published', 'replayed'])
  outcome: 'published' | 'replayed';
}
