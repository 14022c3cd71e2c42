import type { ServerResponse } from 'node:http';

/** Whether the program is about to end. From then on every answer tells its connection to close. */
export class Drain {
  private readonly answering = new Set<ServerResponse>();
  private begun = false;

  get hasBegun(): boolean {
    return this.begun;
  }

  begin(): void {
    this.begun = true;
    for (const response of this.answering) closeAfter(response);
  }

  /** Watches an answer until its connection has it, or is gone. */
  watch(response: ServerResponse): void {
    this.answering.add(response);
    response.once('close', () => this.answering.delete(response));
    if (this.begun) closeAfter(response);
  }
}

function closeAfter(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('connection', 'close');
}
