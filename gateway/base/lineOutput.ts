/**
 * Lines for the readers of standard output and standard error: a terminal, a file, or the other end of a pipe or
 * socket, which may stop reading or go away. One thread of the process has each, for two would cut each other's lines.
 * Owner: the gateway thread.
 *
 * Invariants:
 *   LINES-1  `write` never waits for a reader and never fails. What is not taken is kept and offered again; beyond
 *            KEPT_BYTES the oldest lines are dropped, and counted.
 *   LINES-2  Lines come out whole and in order, and where some are missing a line says how many.
 *   LINES-3  At the exit of the process what is kept is written while it is read, and no longer.
 */
import { writeSync } from 'node:fs';

const KEPT_BYTES = 1 << 20;
/** A pipe has no more room, unless it was made larger. */
const CHUNK_BYTES = 1 << 16;
/** A reader that reads gets a full pipe each time: some 10 MB a second. */
const RETRY_MS = 5;
/** At the exit: a reader that takes nothing for so long does not read, and one that does gets so long altogether. */
const READER_MS = 500;
const LAST_LINES_MS = 3000;
const LOOK_MS = 5;
const NEVER = new Int32Array(new SharedArrayBuffer(4));
const NOTHING = Buffer.alloc(0);

/** Writes what can be written now. @returns its bytes, 0 where nothing is taken */
type WriteBytes = (bytes: Uint8Array) => number;

/** The use of an output, and the number of lines that were lost. */
export type Lines = Pick<LineOutput, 'write' | 'dropped'>;

/** The line that stands for so many that are missing. */
type GapLine = (lines: number) => string;

export class LineOutput {
  /** Lines that are lost. */
  dropped = 0;
  readonly #writeBytes: WriteBytes;
  readonly #gapLine: GapLine;
  /** Lines that are on their way, or what is left of them: not dropped any more. */
  #leaving: Buffer = NOTHING;
  /** The lines after them, from `#first` on. */
  #kept: Buffer[] = [];
  #first = 0;
  #keptBytes = 0;
  /** Lines that were dropped before the first that is kept. */
  #gap = 0;
  #retry: NodeJS.Timeout | undefined;

  constructor(writeBytes: WriteBytes, gapLine: GapLine) {
    this.#writeBytes = writeBytes;
    this.#gapLine = gapLine;
  }

  /** @param line with its end */
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

  /** LINES-3: holds the thread. */
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
    // Half of the list or more was handed out: moving the rest costs no more than that did.
    if (2 * this.#first >= this.#kept.length) {
      this.#kept = this.#kept.slice(this.#first);
      this.#first = 0;
    }
    return line;
  }
}

/**
 * Writes to a file descriptor whatever it takes. Every failure is that of the other end: a full pipe, no reader, a full
 * disk, and passes with it.
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
