/** A WebSocket as bytes: it answers no pings by itself, and can send what no client would. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { Scope } from './server.ts';
import { requestBytes } from './wire.ts';

const NO_MASK = Buffer.alloc(4);
const MOST_SHORT_BYTES = 125;

export const OPCODE = { TEXT: 0x81, PING: 0x89, PONG: 0x8a } as const;

export class RawSocket {
  /** Everything that has come, as latin1. */
  received = '';
  isClosed = false;
  readonly #socket: Socket;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (part) => {
      this.received += part.toString('latin1');
    });
    socket.on('error', () => undefined);
    for (const end of ['end', 'close']) {
      socket.on(end, () => {
        this.isClosed = true;
      });
    }
  }

  static async open(scope: Scope, baseUrl: string, path: string, headers: object = {}): Promise<RawSocket> {
    const socket = connect(Number(new URL(baseUrl).port), '127.0.0.1');
    scope.after(() => void socket.destroy());
    const raw = new RawSocket(socket);
    const lines = Object.entries({
      ...headers,
      Upgrade: 'websocket',
      Connection: 'Upgrade',
      'Sec-WebSocket-Version': '13',
      'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==',
    });
    socket.write(requestBytes('GET', path, lines, Buffer.alloc(0)));
    while (!raw.received.includes('\r\n\r\n')) await once(socket, 'data');
    assert.match(raw.received, /^HTTP\/1\.1 101/);
    return raw;
  }

  /**
   * Sends the same frame this many times, in one write. Resolves when the system has taken it, or the socket is closed.
   */
  async send(count: number, opcode: number, text = ''): Promise<void> {
    assert.ok(text.length <= MOST_SHORT_BYTES, 'a frame with a short length');
    const frame = Buffer.concat([Buffer.from([opcode, 0x80 | text.length]), NO_MASK, Buffer.from(text)]);
    await new Promise((resolve) => this.#socket.write(Buffer.concat(Array(count).fill(frame)), resolve));
  }
}
