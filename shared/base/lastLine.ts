/**
 * Reads the last complete line of a file of JSON lines, which may be followed by an incomplete line, or by reserved
 * space.
 */
import { closeSync, openSync, readSync, statSync } from 'node:fs';

const CHUNK_BYTES = 512 << 10;
const LINE_BREAK = 0x0a;

type LastLine = {
  /** Null if the file has no complete line. */
  readonly text: string | null;
  /** The position where it ends, including its line break. */
  readonly endBytes: number;
};

export function lastLineOf(path: string): LastLine {
  const fd = openSync(path, 'r');
  try {
    const size = statSync(path).size;
    for (let bytes = CHUNK_BYTES; ; bytes *= 2) {
      const chunk = Buffer.alloc(Math.min(bytes, size));
      const start = size - chunk.length;
      readSync(fd, chunk, 0, chunk.length, start);
      const end = chunk.lastIndexOf(LINE_BREAK);
      const before = end <= 0 ? -1 : chunk.lastIndexOf(LINE_BREAK, end - 1);
      const isWhole = start === 0 || (end > 0 && before >= 0);
      if (!isWhole) continue;
      if (end < 0) return { text: null, endBytes: 0 };
      return { text: chunk.toString('utf8', before + 1, end), endBytes: start + end + 1 };
    }
  } finally {
    closeSync(fd);
  }
}
