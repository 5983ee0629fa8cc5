/**
 * Makes the files of a day out of the spools of all shards: the same spools give the same bytes.
 * Owner: the history thread.
 *
 * Invariants:
 *   DAYFILES-1  A day is visible as a whole or not at all: its folder is made elsewhere and renamed. What was published
 *               is never changed.
 *   DAYFILES-2  Both formats of a table have the same rows in the same order: markets by id, then as they happened.
 */
import { createHash } from 'node:crypto';
import { createReadStream, existsSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  HISTORY_FORMAT,
  HISTORY_TABLE_NAMES,
  HISTORY_TABLES,
  type HistoryFile,
  type HistoryFormat,
  type HistoryManifest,
  type HistoryTable,
  historyPath,
} from '../../shared/base/historyTables.ts';
import { syncDirectory } from '../../shared/base/syncDirectory.ts';
import { CandleRows } from './candleRows.ts';
import { CsvFile } from './csvFile.ts';
import { replaceFile, syncFile } from './files.ts';
import { ParquetFile } from './parquetFile.ts';
import type { ShardDay } from './shardWriter.ts';
import { deflatedPiece } from './spool.ts';
import { readSpool } from './spoolRows.ts';

const SEQUENCE_COLUMN = Object.keys(HISTORY_TABLES.book_events).indexOf('sequence');
const EVENT_COLUMN = Object.keys(HISTORY_TABLES.book_events).indexOf('event');

/** A shard's part of a day; `folder` has a folder for each market. */
type DayPart = {
  readonly shard: number;
  readonly folder: string;
  readonly markets: readonly string[];
  readonly day: ShardDay;
};

type Market = { -readonly [K in keyof HistoryManifest['markets'][number]]: HistoryManifest['markets'][number][K] };
type Pair = { readonly csv: CsvFile; readonly parquet: ParquetFile };

export class DayFiles {
  readonly #folder: string;
  readonly #target: string;
  readonly #name: string;
  readonly #files: HistoryFile[] = [];

  /** @param directory HISTORY_DIR. @param working a folder beside the published days */
  constructor(directory: string, working: string, name: string) {
    this.#name = name;
    this.#target = join(directory, name);
    this.#folder = join(working, name);
  }

  async publish(parts: readonly DayPart[]): Promise<void> {
    if (existsSync(this.#target)) return;
    rmSync(this.#folder, { recursive: true, force: true });
    mkdirSync(this.#folder, { recursive: true });
    const found = parts.flatMap(({ markets, folder, shard }) =>
      markets.map((id) => ({ id, shard, folder: join(folder, id) })),
    );
    found.sort((a, b) => (a.id < b.id ? -1 : 1));
    const markets = new Map<string, Market>();
    for (const { id, shard } of found) {
      markets.set(id, { market_id: id, shard, ticks_per_unit: 0, first_sequence: null, last_sequence: null });
    }
    for (const table of HISTORY_TABLE_NAMES) {
      const all = this.#open(table, null);
      for (const { id, folder } of found) await this.#market(table, id, folder, all, markets.get(id)!);
      this.#close(table, null, all);
    }
    const shards = parts.map(({ shard, day }) => ({ shard, first_record: day.first, last_record: day.last }));
    const manifest: HistoryManifest = {
      format: HISTORY_FORMAT,
      day: this.#name,
      complete: parts.every(({ day }) => day.isWhole),
      tables: HISTORY_TABLES,
      shards: shards.sort((a, b) => a.shard - b.shard),
      markets: [...markets.values()],
      files: await Promise.all(this.#files.map(async (file) => ({ ...file, ...(await this.#sumOf(file.path)) }))),
    };
    replaceFile(join(this.#folder, 'manifest.json'), `${JSON.stringify(manifest, null, 1)}\n`);
    renameSync(this.#folder, this.#target);
    syncDirectory(dirname(this.#target));
  }

  async #market(table: HistoryTable, id: string, folder: string, all: Pair, market: Market): Promise<void> {
    const path = join(folder, table === 'candles' ? 'trades' : table);
    if (!existsSync(path)) return;
    const pairs = [this.#open(table, id), all];
    const ticks = Object.keys(HISTORY_TABLES[table]).indexOf('ticks_per_unit');
    const row = (values: readonly string[]): void => {
      for (const { parquet } of pairs) parquet.add(values);
      market.ticks_per_unit = Number(values[ticks]);
    };
    const piece = (bytes: Uint8Array): void => {
      for (const { csv } of pairs) csv.add(bytes);
    };
    const text = (bytes: Uint8Array): void => {
      for (const { csv } of pairs) csv.count(bytes);
    };
    if (table === 'candles') {
      const candles = new CandleRows(id);
      await readSpool(path, { row: (values) => candles.add(values) });
      const rows = candles.rows();
      const lines = rows.map((values) => `${values.join(',')}\n`).join('');
      piece(deflatedPiece(lines));
      text(Buffer.from(lines, 'latin1'));
      for (const values of rows) row(values);
    } else {
      const isNumbered = table === 'trades' || table === 'book_events';
      await readSpool(path, {
        ...{ piece, text },
        row: (values) => {
          row(values);
          if (isNumbered && values[EVENT_COLUMN] !== 'resting') widen(market, Number(values[SEQUENCE_COLUMN]));
        },
      });
    }
    this.#close(table, id, pairs[0]);
  }

  #open(table: HistoryTable, marketId: string | null): Pair {
    const pathOf = (format: HistoryFormat) => join(this.#folder, historyPath(table, format, marketId));
    mkdirSync(dirname(pathOf('csv.gz')), { recursive: true });
    return { csv: new CsvFile(pathOf('csv.gz'), table), parquet: new ParquetFile(pathOf('parquet'), table) };
  }

  #close(table: HistoryTable, market_id: string | null, { csv, parquet }: Pair): void {
    csv.close();
    parquet.close();
    for (const format of ['csv.gz', 'parquet'] as const) {
      const path = historyPath(table, format, market_id);
      this.#files.push({ table, format, market_id, path, rows: parquet.rows, bytes: 0, sha256: '' });
    }
  }

  async #sumOf(path: string): Promise<{ bytes: number; sha256: string }> {
    const file = join(this.#folder, path);
    const hash = createHash('sha256');
    for await (const chunk of createReadStream(file)) hash.update(chunk);
    syncFile(file);
    syncDirectory(dirname(file));
    return { bytes: statSync(file).size, sha256: hash.digest('hex') };
  }
}

function widen(market: Market, sequence: number): void {
  market.first_sequence = Math.min(market.first_sequence ?? sequence, sequence);
  market.last_sequence = Math.max(market.last_sequence ?? sequence, sequence);
}
