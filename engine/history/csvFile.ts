/**
 * A CSV as one gzip member, put together from deflated pieces. Its header has no time and no system, so the same rows
 * give the same bytes.
 */
import { crc32 } from 'node:zlib';
import { type HistoryTable, historyHead } from '../../shared/base/historyTables.ts';
import { HashedFile } from './hashedFile.ts';
import { deflatedPiece, LAST_BLOCK } from './spool.ts';

/** Deflated; no flags, no time, no hint about the effort; system unknown. */
const HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);

export class CsvFile {
  readonly file: HashedFile;
  #crc = 0;
  #bytes = 0;

  constructor(path: string, table: HistoryTable) {
    this.file = new HashedFile(path);
    this.file.add(HEADER);
    const head = historyHead(table);
    this.add(deflatedPiece(head), Buffer.from(head, 'latin1'));
  }

  /** @param text what the piece holds */
  add(piece: Uint8Array, text: Uint8Array): void {
    this.file.add(piece);
    this.#crc = crc32(text, this.#crc);
    this.#bytes = (this.#bytes + text.length) % 2 ** 32;
  }

  /** @returns the SHA-256 */
  close(): string {
    const trailer = Buffer.alloc(8);
    trailer.writeUInt32LE(this.#crc, 0);
    trailer.writeUInt32LE(this.#bytes, 4);
    this.file.add(LAST_BLOCK);
    this.file.add(trailer);
    return this.file.close();
  }
}
