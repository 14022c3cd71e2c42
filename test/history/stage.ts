import { Test, type TestingModule } from '@nestjs/testing';
import {
  AuthorityModule,
  DEFAULT_SETTINGS,
  TransactionRunner,
  type AuthoritySettings,
  type ProcessRole,
} from '@valise/authority';
import { DataSource } from 'typeorm';
import { Services, startProcesses } from '../support/services.js';
import type { Database } from './history.js';

type Run = TransactionRunner['run'];
type Options = Parameters<Run>[0];
type Isolation = Options['isolation'];
type Tx = Parameters<Parameters<Run>[1]>[0];

export interface StageOptions {
  /** Every transaction runs at READ COMMITTED, as if somebody had changed the isolation levels. */
  readonly lowered: boolean;
  readonly pace: Pace;
}

/** What happens between the statements of a transaction. */
export interface Pace {
  /** Before each statement, and before COMMIT. */
  before(what: 'statement' | 'commit', isolation: Isolation): Promise<void>;
}

// A denial past the limit is counted, not recorded; here every one is to be seen. Sweepers come often.
const SETTINGS: AuthoritySettings = { ...DEFAULT_SETTINGS, denialsPerMinute: 1_000_000, sweepBatch: 10 };
// A connection for everybody: nobody waits in line, so that calls meet in the database.
const POOL_SIZES: Partial<Record<ProcessRole, number>> = {
  valise_ingress: 48,
  valise_operator: 4,
  valise_sweeper: 4,
};

/** The authority's services under their roles, each transaction at the pace of the play. */
export class Stage extends Services {
  static async open(database: Database, options: StageOptions): Promise<Stage> {
    const start = (role: ProcessRole): Promise<TestingModule> =>
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
          factory: (dataSource: DataSource) => new PacedRunner(dataSource, options),
          inject: [DataSource],
        })
        .compile();
    return new Stage(await startProcesses(start));
  }
}

class PacedRunner extends TransactionRunner {
  constructor(
    dataSource: DataSource,
    private readonly stage: StageOptions,
  ) {
    super(dataSource, SETTINGS);
  }

  override run<T>(options: Options, work: (tx: Tx) => Promise<T>): Promise<T> {
    const { lowered, pace } = this.stage;
    const level: Options = lowered ? { ...options, isolation: 'READ COMMITTED' } : options;
    return super.run(level, async (tx) => {
      const done = await work(paced(tx, pace, options.isolation));
      await pace.before('commit', options.isolation);
      return done;
    });
  }
}

function paced(tx: Tx, pace: Pace, isolation: Isolation): Tx {
  const query: Tx['query'] = async (...statement) => {
    await pace.before('statement', isolation);
    return tx.query(...statement);
  };
  const queryAndCommit: Tx['queryAndCommit'] = async (...statement) => {
    await pace.before('statement', isolation);
    return tx.queryAndCommit(...statement);
  };
  const own: Partial<Tx> = { query, queryAndCommit };
  return new Proxy(tx, {
    get: (target, property) =>
      Object.hasOwn(own, property)
        ? own[property as keyof Tx]
        : (Reflect.get(target, property, target) as unknown),
  });
}
