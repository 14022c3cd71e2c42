import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { readAnswer, type Answer } from './answer.js';

function answerWith(headers: Readonly<Record<string, string>>): Promise<Answer> {
  const message = new IncomingMessage(new Socket());
  message.statusCode = 503;
  Object.assign(message.headers, headers);
  const answer = readAnswer(message);
  message.push(Buffer.from('x'));
  message.push(null);
  return answer;
}

describe('an answer', () => {
  it('has the request id that control gave it', async () => {
    expect(await answerWith({ 'x-request-id': 'request-1' })).toMatchObject({ requestId: 'request-1' });
  });

  it.each([{}, { 'x-request-id': '' }, { 'x-request-id': 'a b' }])(
    'has no request id where control gave none that looks like one: %p',
    async (headers) => {
      expect(await answerWith(headers)).toMatchObject({ requestId: null });
    },
  );
});
