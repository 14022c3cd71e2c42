import { until } from '../until.js';

const DEADLINE_MS = 20_000;

/** Control's address without TLS, as an orchestrator and a Prometheus see it. */
export class PlainAddress {
  constructor(private readonly port: number) {}

  async get(path: string): Promise<{ readonly status: number; readonly text: string }> {
    const response = await fetch(`http://127.0.0.1:${this.port}${path}`, {
      signal: AbortSignal.timeout(DEADLINE_MS),
    });
    return { status: response.status, text: await response.text() };
  }

  /** The value of one sample, named with its labels; null where the scrape has none. */
  async metric(sample: string): Promise<number | null> {
    const { text } = await this.get('/metrics');
    const line = text.split('\n').find((each) => each.startsWith(`${sample} `));
    return line === undefined ? null : Number(line.slice(sample.length));
  }

  /** Waits until the sample has the value. */
  async until(sample: string, value: number, deadlineMs = DEADLINE_MS): Promise<void> {
    let found: number | null = null;
    const look = async (): Promise<boolean> => (found = await this.metric(sample)) === value;
    await until(`${sample} ${value}`, look, { deadlineMs, situation: () => `it is ${found}` });
  }
}
