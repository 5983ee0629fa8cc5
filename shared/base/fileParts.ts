/** A file as it grows, in parts, for a copy of it that others need not wait for. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { errorCode } from './thrown.ts';

/**
 * Of a file that is only appended to, or replaced as a whole: what it had when this was called. The caller reads all of
 * them, or ends the loop over them, which closes the file.
 * @param lengthBytes where it ends before its own end
 * @returns null where there is none
 */
export function partsOfFile(path: string, partBytes: number, lengthBytes?: number): Generator<Buffer> | null {
  try {
    const fd = openSync(path, 'r');
    return read(fd, lengthBytes ?? fstatSync(fd).size, partBytes);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return null;
    throw error;
  }
}

function* read(fd: number, end: number, partBytes: number): Generator<Buffer> {
  try {
    for (let at = 0; at < end; ) {
      const bytes = Buffer.alloc(Math.min(partBytes, end - at));
      const count = readSync(fd, bytes, 0, bytes.length, at);
      if (count === 0) return;
      yield bytes.subarray(0, count);
      at += count;
    }
  } finally {
    closeSync(fd);
  }
}
