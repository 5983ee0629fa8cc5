/**
 * The two channels as sockets: `/ws/market` for anyone, `/ws/user` for a key. Messages are bounded in size and number,
 * a socket that does not read is closed. Messages of a socket are carried out one after the other, so the `PONG` for a
 * `PING` behind a subscription says that it has begun.
 * Owner: the one thread of `npm run polymarket`.
 */
import type { TemplatedApp, WebSocket } from 'uWebSockets.js';
import { objectOf } from './reply.ts';
import { refusalOf } from './server.ts';

const MAX_MESSAGE_BYTES = 64 * 1024;
const MAX_BUFFERED_BYTES = 4 * 1024 * 1024;
const IDLE_SEC = 120;
const MAX_MESSAGES_PER_SECOND = 20;
const MOST_SOCKETS = 500;

export type Reader = {
  /** An object, or the list of a first answer. */
  send(message: object): void;
  close(): void;
};
export type Channel = {
  /** @throws Refusal, which ends the socket */
  received(reader: Reader, message: Readonly<Record<string, unknown>>): Promise<void> | void;
  left(reader: Reader): void;
};

/** `turn` ends when its messages so far are carried out. */
type Client = { reader: Reader | null; second: number; count: number; turn: Promise<void> };
type Socket = WebSocket<Client>;

export class Sockets {
  readonly #sockets = new Set<Socket>();
  readonly #onError: (error: unknown) => void;

  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  add(app: TemplatedApp, path: string, channel: Channel): void {
    app.ws<Client>(path, {
      maxPayloadLength: MAX_MESSAGE_BYTES,
      maxBackpressure: MAX_BUFFERED_BYTES,
      closeOnBackpressureLimit: true,
      idleTimeout: IDLE_SEC,
      upgrade: (response, request, context) => {
        if (this.#sockets.size >= MOST_SOCKETS) {
          response.writeStatus('503').end(JSON.stringify({ error: 'too many sockets' }));
          return;
        }
        const header = (name: string) => request.getHeader(`sec-websocket-${name}`);
        const client = { reader: null, second: 0, count: 0, turn: Promise.resolve() };
        response.upgrade(client, header('key'), header('protocol'), header('extensions'), context);
      },
      open: (socket) => {
        this.#sockets.add(socket);
        socket.getUserData().reader = this.#readerOf(socket);
      },
      message: (socket, message) => this.#received(socket, channel, Buffer.from(message).toString()),
      close: (socket) => {
        this.#sockets.delete(socket);
        channel.left(socket.getUserData().reader!);
      },
    });
  }

  /** Ends all of them. @returns how many there were */
  disconnect(): number {
    const sockets = [...this.#sockets];
    for (const socket of sockets) socket.close();
    return sockets.length;
  }

  #readerOf(socket: Socket): Reader {
    return {
      send: (message) => {
        if (this.#sockets.has(socket)) socket.send(JSON.stringify(message));
      },
      close: () => {
        if (this.#sockets.has(socket)) socket.end(1008);
      },
    };
  }

  #received(socket: Socket, channel: Channel, text: string): void {
    const client = socket.getUserData();
    const second = Math.floor(performance.now() / 1000);
    if (second !== client.second) client.count = 0;
    client.second = second;
    if (++client.count > MAX_MESSAGES_PER_SECOND) return client.reader!.close();
    client.turn = client.turn.then(() => {
      // A channel would keep a reader that joins it after it has left.
      if (!this.#sockets.has(socket)) return;
      if (text !== 'PING') return this.#carryOut(client.reader!, channel, text);
      socket.send('PONG');
    });
  }

  async #carryOut(reader: Reader, channel: Channel, text: string): Promise<void> {
    try {
      await channel.received(reader, objectOf(parsed(text)));
    } catch (error) {
      const refusal = refusalOf(error);
      if (refusal === null) this.#onError(error);
      reader.send({ error: refusal?.message ?? 'Internal Server Error' });
      reader.close();
    }
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
