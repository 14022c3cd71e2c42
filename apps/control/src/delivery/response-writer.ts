import type { Response } from 'express';
import { forget } from '@valise/process';

/** How an answer left: `sent` when the socket has taken all of it, `aborted` when it went away before. */
export type SendOutcome = 'sent' | 'aborted';

/**
 * Sends `document` as the whole JSON body, and forgets it when the socket has taken it or is gone, however that comes.
 *
 * The headers go out first and the body in one write: sent together, Node joins them into a buffer that is freed
 * unwiped (memory.md, "Control"). `deadlineMs` bounds how long a slow reader may take.
 */
export function sendDocument(
  response: Response,
  document: Buffer<ArrayBuffer>,
  deadlineMs: number,
): Promise<SendOutcome> {
  const { socket } = response;
  // A pipelined request has no socket yet, and a queued response never says that it was closed.
  if (!socket) {
    forget(document);
    response.req.socket.destroy();
    return Promise.resolve('aborted');
  }
  return new Promise((resolve) => {
    const settle = (): void => {
      clearTimeout(timer);
      forget(document);
      socket.off('close', settle);
      // A socket that fails lets go of its queue, and Node then says `finish` too.
      const whole = response.writableFinished && socket.errored === null && !socket.destroyed;
      resolve(whole ? 'sent' : 'aborted');
    };
    const timer = setTimeout(
      () => {
        response.destroy();
        settle();
      },
      Math.max(0, deadlineMs),
    );
    socket.once('close', settle);
    response.once('finish', settle).once('close', settle).once('error', settle);
    response.statusCode = 200;
    response.setHeader('content-type', 'application/json');
    response.setHeader('content-length', document.length);
    response.write('', (error) => {
      // A client that left before has closed its socket already: nothing else will tell.
      if (error || response.destroyed) settle();
      else response.end(document);
    });
  });
}
