/**
 * A CSV as one gzip member, put together from deflated pieces. Its header has no time and no system, so the same rows
 * give the same bytes.
 */
import { closeSync, openSync, writeSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { type HistoryTable, historyHead } from '../../shared/base/historyTables.ts';
import { deflatedPiece } from './spool.ts';

/** Ends a deflated stream of pieces. */
export const LAST_BLOCK: Buffer = Buffer.from([3, 0]);
/** Deflated; no flags, no time, no hint about the effort; system unknown. */
const HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);

export class CsvFile {
  readonly #fd: number;
  #crc = 0;
  #bytes = 0;

  constructor(path: string, table: HistoryTable) {
    this.#fd = openSync(path, 'w');
    const head = historyHead(table);
    writeSync(this.#fd, HEADER);
    this.add(deflatedPiece(head));
    this.count(Buffer.from(head, 'latin1'));
  }

  add(piece: Uint8Array): void {
    writeSync(this.#fd, piece);
  }

  /** @param text what the pieces hold, in the same order */
  count(text: Uint8Array): void {
    this.#crc = crc32(text, this.#crc);
    this.#bytes = (this.#bytes + text.length) % 2 ** 32;
  }

  close(): void {
    const trailer = Buffer.alloc(8);
    trailer.writeUInt32LE(this.#crc, 0);
    trailer.writeUInt32LE(this.#bytes, 4);
    writeSync(this.#fd, Buffer.concat([LAST_BLOCK, trailer]));
    closeSync(this.#fd);
  }
}
