/** Reads the lines of a file from its end, chunk by chunk, without reading earlier parts. */

export const CHUNK_BYTES = 64 * 1024;
const LINE_BREAK = 0x0a;

/** A line without its line break, and its offset in the file. */
export type Line = { readonly text: string; readonly offset: number };

export class BackwardLines {
  /** The end of the bytes that were not read yet. */
  #end: number;
  /** The start of the part that was read: the end of a line that begins before it. */
  #tail: Buffer = Buffer.alloc(0);

  /** @param end the offset after a line break. */
  constructor(end: number) {
    this.#end = end;
  }

  /** The bytes to read next; null if all lines were returned. */
  get wanted(): { readonly offset: number; readonly bytes: number } | null {
    const bytes = Math.min(CHUNK_BYTES, this.#end);
    return bytes === 0 ? null : { offset: this.#end - bytes, bytes };
  }

  /** Returns the lines that the wanted bytes complete, last one first. */
  take(chunk: Buffer): Line[] {
    this.#end -= chunk.length;
    const bytes = Buffer.concat([chunk, this.#tail]);
    const lines: Line[] = [];
    let lineEnd = bytes.length;
    for (let at = breakBefore(bytes, lineEnd); at >= 0; at = breakBefore(bytes, lineEnd)) {
      lines.push({ text: bytes.toString('utf8', at + 1, lineEnd - 1), offset: this.#end + at + 1 });
      lineEnd = at + 1;
    }
    if (this.#end === 0 && lineEnd > 0) lines.push({ text: bytes.toString('utf8', 0, lineEnd - 1), offset: 0 });
    this.#tail = bytes.subarray(0, lineEnd);
    return lines;
  }
}

/** Finds the line break before the line whose own line break is the last byte before `lineEnd`; -1 if there is none. */
function breakBefore(bytes: Buffer, lineEnd: number): number {
  return lineEnd < 2 ? -1 : bytes.lastIndexOf(LINE_BREAK, lineEnd - 2);
}
