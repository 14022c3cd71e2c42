import { join } from 'node:path';
import type { CleanUp } from './clean-up.js';
import { migrate, startControl, untilListening, type ControlProcess } from './control-process.js';
import { DemoDatabase, type DatabaseUrlFiles } from './database.js';
import { startEmbeddedPostgres } from './embedded-postgres.js';
import { ManagementClient } from '../management/management-client.js';
import { createPki, type Pki } from './pki.js';
import { endMarked } from './process-mark.js';
import type { Program } from './program.js';
import type { Surface } from './proof.js';
import { Watchdog } from './watchdog.js';
import { chooseTaskMark, startWorker } from './worker-process.js';
import { makeWorkplace, removeDirectory, type Workplace } from './workplace.js';

export interface StagedDatabase {
  readonly database: DemoDatabase;
  readonly files: DatabaseUrlFiles;
  /** Null for a PostgreSQL that is not ours. */
  readonly dataDirectory: string | null;
}

export interface StagedControl {
  readonly control: ControlProcess;
  readonly management: ManagementClient;
  readonly routes: number;
}

const TRUST_DOMAIN = 'demo.valise.example';
const WORKER_ID = 'worker-1';
const OPERATOR_ID = 'you';
const REGISTER_DEADLINE_MS = 20_000;

/**
 * The parts of one demo. Whatever comes into being is known to the clean-up, and to a watchdog for when we are killed,
 * before the next thing does.
 */
export class Stage {
  private constructor(
    readonly workplace: Workplace,
    private readonly watchdog: Watchdog,
    private readonly cleanUp: CleanUp,
    private readonly signal: AbortSignal,
  ) {}

  /** An empty one. `keep` is a directory in which everything stays, or null. @throws Refusal */
  static set(keep: string | null, cleanUp: CleanUp, signal: AbortSignal): Stage {
    const watchdog = Watchdog.start();
    cleanUp.add(() => watchdog.dismiss());
    const workplace = makeWorkplace(keep);
    for (const directory of workplace.remove) {
      watchdog.remove(directory);
      cleanUp.add(() => {
        removeDirectory(directory);
      });
    }
    // Every program of ours has this in its environment, also one that was started a moment before we were killed.
    watchdog.endMarked({ kind: 'environment', entry: `TMPDIR=${workplace.temporary}` });
    return new Stage(workplace, watchdog, cleanUp, signal);
  }

  /** With the current schema, and logins for control's roles; on a PostgreSQL of our own when `url` is null. */
  async startDatabase(url: string | null): Promise<StagedDatabase> {
    let serverUrl = url;
    let dataDirectory: string | null = null;
    if (serverUrl === null) {
      const server = await startEmbeddedPostgres({ directory: this.workplace.postgres });
      this.watchdog.end(server.pid, 'SIGQUIT');
      this.cleanUp.add(() => server.stop());
      ({ url: serverUrl, dataDirectory } = server);
    }
    const database = await DemoDatabase.on(serverUrl);
    if (dataDirectory === null) {
      this.watchdog.clean(database.traces);
      this.cleanUp.add(() => database.remove());
    } else {
      this.cleanUp.add(() => database.close());
    }
    await database.create();
    await migrate(this.workplace, database.url);
    return { database, files: await database.createLogins(this.workplace.settings), dataDirectory };
  }

  issueCertificates(): Promise<Pki> {
    return createPki(this.workplace.pki, {
      trustDomain: TRUST_DOMAIN,
      workerId: WORKER_ID,
      operatorId: OPERATOR_ID,
    });
  }

  /** Everywhere that something can be written down. */
  async surfaceOf({ database, dataDirectory }: StagedDatabase): Promise<Surface> {
    const client = await database.connect();
    this.cleanUp.add(() => client.end());
    const { remove, mountedSecrets, postgres, temporary } = this.workplace;
    return {
      database: client,
      paths: remove.map(({ path }) => path),
      except: [mountedSecrets, join(postgres, 'binaries')],
      temporary,
      databaseFiles: dataDirectory,
    };
  }

  async startControl(pki: Pki, files: DatabaseUrlFiles): Promise<StagedControl> {
    const names = { trustDomain: TRUST_DOMAIN, operatorId: OPERATOR_ID };
    const program = startControl(this.workplace, pki, files, names);
    this.watchdog.end(program.pid);
    this.cleanUp.add(() => program.stop());
    const control = await untilListening(program, this.signal);
    const origin = `https://127.0.0.1:${control.ports.management}`;
    const management = new ManagementClient(origin, pki.caFile, pki.operator);
    this.cleanUp.add(() => {
      management.close();
    });
    return { control, management, routes: await management.describedRoutes() };
  }

  /** The worker may serve the project, has registered, and asks for work. */
  async startWorker(pki: Pki, { control, management }: StagedControl, projectId: string): Promise<Program> {
    await management.putWorker(WORKER_ID, { status: 'active', projects: [projectId], labels: {} });
    // A worker that is killed cannot end what its task left behind.
    const mark = chooseTaskMark(projectId);
    this.watchdog.endMarked(mark);
    this.cleanUp.add(() => endMarked(mark));
    const program = startWorker(this.workplace, pki, control, mark);
    this.watchdog.end(program.pid);
    this.cleanUp.add(() => program.stop());
    await program.waitFor('registered', this.signal, REGISTER_DEADLINE_MS);
    return program;
  }
}
