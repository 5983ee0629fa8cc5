/**
 * Writes lines to standard output or standard error: to a terminal, a file, a pipe or a socket, whose reader may stop
 * reading or go away. Only one thread of the process writes to each, because two would cut each other's lines.
 * Owner: the gateway thread.
 *
 * Invariants:
 *   LINES-1  `write` never waits for a reader and never fails. Lines that are not taken are kept and offered again;
 *            beyond KEPT_BYTES the oldest lines are dropped and counted.
 *   LINES-2  Lines come out whole and in order. If some are missing, a line in their place says how many.
 *   LINES-3  At the exit of the process the kept lines are written as long as the reader takes them, and no longer.
 */
import { writeSync } from 'node:fs';

const KEPT_BYTES = 1 << 20;
/** The capacity of a pipe, unless it was made larger. */
const CHUNK_BYTES = 1 << 16;
/** A reader that keeps up gets a full pipe each time: about 10 MB a second. */
const RETRY_MS = 5;
/**
 * At the exit: a reader that takes nothing for this long counts as gone; a reader that does read gets this long
 * altogether.
 */
const READER_MS = 500;
const LAST_LINES_MS = 3000;
const LOOK_MS = 5;
const NEVER = new Int32Array(new SharedArrayBuffer(4));
const NOTHING = Buffer.alloc(0);

/** Writes as much as it can now. @returns the number of bytes, 0 if nothing is taken */
type WriteBytes = (bytes: Uint8Array) => number;

/** The use of an output, and the number of lines that it has dropped. */
export type Lines = Pick<LineOutput, 'write' | 'dropped'>;

/** The line that stands for this many missing lines. */
type GapLine = (lines: number) => string;

export class LineOutput {
  /** The number of lines that were dropped. */
  dropped = 0;
  readonly #writeBytes: WriteBytes;
  readonly #gapLine: GapLine;
  /** Bytes of lines that are being written: no longer dropped. */
  #leaving: Buffer = NOTHING;
  /** The lines after those, from `#first` on. */
  #kept: Buffer[] = [];
  #first = 0;
  #keptBytes = 0;
  /** Lines that were dropped before the first kept one. */
  #gap = 0;
  #retry: NodeJS.Timeout | undefined;

  constructor(writeBytes: WriteBytes, gapLine: GapLine) {
    this.#writeBytes = writeBytes;
    this.#gapLine = gapLine;
  }

  /** @param line with its line end */
  write(line: string): void {
    const bytes = Buffer.from(line);
    this.#kept.push(bytes);
    this.#keptBytes += bytes.length;
    while (this.#keptBytes > KEPT_BYTES && this.#kept.length - this.#first > 1) {
      this.#shift();
      this.#gap++;
      this.dropped++;
    }
    if (this.#retry === undefined) this.#offer();
  }

  /** LINES-3: blocks the thread. */
  flush(): void {
    const startMs = performance.now();
    let takenMs = startMs;
    for (;;) {
      const before = this.#waitingBytes;
      this.#offer();
      const nowMs = performance.now();
      if (this.#waitingBytes !== before) takenMs = nowMs;
      if (this.#waitingBytes === 0 || nowMs - takenMs > READER_MS || nowMs - startMs > LAST_LINES_MS) return;
      Atomics.wait(NEVER, 0, 0, LOOK_MS);
    }
  }

  get #waitingBytes(): number {
    return this.#leaving.length + this.#keptBytes;
  }

  #offer(): void {
    clearTimeout(this.#retry);
    this.#retry = undefined;
    for (;;) {
      if (this.#leaving.length === 0) this.#leaving = this.#next();
      if (this.#leaving.length === 0) return;
      const taken = this.#writeBytes(this.#leaving);
      if (taken === 0) break;
      this.#leaving = this.#leaving.subarray(taken);
    }
    this.#retry = setTimeout(() => this.#offer(), RETRY_MS);
    this.#retry.unref();
  }

  #next(): Buffer {
    const lines: Buffer[] = [];
    if (this.#gap > 0) lines.push(Buffer.from(this.#gapLine(this.#gap)));
    this.#gap = 0;
    for (let bytes = 0; bytes < CHUNK_BYTES && this.#first < this.#kept.length; ) {
      const line = this.#shift();
      bytes += line.length;
      lines.push(line);
    }
    return lines.length === 1 ? lines[0] : Buffer.concat(lines);
  }

  #shift(): Buffer {
    const line = this.#kept[this.#first];
    this.#kept[this.#first++] = NOTHING;
    this.#keptBytes -= line.length;
    // At least half of the list was handed out: moving the rest costs no more than handing out did.
    if (2 * this.#first >= this.#kept.length) {
      this.#kept = this.#kept.slice(this.#first);
      this.#first = 0;
    }
    return line;
  }
}

/**
 * Returns a function that writes to a file descriptor as much as it takes. A failure is one of the other end, and
 * passes with it: a full pipe, no reader, a full disk.
 */
export function writerOf(descriptor: number): WriteBytes {
  return (bytes) => {
    try {
      return writeSync(descriptor, bytes);
    } catch {
      return 0;
    }
  };
}
