import type { TestingModule } from '@nestjs/testing';
import {
  ArtifactService,
  AttemptService,
  DeliveryAuthority,
  DeliveryRecordService,
  LeaseService,
  RunService,
  SessionService,
  SweeperService,
  TaskService,
  TransactionRunner,
  WorkerService,
} from '@valise/authority';

const ROLES = ['valise_ingress', 'valise_operator', 'valise_sweeper'] as const;
type Role = (typeof ROLES)[number];

/** A process of the product under each role that has services. */
export type Processes = Readonly<Record<Role, TestingModule>>;

export async function startProcesses(start: (role: Role) => Promise<TestingModule>): Promise<Processes> {
  const started = ROLES.map(async (role) => [role, await start(role)] as const);
  return Object.fromEntries(await Promise.all(started)) as Record<Role, TestingModule>;
}

/** The authority's services, each under the database role that the product gives it. */
export class Services {
  protected constructor(private readonly processes: Processes) {}

  get sessions(): SessionService {
    return this.processes.valise_ingress.get(SessionService);
  }
  get leases(): LeaseService {
    return this.processes.valise_ingress.get(LeaseService);
  }
  get attempts(): AttemptService {
    return this.processes.valise_ingress.get(AttemptService);
  }
  get deliveries(): DeliveryAuthority {
    return this.processes.valise_ingress.get(DeliveryAuthority);
  }
  get artifacts(): ArtifactService {
    return this.processes.valise_ingress.get(ArtifactService);
  }
  get transactions(): TransactionRunner {
    return this.processes.valise_ingress.get(TransactionRunner);
  }
  get workers(): WorkerService {
    return this.processes.valise_operator.get(WorkerService);
  }
  get tasks(): TaskService {
    return this.processes.valise_operator.get(TaskService);
  }
  get runs(): RunService {
    return this.processes.valise_operator.get(RunService);
  }
  get records(): DeliveryRecordService {
    return this.processes.valise_operator.get(DeliveryRecordService);
  }
  get logs(): ArtifactService {
    return this.processes.valise_operator.get(ArtifactService);
  }
  get sweeper(): SweeperService {
    return this.processes.valise_sweeper.get(SweeperService);
  }

  async close(): Promise<void> {
    for (const role of ROLES) await this.processes[role].close();
  }
}
