/**
 * A client of the binary order entry (RULES.md 8.17): a socket with many orders in flight, each in a frame of its own
 * that is encoded in advance. After a read that has answered n orders it sends n orders in one write, as a program with
 * many orders does. A client has to mask its frames; the mask here is zero, so the bytes of a record stay as they are.
 * Benches use this class too.
 */
import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { assert } from '../../../shared/base/assert.ts';
import type { HeaderFields } from '../../../shared/client/request.ts';
import { ANY_COMMAND } from '../../../shared/wire/commands.ts';
import { ENTRY_ANSWER, ENTRY_PROTOCOL } from '../../../shared/wire/entry.ts';

const { status: STATUS, requestId: REQUEST_ID, length: LENGTH } = ENTRY_ANSWER.PLACED;
/** The path at which sockets are opened. */
export const STREAM_PATH = '/v1/ws';
/** The first byte of an unfragmented frame: FIN, and the opcode. */
const BINARY = 0x82;
const PING = 0x89;
const PONG = 0x8a;
const MASKED = 0x80;
/** This value in the length byte means: the length is in the next two bytes. */
const LENGTH_16 = 126;
const SHORT_HEAD_BYTES = 2;
const LONG_HEAD_BYTES = 4;
const MASK_BYTES = 4;
const KEY_BYTES = 16;
const SWITCHED = 'HTTP/1.1 101 ';
const HEAD_END = '\r\n\r\n';

export function frameOf(record: Uint8Array): Buffer {
  assert(record.length >= LENGTH_16 && record.length < 1 << 16, 'record socket: a record has a length of two bytes');
  const frame = Buffer.alloc(LONG_HEAD_BYTES + MASK_BYTES + record.length);
  frame[0] = BINARY;
  frame[1] = MASKED | LENGTH_16;
  frame.writeUInt16BE(record.length, SHORT_HEAD_BYTES);
  frame.set(record, LONG_HEAD_BYTES + MASK_BYTES);
  return frame;
}

/** The request that opens a socket, with the headers of a key. */
export function upgradeRequest(headers: HeaderFields): Buffer {
  const fields = {
    host: 'localhost',
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': randomBytes(KEY_BYTES).toString('base64'),
    'sec-websocket-protocol': ENTRY_PROTOCOL,
    ...headers,
  };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`GET ${STREAM_PATH} HTTP/1.1\r\n${lines.join('')}\r\n`);
}

/**
 * `onAnswer` receives the request id and the status of each answer, `onRead` is called after the answers of one read,
 * and `onClosed` if no further answer can come.
 */
type Receiver = { onAnswer(requestId: number, status: number): void; onRead(): unknown; onClosed(): void };

export class RecordSocket {
  receiver: Receiver | undefined;
  readonly #socket: Socket;
  #rest: Buffer = Buffer.alloc(0);

  static async open(baseUrl: string, upgrade: Buffer): Promise<RecordSocket> {
    const { hostname: host, port } = new URL(baseUrl);
    const socket = connect({ host, port: Number(port), noDelay: true });
    socket.write(upgrade);
    const head = await headFrom(socket);
    assert(head.startsWith(SWITCHED) && head.endsWith(HEAD_END), 'record socket: it is open');
    return new RecordSocket(socket);
  }

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (read) => this.#received(read));
    // A connection that fails is closed as well.
    socket.on('error', () => {});
    socket.on('close', () => this.receiver?.onClosed());
  }

  write(frames: readonly Buffer[]): void {
    this.#socket.write(frames.length === 1 ? frames[0] : Buffer.concat(frames));
  }

  /** Writes all frames at once. @returns when they are answered; rejects if the socket is closed before. */
  exchange(frames: readonly Buffer[]): Promise<void> {
    let unanswered = frames.length;
    const answered = new Promise<void>((resolve, reject) => {
      const onAnswer = (): void => {
        unanswered--;
      };
      const onClosed = (): void => reject(new Error('record socket: it was closed'));
      this.receiver = { onAnswer, onRead: () => unanswered === 0 && resolve(), onClosed };
      if (this.#socket.destroyed) onClosed();
    });
    this.write(frames);
    return answered;
  }

  close(): void {
    this.#socket.destroy();
  }

  #received(read: Buffer): void {
    const bytes = this.#rest.length === 0 ? read : Buffer.concat([this.#rest, read]);
    let at = 0;
    for (let end = frameEnd(bytes, at); end <= bytes.length; end = frameEnd(bytes, at)) {
      const start = at + headBytes(bytes, at);
      if (bytes[at] === BINARY && bytes[at + 1] <= LENGTH_16) this.#answers(bytes, start, end);
      else if (bytes[at] === PING) this.#socket.write(pongOf(bytes.subarray(start, end)));
      // The server closes the connection. No other frames are expected, nor answers of more than 64 KiB.
      else this.close();
      at = end;
    }
    this.#rest = bytes.subarray(at);
    this.receiver?.onRead();
  }

  #answers(bytes: Buffer, start: number, end: number): void {
    for (let at = start; at < end; at += bytes.readUInt32LE(at + LENGTH * 4)) {
      this.receiver?.onAnswer(bytes.readUInt32LE(at + REQUEST_ID * 4), bytes.readUInt32LE(at + STATUS * 4));
    }
  }
}

/**
 * Reads the head of the answer, which a front thread may send in pieces: nothing follows it before the first record.
 */
function headFrom(socket: Socket): Promise<string> {
  let head = '';
  return new Promise((resolve, reject) => {
    const onData = (read: Buffer): void => {
      head += read.toString('latin1');
      if (!head.includes(HEAD_END)) return;
      socket.off('data', onData);
      resolve(head);
    };
    socket.on('data', onData).once('error', reject);
    socket.once('close', () => reject(new Error(`closed after ${JSON.stringify(head)}`)));
  });
}

function headBytes(bytes: Buffer, at: number): number {
  return bytes[at + 1] === LENGTH_16 ? LONG_HEAD_BYTES : SHORT_HEAD_BYTES;
}

/** Infinity until the head of the frame has arrived. */
function frameEnd(bytes: Buffer, at: number): number {
  if (bytes.length < at + SHORT_HEAD_BYTES) return Number.POSITIVE_INFINITY;
  const head = headBytes(bytes, at);
  if (bytes.length < at + head) return Number.POSITIVE_INFINITY;
  return at + head + (head === LONG_HEAD_BYTES ? bytes.readUInt16BE(at + SHORT_HEAD_BYTES) : bytes[at + 1]);
}

/** Returns the answer to a ping of up to 125 bytes. */
function pongOf(payload: Uint8Array): Buffer {
  return Buffer.concat([Buffer.of(PONG, MASKED | payload.length), Buffer.alloc(MASK_BYTES), payload]);
}

/** Returns the request id of a frame that `frameOf` has made. */
export function requestIdOf(frame: Buffer): number {
  return frame.readUInt32LE(LONG_HEAD_BYTES + MASK_BYTES + ANY_COMMAND.requestId * 4);
}
