/** `byteLength` bytes outside V8's heap, where zeroing leaves no copy (a small typed array would live inside it). */
export function offHeap(byteLength: number): Buffer<ArrayBuffer> {
  return Buffer.from(new ArrayBuffer(byteLength));
}
