import fc from 'fast-check';
import { mutated, mutations, type Mutation } from '../../../spec/mutation.js';
import { holds } from '../../../spec/property.js';
import { ValiseError } from '../../failure/index.js';
import { normalizeCommandSpec, type CommandConfig } from './command-config.js';
import {
  executionReferences,
  executionRevisionPreimage,
  readExecutionRevision,
} from './execution-revision.js';
import { parseJson } from '../json/json.js';
import { createSecretReference } from '../environment/secret-reference.js';
import { compileExecutionRevision, compileLocalExecution } from './task-compilation.js';
import {
  createTaskDefinition,
  readTaskDefinition,
  taskDefinitionPreimage,
  type TaskDefinition,
} from './task-definition.js';

const reference = (name: string, version?: number): string =>
  createSecretReference({ projectId: 'p', name, ...(version !== undefined && { version }) });
const BUNDLE = reference('bundle', 1);

const names = fc.stringMatching(/^[A-Z_][A-Z0-9_]{0,5}$/);
const bindings = fc.uniqueArray(
  fc.oneof(
    fc.record({
      name: names,
      kind: fc.constant('public'),
      value: fc.string({ maxLength: 12 }).filter((v) => !v.includes('\0')),
    }),
    fc.record({
      name: names,
      kind: fc.constant('secret'),
      secretRef: fc.constantFrom(reference('a'), reference('b', 2)),
    }),
  ),
  { selector: ({ name }) => name, maxLength: 6 },
);
const configs = fc.record(
  {
    command: fc.oneof(
      fc.record({
        kind: fc.constant('argv'),
        file: fc.constant('/bin/true'),
        args: fc.array(fc.stringMatching(/^[a-z é]{0,6}$/), { maxLength: 3 }),
      }),
      fc.record({ kind: fc.constant('shell'), command: fc.constant('echo hi') }),
    ),
    environment: bindings,
    environmentBundleRef: fc.constant(BUNDLE),
    timeoutMs: fc.integer({ min: 1, max: 31_536_000_000 }),
    workingDirectory: fc.constant('/srv'),
  },
  { requiredKeys: ['command'] },
);

const spec = (config: unknown) => ({ schema: 'qinglong/command@v1', config });
const context = (config: unknown) => ({
  projectId: 'p',
  taskId: 't',
  kind: 'command' as const,
  spec: spec(config),
});

function define(config: unknown): TaskDefinition {
  const command = {
    projectId: 'p',
    taskId: 't',
    expectedRevision: null,
    mutationId: '018f0000-0000-7000-8000-000000000001',
    name: 'Task',
    kind: 'command' as const,
    spec: normalizeCommandSpec(context(config)),
    labels: {},
    enabled: true,
    occurredAtMs: 5,
  };
  return createTaskDefinition(command, 5);
}

function code(act: () => unknown): unknown {
  try {
    act();
    return null;
  } catch (error) {
    return error instanceof ValiseError ? error.code : error;
  }
}

/** What PostgreSQL's jsonb and a network do to a document: other key order, no prototype of ours. */
const stored = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value), (_, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).reverse())
      : member,
  );

/** What is read of a document after one byte of it changed, or null when it is refused with a code. */
function afterMutation<T>(document: unknown, mutation: Mutation, read: (json: unknown) => T): T | null {
  try {
    return read(parseJson(mutated(JSON.stringify(document), mutation)));
  } catch (error) {
    expect(error).toBeInstanceOf(ValiseError);
    return null;
  }
}

describe('a command task', () => {
  it('is canonical once it is normalised, whatever the order of keys and bindings', () => {
    holds(
      'task/canonical',
      fc.property(configs, (config) => {
        const canonical = normalizeCommandSpec(context(config));
        expect(JSON.stringify(normalizeCommandSpec(context(canonical.config)))).toBe(
          JSON.stringify(canonical),
        );
        expect(JSON.stringify(normalizeCommandSpec(context(stored(config))))).toBe(JSON.stringify(canonical));
      }),
    );
  });

  it('is verified, compiled and read again after storage, with the same digests', () => {
    holds(
      'task/storage',
      fc.property(configs, (config) => {
        const definition = define(config);
        expect(readTaskDefinition(stored(definition)).contentDigest).toBe(definition.contentDigest);
        const revision = compileExecutionRevision(stored(definition) as TaskDefinition);
        expect(readExecutionRevision(stored(revision))).toEqual(revision);
      }),
    );
  });

  it('is refused, or says the same, when one byte of its stored record changes', () => {
    holds(
      'task/mutation',
      fc.property(configs, mutations, (config, mutation) => {
        const definition = define(config);
        const read = afterMutation(definition, mutation, readTaskDefinition);
        if (read) expect(taskDefinitionPreimage(read)).toBe(taskDefinitionPreimage(definition));
      }),
    );
  });

  it('is refused, or runs the same, when one byte of its execution revision changes', () => {
    holds(
      'revision/mutation',
      fc.property(configs, mutations, (config, mutation) => {
        const revision = compileExecutionRevision(define(config));
        const read = afterMutation(revision, mutation, readExecutionRevision);
        if (read) expect(executionRevisionPreimage(read)).toBe(executionRevisionPreimage(revision));
      }),
    );
  });

  it('asks for its distinct references in binding order', () => {
    const environment = [
      { name: 'Z', kind: 'secret', secretRef: reference('a') },
      { name: 'A', kind: 'secret', secretRef: reference('b') },
      { name: 'B', kind: 'secret', secretRef: reference('a') },
    ];
    const revision = compileExecutionRevision(
      define({ command: { kind: 'shell', command: 'x' }, environment, environmentBundleRef: BUNDLE }),
    );
    expect(executionReferences(revision)).toEqual({
      secretRefs: [reference('b'), reference('a')],
      environmentBundleRefs: [BUNDLE],
    });
  });

  it('with a bundle is not for a single machine', () => {
    const definition = define({ command: { kind: 'shell', command: 'x' }, environmentBundleRef: BUNDLE });
    expect(code(() => compileLocalExecution(definition))).toBe('TASK_DEFINITION_COMPILATION_UNSUPPORTED');
  });

  it('is not compiled when it is disabled or one byte of its record changed', () => {
    const definition = define({ command: { kind: 'shell', command: 'x' } });
    for (const change of [{ enabled: false }, { name: 'Other' }, { revision: 2 }, { taskId: 'u' }]) {
      expect(code(() => compileExecutionRevision({ ...definition, ...change }))).toBe(
        'TASK_DEFINITION_COMPILATION_INVALID',
      );
    }
  });

  it('takes 64 distinct secret references and refuses the 65th', () => {
    const config = (count: number) => ({
      command: { kind: 'shell', command: 'x' },
      environment: Array.from({ length: count }, (_, index) => ({
        name: `S${index}`,
        kind: 'secret',
        secretRef: reference(`s${index}`),
      })),
    });
    expect(code(() => normalizeCommandSpec(context(config(64))))).toBeNull();
    expect(code(() => normalizeCommandSpec(context(config(65))))).toBe('TASK_SPEC_SEMANTIC_INVALID');
  });

  it('runs no code of its input: an accessor is refused unread', () => {
    let read = false;
    const config = Object.defineProperty({} as CommandConfig, 'command', {
      enumerable: true,
      get: () => (read = true),
    });
    expect(code(() => normalizeCommandSpec(context(config)))).toBe('TASK_DEFINITION_INVALID');
    expect(read).toBe(false);
  });
});
