/**
 * `pmx admin catalogue import` and `export`: a catalogue of any length as a file of JSON lines. A part without an
 * answer is sent again, which is safe: carrying out a line twice changes nothing the second time.
 */
import { createReadStream, createWriteStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { type ImportReport, MAX_IMPORT_BYTES, MAX_IMPORT_LINES } from '../../../api/catalogue.ts';
import { linesOf } from '../../../base/lines.ts';
import type { AdminClient } from '../../admin.ts';
import { ApiError } from '../../http.ts';
import { type Output, written } from './terminal.ts';
import { printable, withoutMark } from './text.ts';

type Admin = Pick<AdminClient, 'importCatalogue' | 'exportCatalogue'>;
type Counts = Record<(typeof RESULTS)[number], number>;
type Part = { readonly firstLine: number; readonly lines: readonly string[] };

const RESULTS = ['created', 'updated', 'unchanged', 'failed'] as const;
/** Stands for standard input and output. */
const STANDARD = '-';
/** The exchange may be restarting: all attempts together take about half a minute. */
const ATTEMPTS = 15;
const PAUSE_MS = 2000;

/** Prints a line for each failed line of the file. @param standard is read for the file `-`. */
export async function importFile(
  admin: Admin,
  path: string,
  standard: Readable,
  err: Output,
): Promise<{ readonly counts: Counts; readonly lines: number }> {
  const counts: Counts = { created: 0, updated: 0, unchanged: 0, failed: 0 };
  const input = path === STANDARD ? standard : createReadStream(path);
  let read = 0;
  for await (const { firstLine, lines } of partsOf(input)) {
    const report = await send(admin, `${lines.join('\n')}\n`);
    for (const name of RESULTS) counts[name] += report[name];
    for (const { line, result, code, error, details } of report.lines) {
      if (result !== 'failed') continue;
      const where = details === undefined ? '' : ` ${JSON.stringify(details)}`;
      err.write(`${printable(`line ${firstLine + line - 1}: ${code}: ${error}${where}`)}\n`);
    }
    read = firstLine + lines.length - 1;
    if (err.isTTY === true) err.write(`\r${read} lines …\r`);
  }
  return { counts, lines: read };
}

export function countsText(lines: number, counts: Counts): string {
  return `${lines} lines: ${RESULTS.map((name) => `${counts[name]} ${name}`).join(', ')}`;
}

export async function exportFile(admin: Admin, path: string, out: Output): Promise<void> {
  const source = await admin.exportCatalogue();
  if (path !== STANDARD) return pipeline(source, createWriteStream(path, { mode: 0o600 }));
  const decoder = new TextDecoder();
  for await (const chunk of source) await written(out, decoder.decode(chunk, { stream: true }));
  out.write(decoder.decode());
}

/** Splits the lines into parts, each with as many lines as one request may have. */
async function* partsOf(input: Readable): AsyncGenerator<Part> {
  let firstLine = 1;
  let lines: string[] = [];
  let bytes = 0;
  for await (const each of linesOf(input)) {
    const line = firstLine === 1 && lines.length === 0 ? withoutMark(each) : each;
    const lineBytes = Buffer.byteLength(line) + 1;
    if (lines.length > 0 && (lines.length === MAX_IMPORT_LINES || bytes + lineBytes > MAX_IMPORT_BYTES)) {
      yield { firstLine, lines };
      firstLine += lines.length;
      lines = [];
      bytes = 0;
    }
    lines.push(line);
    bytes += lineBytes;
  }
  if (lines.length > 0) yield { firstLine, lines };
}

async function send(admin: Admin, text: string): Promise<ImportReport> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await admin.importCatalogue(text);
    } catch (error) {
      // A refusal is final, unless it says when to try again.
      const isFinal = error instanceof ApiError && error.retryAfter === null;
      if (isFinal || attempt === ATTEMPTS) throw error;
      await delay(PAUSE_MS);
    }
  }
}
