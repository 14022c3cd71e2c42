import 'reflect-metadata';
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { createSecretReference, type LogStream } from '@valise/contracts/documents';
import { ValiseError } from '@valise/contracts/failure';
import { checkBundle, packBundle } from './bundles/bundle.command.js';
import { runDemo } from './demo/demo.command.js';
import { jsonLine, refused } from './demo/demo-report.js';
import type { SecretOption } from './demo/task-input.js';
import { connectAsOperator } from './management/connection.js';
import type { ManagementClient } from './management/management-client.js';
import { errnoOf, Refusal } from './refusal.js';
import { showLog, watchRun, type Outputs } from './runs/run.command.js';
import { runVectors } from './vectors/index.js';

const OUTPUTS: Outputs = {
  out: process.stdout,
  say: (line) => {
    console.error(line);
  },
};

const program = new Command('valise')
  .description('Packs and checks bundles of secret environment variables, and shows how they are delivered.')
  .showSuggestionAfterError(false)
  .exitOverride();

const bundle = program.command('bundle').description('bundles of environment variables');
bundle
  .command('check')
  .description('says whether a dotenv file or a bundle keeps every limit, with counts')
  .argument('<file>')
  .action((file: string) => {
    checkBundle(file);
  });
bundle
  .command('pack')
  .description('writes a dotenv file as a canonical bundle')
  .argument('<file>')
  .option('-o, --output <file>', 'a new file (0600) instead of standard output')
  .action((file: string, { output }: { output?: string }) => {
    packBundle(file, output);
  });

program
  .command('ref')
  .description('references to secrets')
  .command('create')
  .description('prints the reference of a secret; with a version it is pinned, as a bundle’s must be')
  .argument('<project>')
  .argument('<name>')
  .argument('[version]', 'a whole number from 1', wholeNumber)
  .action((projectId: string, name: string, version?: number) => {
    console.log(createSecretReference({ projectId, name, ...(version !== undefined && { version }) }));
  });

const run = program
  .command('run')
  .description(
    'runs of tasks, as an operator sees them; where control is and who asks: docs/reference/settings.md',
  );
run
  .command('log')
  .description('prints the masked log of a run, once its attempt has ended')
  .argument('<run>')
  .requiredOption('--project <id>', 'the project of the run')
  .addOption(new Option('--stream <name>', 'one stream alone').choices(['stdout', 'stderr']))
  .option('--since-line <n>', 'from this line on, counted from 1', wholeNumber, 1)
  .option('--raw', 'the records as they are stored, with stream and time', false)
  .action((runId: string, { project, stream, sinceLine, raw }: RunLogOptions) =>
    asOperator((management) =>
      showLog(
        management,
        project,
        runId,
        { streams: stream ? [stream] : ['stdout', 'stderr'], sinceLine, raw },
        OUTPUTS,
      ),
    ),
  );
run
  .command('watch')
  .description('tells the states of a run as they change, until it ends; the log comes at the end')
  .argument('<run>')
  .requiredOption('--project <id>', 'the project of the run')
  .action((runId: string, { project }: { project: string }) =>
    asOperator(async (management) => {
      process.exitCode = await watchRun(management, project, runId, OUTPUTS);
    }),
  );

program
  .command('vectors')
  .description('checks files of format vectors')
  .argument('<file...>')
  .action((files: string[]) => {
    process.exitCode = runVectors(files, (line) => {
      console.log(line);
    });
  });

program
  .command('demo')
  .description('runs the whole job on this machine: PostgreSQL, mutual TLS, control, a worker, a task')
  .option('--env-file <file>', 'a dotenv file that becomes the bundle (default: a built-in sample)')
  .option('--secret <NAME=FILE>', 'an ordinary secret, may be repeated', collectSecret, [])
  .option('--json', 'one JSON object as the last line of output', false)
  .option('--keep <dir>', 'leave everything running in this directory until Ctrl-C')
  .option(
    '--database-url <url>',
    'a PostgreSQL of yours; its account creates and removes a database and three logins',
  )
  .argument('[command...]', 'after --: what the task runs, by its absolute path')
  .action(async (command: string[], options: DemoCommandOptions) => {
    process.exitCode = await runDemo({
      envFile: options.envFile ?? null,
      secrets: options.secret,
      json: options.json,
      keep: options.keep ?? null,
      databaseUrl: options.databaseUrl ?? null,
      command,
    });
  });

interface RunLogOptions {
  project: string;
  stream?: LogStream;
  sinceLine: number;
  raw: boolean;
}

interface DemoCommandOptions {
  envFile?: string;
  secret: SecretOption[];
  json: boolean;
  keep?: string;
  databaseUrl?: string;
}

function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,9}$/.test(text)) throw new InvalidArgumentError('It is no whole number from 1.');
  return Number(text);
}

async function asOperator(act: (management: ManagementClient) => Promise<void>): Promise<void> {
  const management = connectAsOperator(process.env);
  try {
    await act(management);
  } finally {
    management.close();
  }
}

function collectSecret(text: string, before: SecretOption[]): SecretOption[] {
  const [, name, file] = /^([^=]+)=(.+)$/s.exec(text) ?? [];
  // Not the parser's own refusal: that one quotes what was given, and it may have been the secret itself.
  if (name === undefined || file === undefined) throw new Refusal('--secret must be NAME=FILE.', 2);
  return [...before, { name, file }];
}

program.parseAsync().catch((error: unknown) => {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return;
    fail(new Refusal('The command line is wrong; standard error says how.', 2));
  } else if (error instanceof Refusal) {
    console.error(error.message);
    fail(error);
  } else if (error instanceof ValiseError) {
    console.error(error.message);
    fail(new Refusal(error.message, 2));
  } else throw error;
});

/** Whoever asked the demo for JSON gets it also when the demo never began. */
function fail(refusal: Refusal): void {
  process.exitCode = refusal.exitCode;
  const [command, ...rest] = process.argv.slice(2);
  const end = rest.indexOf('--');
  const options = end < 0 ? rest : rest.slice(0, end);
  if (command === 'demo' && options.includes('--json')) process.stdout.write(jsonLine(refused(refusal), []));
}

/** `… | head -1` is no failure of ours. */
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error) => {
    if (errnoOf(error) !== 'EPIPE') throw error;
  });
}
