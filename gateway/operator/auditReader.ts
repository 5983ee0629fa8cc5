/**
 * Reads the audit log for `GET /admin/audit`, newest records first. It reads the file from its end, on the thread pool.
 * The work of one request is bounded, so a page may be short, or empty, and still have a next page. Records keep their
 * text of the file: a client can check their hashes.
 */
import { type FileHandle, open } from 'node:fs/promises';
import { BackwardLines, type Line } from './auditLines.ts';
import type { AuditLog } from './auditLog.ts';

type AuditFilter = {
  readonly operator?: string;
  readonly event?: string;
  /** The beginning of the request's path. */
  readonly path?: string;
  readonly sinceMs?: number | undefined;
  readonly untilMs?: number | undefined;
};

/** `next` is the cursor of the following page; null at the start of the log. */
type AuditPage = { readonly lines: readonly string[]; readonly next: string | null };

/** A record that was read already: the page goes on before it. */
type Cursor = { readonly sequence: number; readonly offset: number };

const MAX_SCANNED_BYTES = 4 * 1024 * 1024;
const MAX_ANSWER_BYTES = 256 * 1024;
const CURSOR_FORM = /^([1-9][0-9]{0,15})\.(0|[1-9][0-9]{0,15})$/;

export class AuditReader {
  readonly #path: string;
  readonly #log: Pick<AuditLog, 'lengthBytes'>;

  constructor(path: string, log: Pick<AuditLog, 'lengthBytes'>) {
    this.#path = path;
    this.#log = log;
  }

  /** Returns a page; null if no page ever had this cursor. */
  async page(filter: AuditFilter, limit: number, cursor: string | undefined): Promise<AuditPage | null> {
    const file = await open(this.#path, 'r');
    try {
      return await pageOf(file, this.#log.lengthBytes, new PageInMaking(filter, limit), cursor);
    } finally {
      await file.close();
    }
  }
}

/** Bytes after `lengthBytes` may be cut off again, so they are not read. */
async function pageOf(
  file: FileHandle,
  lengthBytes: number,
  page: PageInMaking,
  cursor: string | undefined,
): Promise<AuditPage | null> {
  const read = async (offset: number, bytes: number): Promise<Buffer> => {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(bytes), 0, bytes, offset);
    return buffer.subarray(0, bytesRead);
  };
  const before = cursor === undefined ? null : toCursor(cursor);
  if (cursor !== undefined && (before === null || before.offset >= lengthBytes)) return null;
  if (before !== null && !(await isRecordAt(before, read))) return null;
  const lines = new BackwardLines(before?.offset ?? lengthBytes);
  for (let wanted = lines.wanted; wanted !== null; wanted = lines.wanted) {
    for (const line of lines.take(await read(wanted.offset, wanted.bytes))) {
      if (!page.add(line)) return page.cut();
    }
  }
  return page.whole();
}

class PageInMaking {
  readonly #filter: AuditFilter;
  readonly #limit: number;
  readonly #lines: string[] = [];
  #answerBytes = 0;
  #scannedBytes = 0;
  #last: Cursor = { sequence: 0, offset: 0 };

  constructor(filter: AuditFilter, limit: number) {
    this.#filter = filter;
    this.#limit = limit;
  }

  /** Returns false if the line belongs to the next page. */
  add({ text, offset }: Line): boolean {
    const record = toRecord(text);
    // The administrator's command finds damaged lines; a damaged line does not hide the others.
    if (record === null) return true;
    const isWanted = matches(record, this.#filter);
    const isFull = this.#lines.length === this.#limit || this.#answerBytes + text.length > MAX_ANSWER_BYTES;
    if (isWanted && isFull && this.#lines.length > 0) return false;
    if (this.#scannedBytes > MAX_SCANNED_BYTES) return false;
    this.#scannedBytes += text.length;
    this.#last = { sequence: Number(record['sequence']), offset };
    if (!isWanted) return true;
    this.#lines.push(text);
    this.#answerBytes += text.length;
    return true;
  }

  /** Ends the page; there are older records. */
  cut(): AuditPage {
    const { sequence, offset } = this.#last;
    return { lines: this.#lines, next: Buffer.from(`${sequence}.${offset}`).toString('base64url') };
  }

  whole(): AuditPage {
    return { lines: this.#lines, next: null };
  }
}

function toRecord(text: string): Readonly<Record<string, unknown>> | null {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function matches(record: Readonly<Record<string, unknown>>, filter: AuditFilter): boolean {
  const timeMs = Date.parse(String(record['time']));
  return (
    (filter.operator === undefined || record['operator'] === filter.operator) &&
    (filter.event === undefined || record['event'] === filter.event) &&
    (filter.path === undefined || String(record['path'] ?? '').startsWith(filter.path)) &&
    (filter.sinceMs === undefined || timeMs >= filter.sinceMs) &&
    (filter.untilMs === undefined || timeMs < filter.untilMs)
  );
}

function toCursor(text: string): Cursor | null {
  const match = CURSOR_FORM.exec(Buffer.from(text, 'base64url').toString());
  return match === null ? null : { sequence: Number(match[1]), offset: Number(match[2]) };
}

/** A cursor also has the number of its record, so a made-up cursor does not start a page in the middle of a line. */
async function isRecordAt(
  { sequence, offset }: Cursor,
  read: (offset: number, bytes: number) => Promise<Buffer>,
): Promise<boolean> {
  const start = `{"sequence":${sequence},`;
  const bytes = await read(Math.max(offset - 1, 0), start.length + Math.min(offset, 1));
  return bytes.toString() === (offset === 0 ? start : `\n${start}`);
}
