import { Injectable } from '@nestjs/common';
import type { ExecutionRevision } from '@valise/contracts/documents';
import { ValiseError } from '@valise/contracts/failure';
import { Materializer } from '@valise/materializer';
import { WorkerConfig } from '../config/worker-config.js';
import { MaskPatterns } from '../logs/mask-patterns.js';
import type { Attempt } from './attempt.js';
import { DeliveryService } from './delivery.service.js';
import { writeHandover, type EnvironmentVariable } from './handover.js';
import { UNCARRIED_NAMES } from './launch-shell.js';
import { Steps } from '../events/steps.js';

/** Everything a launch needs, and nothing else of the material. */
export interface Prepared {
  readonly argv: readonly string[];
  readonly workingDirectory: string;
  readonly handover: Buffer;
  readonly patterns: MaskPatterns;
}

/** Opens what was delivered for an attempt and makes it ready to hand over; the material itself is forgotten here. */
@Injectable()
export class PreparationService {
  constructor(
    private readonly config: WorkerConfig,
    private readonly delivery: DeliveryService,
    private readonly materializer: Materializer,
    private readonly steps: Steps,
  ) {}

  /** @throws AttemptRefused, or ValiseError environment_… or secret_response_invalid; nothing of the material is left */
  async prepare(attempt: Attempt): Promise<Prepared> {
    const { revision, names } = attempt;
    const material = await this.delivery.fetch(attempt);
    try {
      const references = material.values.length + material.environmentBundles.length;
      if (references > 0) this.steps.reached('secrets_received', { ...names, references });
      const { allowedNames } = this.config;
      const environment = this.materializer.expand({
        bindings: revision.environment,
        material,
        allowedNames,
      });
      try {
        const publicNames = new Set(revision.environment.filter(isPublic).map(({ name }) => name));
        const secret = environment.entries.filter(({ name }) => !publicNames.has(name));
        return {
          argv: argvOf(revision.command),
          workingDirectory: revision.workingDirectory ?? '/',
          handover: writeHandover([...environment.entries, ...this.#base(attempt, environment.entries)]),
          patterns: new MaskPatterns(secret.map(({ value }) => value)),
        };
      } finally {
        environment.wipe();
      }
    } finally {
      material.wipe();
    }
  }

  /** What the operator adds; it may not meet a name of the task. */
  #base({ offer }: Attempt, task: readonly EnvironmentVariable[]): EnvironmentVariable[] {
    const { runId, attemptId, taskId, projectId } = offer.candidate;
    for (const [index, { name }] of task.entries()) {
      if (this.config.baseEnvironment.has(name)) {
        throw new ValiseError('environment_name_conflict', { source: 'operator', index });
      }
      if (UNCARRIED_NAMES.has(name)) {
        throw new ValiseError('environment_name_refused', { class: 'shell', index });
      }
    }
    const added = [
      ...this.config.baseEnvironment,
      ['QL3_RUN_ID', runId],
      ['QL3_ATTEMPT_ID', attemptId],
      ['QL3_TASK_ID', taskId],
      ['QL3_PROJECT_ID', projectId],
    ] as const;
    return added.map(([name, text]) => ({ name, value: Buffer.from(text, 'utf8') }));
  }
}

const isPublic = ({ kind }: ExecutionRevision['environment'][number]): boolean => kind === 'public';

function argvOf(command: ExecutionRevision['command']): readonly string[] {
  return command.kind === 'argv'
    ? [command.file, ...command.args]
    : [command.shell ?? '/bin/sh', '-c', command.command];
}
