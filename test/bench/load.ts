import type { LeaseStock } from '../support/lease-stock.js';
import type { PlayedWorker } from '../support/played-worker.js';
import { cpuMsOf, residentMiB } from '../support/process-stat.js';
import type { WireCaller } from '../support/wire/wire-caller.js';
import { WireConnection } from '../support/wire/wire-connection.js';

/** A server that answers deliveries. */
export interface Server {
  readonly pid: number;
  readonly port: number;
}

export interface LoadShape {
  readonly connections: number;
  /** Whether the requests of a connection share its handshake; else each has one of its own. */
  readonly keepAlive: boolean;
  readonly requests: number;
}

/** What one server did in one round. */
export interface Sample {
  readonly cpuMsPerRequest: number;
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  readonly peakResidentMiB: number;
  readonly answerBytes: number;
}

/**
 * Asks `server` for deliveries, as many at once as there are connections, each with a worker of its own. Connections
 * and stock are ready before the clock starts. @throws Error for any answer but 200
 */
export async function measure(
  server: Server,
  stock: LeaseStock,
  workers: readonly PlayedWorker[],
  shape: LoadShape,
): Promise<Sample> {
  await stock.refill();
  const perConnection = Math.ceil(shape.requests / shape.connections);
  if (perConnection > stock.deliveriesPerWorker) throw new Error('the stock is too small for this round');
  const lanes: Lane[] = [];
  for (let index = 0; index < shape.connections; index += 1) {
    const caller = { ...workers[index]!.caller, port: server.port };
    lanes.push(await Lane.open(caller, stock.requestsOf(index, shape.keepAlive), shape.keepAlive));
  }
  let peakResidentMiB = 0;
  const watch = setInterval(() => {
    peakResidentMiB = Math.max(peakResidentMiB, residentMiB(server.pid));
  }, 50);
  try {
    const cpuBefore = cpuMsOf(server.pid);
    const startedAt = performance.now();
    const done = await Promise.all(lanes.map((lane) => lane.run(perConnection)));
    const seconds = (performance.now() - startedAt) / 1000;
    // Recording the outcome is part of a delivery's cost, and comes after the answer.
    await stock.settled();
    const cpuMs = cpuMsOf(server.pid) - cpuBefore;
    const latencies = done.flatMap(({ latenciesMs }) => latenciesMs).sort((a, b) => a - b);
    const at = (share: number): number => latencies[Math.ceil(latencies.length * share) - 1] ?? NaN;
    return {
      cpuMsPerRequest: cpuMs / latencies.length,
      requestsPerSecond: latencies.length / seconds,
      p50Ms: at(0.5),
      p95Ms: at(0.95),
      p99Ms: at(0.99),
      peakResidentMiB,
      answerBytes: done[0]?.answerBytes ?? 0,
    };
  } finally {
    clearInterval(watch);
    for (const lane of lanes) lane.close();
  }
}

/** So many rounds of both; in turn the one or the other begins. */
export async function interleaved(
  rounds: number,
  [one, other]: readonly [() => Promise<Sample>, () => Promise<Sample>],
): Promise<[Sample[], Sample[]]> {
  const samples: [Sample[], Sample[]] = [[], []];
  for (let round = 0; round < rounds; round += 1) {
    if (round % 2 === 0) samples[1].push(await other());
    samples[0].push(await one());
    if (round % 2 === 1) samples[1].push(await other());
  }
  return samples;
}

/** One worker's requests, one after the other. */
class Lane {
  private constructor(
    private readonly caller: WireCaller,
    private readonly requests: readonly Buffer[],
    private connection: WireConnection | null,
  ) {}

  static async open(caller: WireCaller, requests: readonly Buffer[], keepAlive: boolean): Promise<Lane> {
    return new Lane(caller, requests, keepAlive ? await WireConnection.open(caller) : null);
  }

  async run(count: number): Promise<{ latenciesMs: number[]; answerBytes: number }> {
    const latenciesMs: number[] = [];
    let answerBytes = 0;
    for (let index = 0; index < count; index += 1) {
      const startedAt = performance.now();
      const connection = this.connection ?? (await WireConnection.open(this.caller));
      const { status, head, bodyBytes } = await connection.exchange(
        this.requests[index % this.requests.length]!,
      );
      latenciesMs.push(performance.now() - startedAt);
      if (connection !== this.connection) connection.close();
      if (status !== 200) throw new Error(`an answer of the benchmark was ${status}\n${head}`);
      answerBytes = bodyBytes;
    }
    return { latenciesMs, answerBytes };
  }

  close(): void {
    this.connection?.close();
  }
}
