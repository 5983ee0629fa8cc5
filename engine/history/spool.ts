/**
 * The rows of the days of one shard that are not published yet: one file for each day, to which pieces of all markets
 * and tables are appended, so that a checkpoint syncs one file. A piece is a header (SPOOL_HEADER) and deflated rows of
 * one market and table; each stands alone, so that pieces can be put after each other (csvFile.ts).
 * Owner: the history thread.
 *
 * Invariants:
 *   SPOOL-1  Where one piece ends depends on the rows alone, so the same rows give the same bytes.
 *   SPOOL-2  The file of the day that is being written is cut back to what a checkpoint names before it is written
 *            again; files of days before it are never changed.
 */
import { closeSync, existsSync, fsyncSync, ftruncateSync, mkdirSync, openSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { constants, deflateRawSync, inflateRawSync } from 'node:zlib';
import { bytesToUuid, uuidToBytes } from '../../shared/base/hex.ts';
import { dayName, HISTORY_TABLE_NAMES, type HistoryTable, isDayName } from '../../shared/base/historyTables.ts';
import { syncDirectory } from '../../shared/base/syncDirectory.ts';
import { readWhole, writeWhole } from './files.ts';

/** Characters after which rows of a market become a piece, and after which all rows of the shard do. */
const PIECE_LENGTH = 1 << 18;
const MOST_LENGTH = 1 << 25;
/** The bytes that follow, the number of the table, the market. */
const SPOOL_HEADER = { bytes: 0, table: 4, market: 8, BYTES: 24 } as const;

type Piece = { readonly market: string; readonly table: HistoryTable; text: string };

export class Spool {
  readonly #folder: string;
  #fd = -1;
  #length = 0;
  readonly #pieces = new Map<string, Piece>();
  #waiting = 0;

  /** @param folder of the shard */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** SPOOL-2. @param length what a checkpoint has of this day */
  continueDay(dayMs: number, length: number): void {
    this.close();
    const day = dayName(dayMs);
    mkdirSync(this.#folder, { recursive: true });
    for (const name of readdirSync(this.#folder)) {
      if (isDayName(name) && name > day) rmSync(join(this.#folder, name));
    }
    this.#fd = openSync(join(this.#folder, day), 'a+');
    ftruncateSync(this.#fd, length);
    this.#length = length;
  }

  add(market: string, table: HistoryTable, line: string): void {
    const name = `${market}/${table}`;
    let piece = this.#pieces.get(name);
    if (piece === undefined) {
      piece = { market, table, text: '' };
      this.#pieces.set(name, piece);
    }
    piece.text += line;
    this.#waiting += line.length;
    if (this.#waiting >= MOST_LENGTH) this.#flush();
    else if (piece.text.length >= PIECE_LENGTH) this.#write(piece);
  }

  /** Ends every piece and makes all rows durable. @returns the length for a checkpoint */
  sync(): number {
    this.#flush();
    fsyncSync(this.#fd);
    syncDirectory(this.#folder);
    return this.#length;
  }

  close(): void {
    if (this.#fd >= 0) closeSync(this.#fd);
    this.#fd = -1;
  }

  #flush(): void {
    for (const piece of this.#pieces.values()) this.#write(piece);
    this.#pieces.clear();
    this.#waiting = 0;
  }

  #write(piece: Piece): void {
    if (piece.text === '') return;
    const rows = deflatedPiece(piece.text);
    const bytes = Buffer.alloc(SPOOL_HEADER.BYTES + rows.length);
    bytes.writeUInt32LE(rows.length, SPOOL_HEADER.bytes);
    bytes.writeUInt32LE(HISTORY_TABLE_NAMES.indexOf(piece.table), SPOOL_HEADER.table);
    uuidToBytes(piece.market, bytes, SPOOL_HEADER.market);
    bytes.set(rows, SPOOL_HEADER.BYTES);
    writeWhole(this.#fd, bytes);
    this.#length += bytes.length;
    this.#waiting -= piece.text.length;
    piece.text = '';
  }
}

/** Where the rows of a market and table are in a spool. */
type Places = { readonly offset: number; readonly bytes: number }[];

/** The spool of a day that is over. */
export class SpooledDay {
  readonly #fd: number;
  /** By market and table. */
  readonly #places = new Map<string, Map<HistoryTable, Places>>();

  constructor(folder: string, day: string) {
    const path = join(folder, day);
    this.#fd = existsSync(path) ? openSync(path, 'r') : -1;
    if (this.#fd < 0) return;
    const header = Buffer.alloc(SPOOL_HEADER.BYTES);
    for (let at = 0; readWhole(this.#fd, header, at); ) {
      const bytes = header.readUInt32LE(SPOOL_HEADER.bytes);
      const table = HISTORY_TABLE_NAMES[header.readUInt32LE(SPOOL_HEADER.table)];
      const market = bytesToUuid(header, SPOOL_HEADER.market);
      const tables = this.#places.get(market) ?? new Map<HistoryTable, Places>();
      this.#places.set(market, tables);
      const places = tables.get(table) ?? [];
      tables.set(table, places);
      places.push({ offset: at + SPOOL_HEADER.BYTES, bytes });
      at += SPOOL_HEADER.BYTES + bytes;
    }
  }

  get markets(): string[] {
    return [...this.#places.keys()];
  }

  has(market: string, table: HistoryTable): boolean {
    return this.#places.get(market)?.has(table) ?? false;
  }

  /** The pieces of a market and table, in their order. */
  *pieces(market: string, table: HistoryTable): Generator<Buffer> {
    for (const { offset, bytes } of this.#places.get(market)?.get(table) ?? []) {
      const piece = Buffer.alloc(bytes);
      readWhole(this.#fd, piece, offset);
      yield piece;
    }
  }

  close(): void {
    if (this.#fd >= 0) closeSync(this.#fd);
  }
}

/** Ends a deflated stream of pieces. */
export const LAST_BLOCK: Buffer = Buffer.from([3, 0]);

/** A piece of a deflated stream that refers to nothing before it and ends at a byte. */
export function deflatedPiece(text: string): Buffer {
  return deflateRawSync(Buffer.from(text, 'latin1'), { finishFlush: constants.Z_FULL_FLUSH });
}

export function inflatedPiece(piece: Buffer): Buffer {
  return inflateRawSync(Buffer.concat([piece, LAST_BLOCK]));
}
