/**
 * Makes the files of a day out of the spools of all shards: the same spools give the same bytes. A list of what is done
 * stands beside the folder, so that a writer that was killed goes on where it was.
 * Owner: the history thread.
 *
 * Invariants:
 *   DAYFILES-1  A day is visible as a whole or not at all: its folder is made elsewhere and renamed once all of it is
 *               on the disk. What was published is never changed.
 *   DAYFILES-2  Both formats of a table have the same rows in the same order: markets by id, then as they happened.
 *   DAYFILES-3  What an earlier writer has left is kept only if its length and SHA-256 are those of the list.
 */
import { createHash } from 'node:crypto';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, readSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  HISTORY_FORMAT,
  HISTORY_TABLE_NAMES,
  HISTORY_TABLES,
  HISTORY_TITLES,
  type HistoryFile,
  type HistoryFormat,
  type HistoryManifest,
  type HistoryTable,
  historyPath,
} from '../../shared/base/historyTables.ts';
import { syncDirectory } from '../../shared/base/syncDirectory.ts';
import { CandleRows } from './candleRows.ts';
import type { ShardDay } from './checkpoint.ts';
import { CsvFile } from './csvFile.ts';
import { replaceFile, syncFolder, writeWhole } from './files.ts';
import { ParquetFile } from './parquetFile.ts';
import { deflatedPiece, inflatedPiece, type SpooledDay } from './spool.ts';

const SEQUENCE_COLUMN = Object.keys(HISTORY_TABLES.book_events).indexOf('sequence');
const EVENT_COLUMN = Object.keys(HISTORY_TABLES.book_events).indexOf('event');
const HASH_BYTES = 1 << 18;

/** A shard's part of a day. */
type DayPart = { readonly shard: number; readonly spool: SpooledDay; readonly day: ShardDay };
/** A market, as far as its rows have been read: 0 and null before the first. */
type Facts = { ticks_per_unit: number; first_sequence: number | null; last_sequence: number | null };
/** Of a table and a market, or of all: its two files, and the facts so far. */
type Done = { readonly key: string; readonly files: readonly HistoryFile[]; readonly facts: Facts | null };
type Market = { readonly id: string; readonly shard: number; readonly spool: SpooledDay; facts: Facts };
type Pair = { readonly csv: CsvFile; readonly parquet: ParquetFile };
/** Lets other work of the thread go on. */
export type Pause = () => Promise<void>;

export class DayFiles {
  readonly #name: string;
  readonly #target: string;
  readonly #folder: string;
  readonly #listPath: string;
  readonly #done = new Map<string, Done>();
  readonly #pause: Pause;
  #list = -1;

  /** @param directory HISTORY_DIR. @param working a folder beside the published days */
  constructor(directory: string, working: string, name: string, pause: Pause) {
    this.#name = name;
    this.#target = join(directory, name);
    this.#folder = join(working, name);
    this.#listPath = join(working, `${name}.done`);
    this.#pause = pause;
  }

