/**
 * A file of the disk as an answer: whole, a part of it (Range), or not at all (If-None-Match). Its bytes are read by
 * threads of the runtime, never by this one, a piece at a time while the piece before it is sent: a large file is never
 * in memory as a whole, and waits for orders like every long answer (longAnswers.ts).
 *
 * Invariants:
 *   STOREDFILES-1  What is opened is closed: after the last byte, an error, or when the client has gone away.
 *   STOREDFILES-2  A file with fewer bytes than its length promises is cut off, and the client sees that.
 *   STOREDFILES-3  A file is sent at 8 MB a second at most, so that no client takes much of this thread (RULES.md 7.1).
 */
import type { FileHandle } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { ERRORS } from '../../shared/base/errors.ts';
import type { Call, Rows } from './call.ts';
import { isNamed } from './entityTags.ts';
import { fileLines } from './httpTransport.ts';
import { okStreamed, okWithoutBody, refuse } from './respond.ts';

type StoredFile = {
  readonly contentType: string;
  readonly cacheControl: string;
  /** An entity tag, in quotes. */
  readonly tag: string;
  readonly bytes: number;
  /** Null: it is not there any more. */
  readonly open: () => Promise<FileHandle | null>;
};

/** `end` is behind the last byte. */
type Part = { readonly from: number; readonly end: number };

const PIECE_BYTES = 64 * 1024;
const PIECE_MS = 8;
const RANGE = /^bytes=(?:(\d{1,15})-(\d{1,15})?|-(\d{1,15}))$/;

/** A part needs a route with foreign headers. @param onOver called once nothing of the file is read any more */
export async function okStored(call: Call, file: StoredFile, onOver: () => void): Promise<void> {
  const common = fileLines(file.contentType, file.cacheControl, '', '');
  const lines = `${common}\r\nETag: ${file.tag}\r\nAccept-Ranges: bytes`;
  const part = partOf(file, call.headers.foreign);
  if (isNamed(file.tag, call.headers.ifNoneMatch)) okWithoutBody(call, 304, lines, null);
  else if (part === null) {
    refuse(call, { row: ERRORS.RANGE_NOT_SATISFIABLE, contentRange: `bytes */${file.bytes}` });
  } else {
    const isWhole = part.from === 0 && part.end === file.bytes;
    const range = `\r\nContent-Range: bytes ${part.from}-${part.end - 1}/${file.bytes}`;
    const [status, head] = isWhole ? [200, lines] : [206, lines + range];
    if (call.method === 'HEAD') okWithoutBody(call, status, head, part.end - part.from);
    else return send(call, status, head, file, part, onOver);
  }
  onOver();
}

/** The whole file if no part is asked for, or one of another file; null if it has no such part. */
function partOf({ bytes, tag }: StoredFile, headers: Readonly<Record<string, string>>): Part | null {
  const whole = { from: 0, end: bytes };
  const ifRange = headers['if-range'];
  const found = RANGE.exec(headers['range'] ?? '');
  if (found === null || (ifRange !== undefined && ifRange !== tag)) return whole;
  const [, first, last, count] = found;
  if (first === undefined) return count === '0' ? null : { from: Math.max(0, bytes - Number(count)), end: bytes };
  const from = Number(first);
  const end = last === undefined ? bytes : Math.min(Number(last) + 1, bytes);
  if (last !== undefined && Number(last) < from) return whole;
  return from < end ? { from, end } : null;
}

async function send(
  call: Call,
  status: number,
  lines: string,
  { open }: StoredFile,
  part: Part,
  onOver: () => void,
): Promise<void> {
  const file = await open();
  if (file === null) {
    refuse(call, { row: ERRORS.RESOURCE_NOT_FOUND });
    onOver();
    return;
  }
  const close = (): void => {
    file.close().catch(() => {});
    onOver();
  };
  try {
    const first = await pieceOf(file, part.from, part.end);
    const from = part.from + first.length;
    if (from < part.end) return okStreamed(call, status, lines, first, piecesOf(file, { from, end: part.end }, close));
    okStreamed(call, status, lines, first, null);
  } catch (error) {
    close();
    throw error;
  }
  close();
}

/** STOREDFILES-1: its end, or its return, closes the file; never while a piece is being read. */
function piecesOf(file: FileHandle, { from, end }: Part, close: () => void): Rows {
  let at = from;
  let piece: Buffer | null = null;
  let reading: Promise<unknown> = Promise.resolve();
  let isOver = false;
  const over = (): IteratorResult<never> => {
    if (!isOver) reading.finally(close).catch(() => {});
    isOver = true;
    return { done: true, value: undefined };
  };
  return {
    next() {
      if (isOver) return over();
      if (piece !== null) {
        const value = piece;
        piece = null;
        return { done: false, value };
      }
      if (at === end) return over();
      const next = Promise.all([pieceOf(file, at, end), delay(PIECE_MS)]).then(([bytes]) => {
        at += bytes.length;
        piece = bytes;
      });
      reading = next;
      return { done: false, value: next };
    },
    return: over,
  };
}

/** STOREDFILES-2. */
async function pieceOf(file: FileHandle, from: number, end: number): Promise<Buffer> {
  const wanted = Math.min(PIECE_BYTES, end - from);
  const { buffer, bytesRead } = await file.read(Buffer.allocUnsafeSlow(wanted), 0, wanted, from);
  if (bytesRead === 0) throw new Error('a file that is being served ends before its length');
  return buffer.subarray(0, bytesRead);
}
