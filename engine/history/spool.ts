/**
 * The rows of the days of one shard that are not published yet: for each day, market and table a file of deflated
 * pieces, each of which stands alone, so that pieces of files can be put after each other (dayFiles.ts).
 * Owner: the history thread.
 *
 * Invariants:
 *   SPOOL-1  Where one piece ends depends on the rows alone, so the same rows give the same bytes.
 *   SPOOL-2  Files of the day that is being written are cut back to what a checkpoint names before they are written
 *            again; files of days before it are never changed.
 */
import { appendFileSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { constants, deflateRawSync } from 'node:zlib';
import { dayName, type HistoryTable } from '../../shared/base/historyTables.ts';
import { syncDirectory } from '../../shared/base/syncDirectory.ts';
import { syncFile } from './files.ts';

/** Characters after which a file gets a piece, and after which all files of the shard do. */
const PIECE_LENGTH = 1 << 18;
const MOST_LENGTH = 1 << 25;

type Piece = { readonly market: string; readonly table: HistoryTable; text: string };
/** By market and table: the bytes of the file. */
export type SpoolLengths = Readonly<Record<string, number>>;

export class Spool {
  readonly #folder: string;
  #day = '';
  #lengths: Record<string, number> = {};
  readonly #unsynced = new Set<string>();
  readonly #pieces = new Map<string, Piece>();
  #length = 0;

  /** @param folder of the shard */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** SPOOL-2. */
  continueDay(dayMs: number, lengths: SpoolLengths): void {
    this.#day = dayName(dayMs);
    this.#lengths = { ...lengths };
    for (const day of existsSync(this.#folder) ? readdirSync(this.#folder) : []) {
      if (/^\d{4}-/.test(day) && day > this.#day) rmSync(join(this.#folder, day), { recursive: true });
    }
    const folder = join(this.#folder, this.#day);
    for (const market of existsSync(folder) ? readdirSync(folder) : []) {
      for (const file of readdirSync(join(folder, market))) {
        const path = join(folder, market, file);
        const kept = this.#lengths[`${market}/${file}`];
        if (kept === undefined) rmSync(path);
        else if (statSync(path).size > kept) truncateSync(path, kept);
      }
    }
  }

  add(market: string, table: HistoryTable, line: string): void {
    const name = `${market}/${table}`;
    let piece = this.#pieces.get(name);
    if (piece === undefined) {
      piece = { market, table, text: '' };
      this.#pieces.set(name, piece);
    }
    piece.text += line;
    this.#length += line.length;
    if (this.#length >= MOST_LENGTH) this.flush();
    else if (piece.text.length >= PIECE_LENGTH) this.#write(name, piece);
  }

  /** Makes all rows durable. @returns the lengths for a checkpoint */
  sync(): SpoolLengths {
    this.flush();
    for (const name of this.#unsynced) syncFile(join(this.#folder, this.#day, name));
    const folders = new Set([...this.#unsynced].map((name) => name.slice(0, name.indexOf('/'))));
    for (const market of folders) syncDirectory(join(this.#folder, this.#day, market));
    if (folders.size > 0) syncDirectory(join(this.#folder, this.#day));
    this.#unsynced.clear();
    return { ...this.#lengths };
  }

  /** Ends every piece. */
  flush(): void {
    for (const [name, piece] of this.#pieces) this.#write(name, piece);
    this.#pieces.clear();
    this.#length = 0;
  }

  #write(name: string, piece: Piece): void {
    if (piece.text === '') return;
    const bytes = deflatedPiece(piece.text);
    const folder = join(this.#folder, this.#day, piece.market);
    if (!(name in this.#lengths)) mkdirSync(folder, { recursive: true });
    appendFileSync(join(folder, piece.table), bytes);
    this.#lengths[name] = (this.#lengths[name] ?? 0) + bytes.length;
    this.#unsynced.add(name);
    this.#length -= piece.text.length;
    piece.text = '';
  }
}

/** A piece of a deflated stream that refers to nothing before it and ends at a byte. */
export function deflatedPiece(text: string): Buffer {
  return deflateRawSync(Buffer.from(text, 'latin1'), { finishFlush: constants.Z_FULL_FLUSH });
}
