import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import {
  DeliveryRecordList,
  isRecord,
  Problem,
  PublishTaskResponse,
  readBody,
  RunMutationResponse,
  RunView,
  WorkerView,
  type CancelRunRequest,
  type DeliveryRecordView,
  type PublishTaskRequest,
  type PutWorkerRequest,
  type StartRunRequest,
} from '@valise/contracts/wire';
import { parseJson } from '@valise/contracts/documents';
import { errnoOf, Refusal } from '../refusal.js';

/** Where one identity's certificate and private key (mode 0600) lie. */
export interface IdentityFiles {
  readonly certificateFile: string;
  readonly keyFile: string;
}

/** What a body holds; the wire's classes themselves are made by whoever reads one. */
export type Fields<T> = { readonly [K in keyof T]: T[K] };

const DEADLINE_MS = 15_000;
const MAX_ANSWER_BYTES = 65 * 1024 * 1024;

/** An operator's view of control: its management address, over mutual TLS 1.3. */
export class ManagementClient {
  readonly #agent: Agent;

  constructor(
    readonly origin: string,
    caFile: string,
    operator: IdentityFiles,
  ) {
    this.#agent = new Agent({
      keepAlive: true,
      minVersion: 'TLSv1.3',
      ca: readFileSync(caFile),
      cert: readFileSync(operator.certificateFile),
      key: readFileSync(operator.keyFile),
    });
  }

  async putWorker(workerId: string, body: Fields<PutWorkerRequest>): Promise<WorkerView> {
    return readBody(
      WorkerView,
      await this.#json('PUT', ['workers', workerId], body),
      'control_answer_invalid',
    );
  }

  async publish(
    projectId: string,
    taskId: string,
    body: Fields<PublishTaskRequest>,
  ): Promise<PublishTaskResponse> {
    const answer = await this.#json('PUT', ['projects', projectId, 'tasks', taskId], body);
    return readBody(PublishTaskResponse, answer, 'control_answer_invalid');
  }

  async startRun(
    projectId: string,
    taskId: string,
    body: Fields<StartRunRequest>,
  ): Promise<RunMutationResponse> {
    const answer = await this.#json('POST', ['projects', projectId, 'tasks', taskId, 'runs'], body);
    return readBody(RunMutationResponse, answer, 'control_answer_invalid');
  }

  async cancel(
    projectId: string,
    runId: string,
    body: Fields<CancelRunRequest>,
  ): Promise<RunMutationResponse> {
    const answer = await this.#json('POST', ['projects', projectId, 'runs', runId, 'cancel'], body);
    return readBody(RunMutationResponse, answer, 'control_answer_invalid');
  }

  async run(projectId: string, runId: string): Promise<RunView> {
    const answer = await this.#json('GET', ['projects', projectId, 'runs', runId]);
    return readBody(RunView, answer, 'control_answer_invalid');
  }

  async deliveries(projectId: string, runId: string): Promise<readonly DeliveryRecordView[]> {
    const answer = await this.#json('GET', ['projects', projectId, 'runs', runId, 'deliveries']);
    return readBody(DeliveryRecordList, answer, 'control_answer_invalid').deliveries;
  }

  /** What the task printed, masked by the worker. */
  log(projectId: string, runId: string): Promise<Buffer> {
    return this.#send('GET', `/api/v3/${path(['projects', projectId, 'runs', runId, 'log'])}`);
  }

  /** How many routes the description of both listeners has. @throws Refusal when it is no OpenAPI document */
  async describedRoutes(): Promise<number> {
    const document = parseJson(await this.#send('GET', '/openapi.json'));
    if (isRecord(document) && typeof document.openapi === 'string' && isRecord(document.paths)) {
      return Object.keys(document.paths).length;
    }
    throw new Refusal('control does not describe its routes as OpenAPI.');
  }

  close(): void {
    this.#agent.destroy();
  }

  async #json(method: string, segments: readonly string[], body?: object): Promise<unknown> {
    return parseJson(await this.#send(method, `/api/v3/${path(segments)}`, body));
  }

  /** @throws Refusal with the code of the problem that control answered, or that control did not answer */
  #send(method: string, at: string, body?: object): Promise<Buffer> {
    const content = body === undefined ? null : Buffer.from(JSON.stringify(body));
    return new Promise((resolve, reject) => {
      const call = request(
        `${this.origin}${at}`,
        {
          method,
          agent: this.#agent,
          signal: AbortSignal.timeout(DEADLINE_MS),
          headers: content ? { 'content-type': 'application/json', 'content-length': content.length } : {},
        },
        (answer) => {
          const chunks: Buffer[] = [];
          let length = 0;
          answer.on('data', (chunk: Buffer) => {
            length += chunk.length;
            if (length > MAX_ANSWER_BYTES) call.destroy();
            chunks.push(chunk);
          });
          answer.once('error', failed);
          answer.once('end', () => {
            const received = Buffer.concat(chunks);
            const status = answer.statusCode ?? 0;
            if (status >= 200 && status < 300) resolve(received);
            else reject(new Refusal(`control refused ${method} ${at}: ${status} ${problemCode(received)}.`));
          });
        },
      );
      const failed = (error: unknown): void => {
        reject(new Refusal(`control did not answer ${method} ${at} (${errnoOf(error) ?? 'cut off'}).`));
      };
      call.once('error', failed);
      call.end(content ?? undefined);
    });
  }
}

function path(segments: readonly string[]): string {
  return segments.map(encodeURIComponent).join('/');
}

function problemCode(body: Buffer): string {
  try {
    return readBody(Problem, parseJson(body), 'control_answer_invalid').code;
  } catch {
    return 'without a problem document';
  }
}
