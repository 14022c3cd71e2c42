import { randomUUID } from 'node:crypto';
import { textOfLog } from '@valise/contracts/documents';
import type { PublishTaskRequest } from '@valise/contracts/wire';
import type { Fields } from '../management/management-client.js';
import { environmentDigest, type SecretReferences } from './mounted-secrets.js';
import type { TaskInput } from './task-input.js';

/**
 * What the task does unless it is told otherwise: it prints how many variables it was given and one digest over them
 * (as `environmentDigest` makes it), from what the kernel says its environment is. What the worker itself sets is left
 * out.
 */
const DIGEST_PROGRAM = `
given() {
  tr '\\000\\n' '\\n\\001' < /proc/$$/environ | grep -v -E '^(QL3_[A-Z_]*|PATH|HOME|LANG)=' | LC_ALL=C sort
}
echo "I am the task. I was given $(given | wc -l | tr -d ' ') variables."
echo "SHA-256 over all of them: $(given | sha256sum | cut -c 1-64)"
`;

/** The public part of the task: this is stored, so no name or value of the bundle is in it. */
export function publicCommand(command: readonly string[]): { kind: 'argv'; file: string; args: string[] } {
  const [file = '/bin/sh', ...args] = command.length > 0 ? command : ['/bin/sh', '-c', DIGEST_PROGRAM];
  return { kind: 'argv', file, args };
}

/** The first revision of the demo's task. */
export function taskRequest(
  command: readonly string[],
  references: SecretReferences,
): Fields<PublishTaskRequest> {
  const { environmentBundleRef, bindings } = references;
  return {
    expectedRevision: null,
    mutationId: randomUUID(),
    name: 'The demo’s task',
    kind: 'command',
    spec: {
      schema: 'qinglong/command@v1',
      config: {
        command: publicCommand(command),
        environment: bindings,
        ...(environmentBundleRef !== null && { environmentBundleRef }),
      },
    },
    labels: {},
    enabled: true,
  };
}

/** Whether the digest that the task printed is the one of what was packed. */
export function saysTheSame(log: Buffer, { entries, secrets }: TaskInput): boolean {
  const all = [...entries, ...secrets].map(({ name, value }) => ({ name, value: Buffer.from(value) }));
  return textOfLog(log).includes(environmentDigest(all));
}
