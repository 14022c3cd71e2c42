import { pipeBoth, Relay } from '../support/wire/relay.js';

/** Messages of the protocol without a type byte: the start-up message, and those before it. */
const LENGTH_BYTES = 4;

/** A statement as a client sent it; `name` is empty where nobody prepared it. */
export interface RecordedStatement {
  readonly name: string;
  readonly text: string;
}

/** An address in front of PostgreSQL that writes down every statement which passes. */
export class StatementRecorder {
  /** In their order. */
  readonly statements: RecordedStatement[] = [];
  /** How often a client waited for the server's answer. */
  roundTrips = 0;
  private relay: Relay;

  private constructor(private readonly target: URL) {}

  static async open(url: string): Promise<StatementRecorder> {
    const recorder = new StatementRecorder(new URL(url));
    const { hostname: host, port } = recorder.target;
    recorder.relay = await Relay.open({ host, port: Number(port) }, (near, far) => {
      const reader = new FrontendReader(recorder);
      near.on('data', (chunk: Buffer) => {
        reader.take(chunk);
      });
      pipeBoth(near, far);
    });
    return recorder;
  }

  /** The same database by way of this address. */
  get url(): string {
    const url = new URL(this.target.href);
    url.host = `127.0.0.1:${this.relay.port}`;
    return url.href;
  }

  /** Forgets what it has seen. */
  reset(): void {
    this.statements.length = 0;
    this.roundTrips = 0;
  }

  close(): Promise<void> {
    return this.relay.close();
  }
}

/** Takes the client's side of one connection apart into messages. */
class FrontendReader {
  #buffer: Buffer = Buffer.alloc(0);
  #started = false;
  readonly #named = new Map<string, string>();

  constructor(private readonly recorder: StatementRecorder) {}

  take(chunk: Buffer): void {
    this.#buffer = Buffer.concat([this.#buffer, chunk]);
    let asked = false;
    for (;;) {
      const typeBytes = this.#started ? 1 : 0;
      if (this.#buffer.length < typeBytes + LENGTH_BYTES) break;
      const length = typeBytes + this.#buffer.readInt32BE(typeBytes);
      if (this.#buffer.length < length) break;
      const message = this.#buffer.subarray(0, length);
      this.#buffer = this.#buffer.subarray(length);
      if (this.#started) asked = this.#read(message) || asked;
      this.#started = true;
    }
    if (asked) this.recorder.roundTrips += 1;
  }

  /** True when the client now waits for an answer. */
  #read(message: Buffer): boolean {
    const type = String.fromCharCode(message[0] ?? 0);
    const texts = message
      .subarray(1 + LENGTH_BYTES)
      .toString('utf8')
      .split('\0');
    const [first = '', second = ''] = texts;
    switch (type) {
      case 'Q':
        this.recorder.statements.push({ name: '', text: first });
        return true;
      case 'P':
        this.#named.set(first, second);
        return false;
      case 'B':
        this.recorder.statements.push({ name: second, text: this.#named.get(second) ?? '' });
        return false;
      case 'S':
        return true;
      default:
        return false;
    }
  }
}
