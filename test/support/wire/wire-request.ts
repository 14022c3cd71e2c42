/** What a head announces of its body. */
interface Announced {
  readonly type: string;
  readonly length: number;
}

/** A POST that announces a body, with as much of it as is given. */
export function post(path: string, { type, length }: Announced, body = '', headers = ''): string {
  return `POST ${path} HTTP/1.1\r\nhost: control\r\ncontent-type: ${type}\r\ncontent-length: ${length}\r\n${headers}\r\n${body}`;
}

/** A whole POST of a JSON body. */
export function postJson(path: string, body: unknown, keepAlive = true): Buffer {
  const json = JSON.stringify(body);
  const announced = { type: 'application/json', length: Buffer.byteLength(json) };
  return Buffer.from(post(path, announced, json, keepAlive ? '' : 'connection: close\r\n'));
}