  async publish(parts: readonly DayPart[]): Promise<void> {
    if (!existsSync(this.#target)) {
      mkdirSync(this.#folder, { recursive: true });
      await this.#takeUp();
      this.#list = openSync(this.#listPath, 'a');
      try {
        await this.#make(parts);
      } finally {
        closeSync(this.#list);
      }
    }
    rmSync(this.#listPath, { force: true });
  }

  async #make(parts: readonly DayPart[]): Promise<void> {
    const markets = parts.flatMap(({ spool, shard }) =>
      spool.markets.map((id): Market => {
        return { id, shard, spool, facts: { ticks_per_unit: 0, first_sequence: null, last_sequence: null } };
      }),
    );
    markets.sort((a, b) => (a.id < b.id ? -1 : 1));
    for (const table of HISTORY_TABLE_NAMES) await this.#table(table, markets);
    const shards = parts.map(({ shard, day }) => ({ shard, first_record: day.first, last_record: day.last }));
    const manifest: HistoryManifest = {
      format: HISTORY_FORMAT,
      day: this.#name,
      complete: parts.every(({ day }) => day.isWhole),
      titles: HISTORY_TITLES,
      tables: HISTORY_TABLES,
      shards: shards.sort((a, b) => a.shard - b.shard),
      markets: markets.map(({ id, shard, facts }) => ({ market_id: id, shard, ...facts })),
      files: HISTORY_TABLE_NAMES.flatMap((table) =>
        [...markets.map(({ id }) => id), null].flatMap((id) => this.#done.get(keyOf(table, id))?.files ?? []),
      ),
    };
    replaceFile(join(this.#folder, 'manifest.json'), [Buffer.from(`${JSON.stringify(manifest, null, 1)}\n`)]);
    await syncFolder(this.#folder);
    renameSync(this.#folder, this.#target);
    syncDirectory(dirname(this.#target));
  }

  async #table(table: HistoryTable, markets: readonly Market[]): Promise<void> {
    const all = this.#open(table, null);
    for (const market of markets) {
      const source = table === 'candles' ? 'trades' : table;
      if (market.spool.has(market.id, source)) await this.#market(table, source, market, all);
    }
    if (all !== null) this.#close(table, null, all, null);
  }

  /** @param all null if its files are done */
  async #market(table: HistoryTable, source: HistoryTable, market: Market, all: Pair | null): Promise<void> {
    const { id, spool } = market;
    const own = this.#open(table, id);
    const pairs = [own, all].filter((pair) => pair !== null);
    if (pairs.length === 0) {
      market.facts = this.#done.get(keyOf(table, id))?.facts ?? market.facts;
      return;
    }
    const { facts } = market;
    const ticks = Object.keys(HISTORY_TABLES[table]).indexOf('ticks_per_unit');
    const isNumbered = table === 'trades' || table === 'book_events';
    const candles = new CandleRows(id);
    const add = (piece: Buffer, text: Buffer, rows: readonly (readonly string[])[]): void => {
      for (const { csv, parquet } of pairs) {
        csv.add(piece, text);
        for (const row of rows) parquet.add(row);
      }
      for (const row of rows) {
        facts.ticks_per_unit = Number(row[ticks]);
        if (isNumbered && row[EVENT_COLUMN] !== 'resting') widen(facts, Number(row[SEQUENCE_COLUMN]));
      }
    };
    for (const piece of spool.pieces(id, source)) {
      const text = inflatedPiece(piece);
      const lines = text.toString('latin1').split('\n');
      lines.pop();
      const rows = lines.map((line) => line.split(','));
      if (table === 'candles') for (const row of rows) candles.add(row);
      else add(piece, text, rows);
      await this.#pause();
    }
    if (table === 'candles') {
      const rows = candles.rows();
      const lines = rows.map((values) => `${values.join(',')}\n`).join('');
      add(deflatedPiece(lines), Buffer.from(lines, 'latin1'), rows);
    }
    if (own !== null) this.#close(table, id, own, facts);
  }

  /** Null if they are done. */
  #open(table: HistoryTable, marketId: string | null): Pair | null {
    if (this.#done.has(keyOf(table, marketId))) return null;
    const pathOf = (format: HistoryFormat) => join(this.#folder, historyPath(table, format, marketId));
    mkdirSync(dirname(pathOf('csv.gz')), { recursive: true });
    return { csv: new CsvFile(pathOf('csv.gz'), table), parquet: new ParquetFile(pathOf('parquet'), table) };
  }

  #close(table: HistoryTable, market_id: string | null, { csv, parquet }: Pair, facts: Facts | null): void {
    const sums = { 'csv.gz': csv.close(), parquet: parquet.close() };
    const bytes = { 'csv.gz': csv.file.bytes, parquet: parquet.file.bytes };
    const files = (['csv.gz', 'parquet'] as const).map((format): HistoryFile => {
      const path = historyPath(table, format, market_id);
      return { table, format, market_id, path, rows: parquet.rows, bytes: bytes[format], sha256: sums[format] };
    });
    const done: Done = { key: keyOf(table, market_id), files, facts };
    const line = JSON.stringify(done);
    writeWhole(this.#list, Buffer.from(`${line}\n`));
    this.#done.set(done.key, JSON.parse(line));
  }

  /** DAYFILES-3. */
  async #takeUp(): Promise<void> {
    if (!existsSync(this.#listPath)) return;
    for (const line of readFileSync(this.#listPath, 'utf8').split('\n')) {
      const done = parsed(line);
      if (done?.files.every((file) => isWhole(join(this.#folder, file.path), file))) this.#done.set(done.key, done);
      await this.#pause();
    }
    const lines = [...this.#done.values()].map((done) => `${JSON.stringify(done)}\n`);
    replaceFile(this.#listPath, [Buffer.from(lines.join(''))]);
  }
}

function keyOf(table: HistoryTable, marketId: string | null): string {
  return `${table}/${marketId ?? ''}`;
}

/** Null if the line is torn. */
function parsed(line: string): Done | null {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}

function isWhole(path: string, { bytes, sha256 }: HistoryFile): boolean {
  if (!existsSync(path)) return false;
  const hash = createHash('sha256');
  const chunk = Buffer.alloc(HASH_BYTES);
  const fd = openSync(path, 'r');
  let length = 0;
  try {
    for (let read = 1; read > 0; length += read) {
      read = readSync(fd, chunk);
      hash.update(chunk.subarray(0, read));
    }
  } finally {
    closeSync(fd);
  }
  return length === bytes && hash.digest('hex') === sha256;
}

function widen(facts: Facts, sequence: number): void {
  facts.first_sequence = Math.min(facts.first_sequence ?? sequence, sequence);
  facts.last_sequence = Math.max(facts.last_sequence ?? sequence, sequence);
}
