/**
 * A client's keep-alive connection with one request in flight, for programs that share the machine with their server:
 * requests are encoded in advance, and of an answer only the status and the announced length are read. A bare socket
 * without a stream would save one more microsecond of six; the rest is the kernel's. Benches use this class too.
 */
import { connect, type Socket } from 'node:net';
import type { PreparedRequest } from '../../../shared/client/request.ts';

/** An answer longer than this arrives in several reads. */
const READ_BYTES = 16_384;
const INCOMPLETE = -1;
const LINE_FEED = 0x0a;
const DIGIT_0 = 0x30;
/** The bit that makes a letter lower case; it is set in hyphen and colon too. */
const LOWERCASE = 0x20;
const CONTENT_LENGTH = Buffer.from('content-length:');
/** Offsets of the three digits after `HTTP/1.1 `. */
const STATUS_START = 9;
const STATUS_END = 12;

/**
 * Status 0: the connection was closed instead of answering. The bytes of the answer are valid until the callback
 * returns.
 */
type OnAnswer = (status: number, answer: Buffer) => void;

const NOTHING = Buffer.alloc(0);

/** One keep-alive connection; the next request is sent when the last one is answered. */
export class Connection {
  readonly #socket: Socket;
  /** The part of an incomplete answer that has arrived, or null. */
  #partial: Buffer | null = null;
  #onAnswer: OnAnswer = () => {};

  static async open(baseUrl: string): Promise<Connection> {
    const { hostname, port } = new URL(baseUrl);
    const connection = new Connection(hostname, Number(port));
    const socket = connection.#socket;
    await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    return connection;
  }

  /**
   * Reads into one piece of memory: a stream would allocate a piece for every answer, which costs more than parsing it.
   */
  private constructor(host: string, port: number) {
    const buffer = Buffer.alloc(READ_BYTES);
    const callback = (count: number): boolean => {
      this.#receive(buffer.subarray(0, count));
      return true;
    };
    this.#socket = connect({ host, port, noDelay: true, onread: { buffer, callback } });
    this.#socket.on('close', () => this.#onAnswer(0, NOTHING));
  }

  send(request: Buffer, onAnswer: OnAnswer): void {
    this.#onAnswer = onAnswer;
    if (this.#socket.destroyed) setImmediate(onAnswer, 0, NOTHING);
    else this.#socket.write(request);
  }

  close(): void {
    this.#onAnswer = () => {};
    this.#socket.destroy();
  }

  #receive(read: Buffer): void {
    const bytes = this.#partial === null ? read : Buffer.concat([this.#partial, read]);
    const status = statusOf(bytes);
    if (status === INCOMPLETE) {
      this.#partial = Buffer.from(bytes);
      return;
    }
    this.#partial = null;
    this.#onAnswer(status, bytes);
  }
}

/** Returns the status of an answer whose head and announced body have arrived, or INCOMPLETE. */
export function statusOf(bytes: Uint8Array): number {
  let bodyBytes = 0;
  let line = 0;
  for (;;) {
    const lineFeed = bytes.indexOf(LINE_FEED, line);
    if (lineFeed < 0) return INCOMPLETE;
    // The head ends with an empty line.
    if (lineFeed - line <= 1) {
      const isWhole = bytes.length > lineFeed + bodyBytes;
      return isWhole ? decimalIn(bytes, STATUS_START, STATUS_END) : INCOMPLETE;
    }
    if (isContentLength(bytes, line)) bodyBytes = decimalIn(bytes, line + CONTENT_LENGTH.length, lineFeed);
    line = lineFeed + 1;
  }
}

function isContentLength(bytes: Uint8Array, line: number): boolean {
  for (let index = 0; index < CONTENT_LENGTH.length; index++) {
    if ((bytes[line + index] | LOWERCASE) !== CONTENT_LENGTH[index]) return false;
  }
  return true;
}

/** Parses the digits between two offsets, whatever surrounds them. */
function decimalIn(bytes: Uint8Array, start: number, end: number): number {
  let value = 0;
  for (let index = start; index < end; index++) {
    const digit = bytes[index] - DIGIT_0;
    if (digit >= 0 && digit <= 9) value = value * 10 + digit;
  }
  return value;
}

export function toBytes({ method, path, headers, body }: PreparedRequest): Buffer {
  const fields = { host: 'localhost', ...headers, 'content-length': String(Buffer.byteLength(body)) };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
}
