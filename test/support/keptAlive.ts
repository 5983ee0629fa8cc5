/**
 * A request over a connection that is kept alive. A server may end a connection that has been quiet for some seconds,
 * as beside a busy neighbour; a request that was written into it at that moment has reached nothing and is sent once
 * more. A signed request that had reached the exchange would be refused then, so nothing is hidden.
 */
import { once } from 'node:events';
import { type Agent, type IncomingMessage, type OutgoingHttpHeaders, request } from 'node:http';

type Asked = { readonly method?: string; readonly headers?: OutgoingHttpHeaders; readonly body?: string };

export type Answered = { readonly status: number; readonly head: Record<string, unknown>; readonly body: string };

export async function requestOver(agent: Agent, url: string, asked: Asked = {}): Promise<Answered> {
  const { method = 'GET', headers = {}, body = '' } = asked;
  const length = body === '' ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const sent = request(url, { agent, method, headers: { ...length, ...headers } });
  sent.end(body);
  let answer: IncomingMessage;
  try {
    [answer] = await once(sent, 'response');
  } catch (error) {
    if (sent.reusedSocket && (error as NodeJS.ErrnoException).code === 'ECONNRESET') {
      return requestOver(agent, url, asked);
    }
    throw error;
  }
  let text = '';
  for await (const part of answer.setEncoding('utf8')) text += part;
  return { status: answer.statusCode!, head: answer.headers, body: text };
}
