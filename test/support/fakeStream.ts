/** The client's stream over a socket of the test, which answers as the test says. */
import type { TestContext } from 'node:test';
import type { StreamOptions } from '../../shared/client/stream/connect.ts';
import type { StreamSocket } from '../../shared/client/stream/connection.ts';
import { ExchangeStream } from '../../shared/client/stream/exchangeStream.ts';
import type { Json } from './server.ts';

class FakeSocket implements StreamSocket {
  readonly url: string;
  readonly headers: Record<string, string> | undefined;
  readonly sent: Json[] = [];
  closedWith: number | undefined;
  onopen: ((event: never) => void) | null = null;
  onmessage: ((event: never) => void) | null = null;
  onclose: ((event: never) => void) | null = null;
  onerror: ((event: never) => void) | null = null;

  constructor(url: string, headers: Record<string, string> | undefined) {
    this.url = url;
    this.headers = headers;
  }

  send(text: string): void {
    this.sent.push(JSON.parse(text));
  }

  close(code?: number): void {
    this.closedWith = code;
  }

  open(): void {
    this.onopen!(undefined as never);
  }

  lose(): void {
    this.onclose!({ code: 1006 } as never);
  }

  receive(frame: object): void {
    this.onmessage!({ data: JSON.stringify(frame) } as never);
  }

  /** The messages since the last call. */
  take(): Json[] {
    return this.sent.splice(0);
  }

  /** Answers a subscription and the ping behind it. */
  confirm(id: string, userSequence?: number): void {
    this.receive({ channel: 'subscribed', id, data: { markets: [], user: false, user_sequence: userSequence } });
    this.receive({ channel: 'pong', id, data: { time: 1 } });
  }
}

export function fakeStream(t: TestContext, options: Partial<StreamOptions> = {}) {
  const sockets: FakeSocket[] = [];
  const stream = new ExchangeStream({
    baseUrl: 'http://exchange.example:8080/',
    openSocket: (url, headers) => {
      sockets.push(new FakeSocket(url, headers));
      return sockets.at(-1)!;
    },
    times: { firstRetryMs: 1, mostRetryMs: 1 },
    random: () => 0,
    ...options,
  });
  t.after(() => stream.close());
  return { stream, sockets };
}
