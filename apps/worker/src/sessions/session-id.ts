import { randomBytes } from 'node:crypto';

/** A UUIDv7 (RFC 9562) that sorts after `previous`, also when the clock went back. */
export function nextSessionId(previous: string | null, nowMs: number): string {
  const previousMs = previous === null ? -1 : Number.parseInt(previous.replace('-', '').slice(0, 12), 16);
  const bytes = randomBytes(16);
  bytes.writeUIntBE(Math.max(nowMs, previousMs + 1), 0, 6);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x70, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = bytes.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
