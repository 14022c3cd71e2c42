import { setTimeout as pause } from 'node:timers/promises';
import { Test, type TestingModule } from '@nestjs/testing';
import {
  AttemptService,
  AuthorityModule,
  DEFAULT_SETTINGS,
  DeliveryAuthority,
  LeaseService,
  RunService,
  SessionService,
  SweeperService,
  TaskService,
  TransactionRunner,
  WorkerService,
  type AuthoritySettings,
  type ProcessRole,
} from '@valise/authority';
import { DataSource } from 'typeorm';
import type { Database } from './history.js';
import type { Random } from './random.js';

type Run = TransactionRunner['run'];
type Options = Parameters<Run>[0];
type Tx = Parameters<Parameters<Run>[1]>[0];

export interface StageOptions {
  /** Every transaction runs at READ COMMITTED, as if somebody had changed the isolation levels. */
  readonly lowered: boolean;
  readonly random: Random;
}

// A denial past the limit is counted, not recorded; here every one is to be seen. Sweepers come often.
const SETTINGS: AuthoritySettings = { ...DEFAULT_SETTINGS, denialsPerMinute: 1_000_000, sweepBatch: 10 };
// A connection for everybody: nobody waits in line, so that calls meet in the database.
const POOL_SIZES: Partial<Record<ProcessRole, number>> = {
  valise_ingress: 48,
  valise_operator: 4,
  valise_sweeper: 4,
};

/** How likely a statement leaves late, and by how many milliseconds at most. */
interface Dawdling {
  readonly chance: number;
  readonly atMostMs: number;
}

const WITH_LOCKS: Dawdling = { chance: 0.25, atMostMs: 12 };
// What reads before it locks has time to be overtaken, and keeps nobody waiting.
const WITHOUT_LOCKS: Dawdling = { chance: 0.6, atMostMs: 40 };

/** The authority's services under their roles, over a network that dawdles between statements: races get their time. */
export class Stage {
  private constructor(
    private readonly ingress: TestingModule,
    private readonly operator: TestingModule,
    private readonly clock: TestingModule,
  ) {}

  static async open(database: Database, options: StageOptions): Promise<Stage> {
    const connect = (role: ProcessRole): Promise<TestingModule> =>
      Test.createTestingModule({
        imports: [
          AuthorityModule.forRoot({
            url: database.url(role),
            applicationName: role,
            poolSize: POOL_SIZES[role] ?? 1,
            settings: SETTINGS,
          }),
        ],
      })
        .overrideProvider(TransactionRunner)
        .useFactory({
          factory: (dataSource: DataSource) => new DawdlingRunner(dataSource, options),
          inject: [DataSource],
        })
        .compile();
    return new Stage(
      await connect('valise_ingress'),
      await connect('valise_operator'),
      await connect('valise_sweeper'),
    );
  }

  get sessions(): SessionService {
    return this.ingress.get(SessionService);
  }
  get leases(): LeaseService {
    return this.ingress.get(LeaseService);
  }
  get attempts(): AttemptService {
    return this.ingress.get(AttemptService);
  }
  get deliveries(): DeliveryAuthority {
    return this.ingress.get(DeliveryAuthority);
  }
  get transactions(): TransactionRunner {
    return this.ingress.get(TransactionRunner);
  }
  get workers(): WorkerService {
    return this.operator.get(WorkerService);
  }
  get tasks(): TaskService {
    return this.operator.get(TaskService);
  }
  get runs(): RunService {
    return this.operator.get(RunService);
  }
  get sweeper(): SweeperService {
    return this.clock.get(SweeperService);
  }

  async close(): Promise<void> {
    for (const module of [this.ingress, this.operator, this.clock]) await module.close();
  }
}

class DawdlingRunner extends TransactionRunner {
  constructor(
    dataSource: DataSource,
    private readonly stage: StageOptions,
  ) {
    super(dataSource, SETTINGS);
  }

  override run<T>(options: Options, work: (tx: Tx) => Promise<T>): Promise<T> {
    const { lowered, random } = this.stage;
    const level: Options = lowered ? { ...options, isolation: 'READ COMMITTED' } : options;
    const late = options.isolation === 'SERIALIZABLE' ? WITHOUT_LOCKS : WITH_LOCKS;
    return super.run(level, (tx) => work(dawdling(tx, random, late)));
  }
}

/** The same transaction, some of whose statements leave late. */
function dawdling(tx: Tx, random: Random, { chance, atMostMs }: Dawdling): Tx {
  const query: Tx['query'] = async (...statement) => {
    if (random.chance(chance)) await pause(random.below(atMostMs));
    return tx.query(...statement);
  };
  return new Proxy(tx, {
    get: (target, property) =>
      property === 'query' ? query : (Reflect.get(target, property, target) as unknown),
  });
}
