/**
 * Writes the public history of an exchange from its journals: rows into the spool of each shard, and once all shards
 * have passed a day, its files.
 * Owner: the history thread, or the administrator's command; a lock in the directory keeps a second writer away.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { WORKING_FOLDER } from '../../shared/base/historyPlace.ts';
import { dayStartMs, type HistoryManifest, isDayName } from '../../shared/base/historyTables.ts';
import type { ShardKey } from '../journal/shardKey.ts';
import { DayFiles, type Pause } from './dayFiles.ts';
import { ShardWriter } from './shardWriter.ts';
import { SpooledDay } from './spool.ts';
import { StateFile } from './stateFile.ts';

type HistoryWriterOptions = {
  /** HISTORY_DIR. */
  readonly historyDir: string;
  readonly journalPaths: readonly string[];
  readonly keys: readonly ShardKey[];
  /** Of the snapshots. */
  readonly directory: string;
  readonly onMadeAnew?: (journalPath: string) => void;
};

export class HistoryWriter {
  readonly #historyDir: string;
  readonly #working: string;
  readonly #open: (shard: number) => ShardWriter;
  readonly #shards: (ShardWriter | null)[];
  readonly #state: StateFile;
  /** The published days. */
  readonly #days: { readonly day: string; readonly complete: boolean }[];

  constructor({ historyDir, journalPaths, keys, directory, onMadeAnew = () => {} }: HistoryWriterOptions) {
    this.#historyDir = historyDir;
    this.#working = join(historyDir, WORKING_FOLDER);
    mkdirSync(this.#working, { recursive: true });
    this.#open = (shard) => {
      const source = { journalPath: journalPaths[shard], directory, shard, key: keys[shard] };
      return new ShardWriter(source, this.#working, onMadeAnew);
    };
    this.#shards = journalPaths.map(() => null);
    this.#state = new StateFile(historyDir);
    this.#days = publishedDays(historyDir).map((day) => ({ day, complete: this.#isComplete(day) }));
  }

  /** The writer of a shard whose journal is there. */
  shard(shard: number): ShardWriter {
    const writer = this.#shards[shard] ?? this.#open(shard);
    this.#shards[shard] = writer;
    return writer;
  }

  /**
   * Publishes the days that all shards have passed; shards may be followed meanwhile.
   * @param pause called after each piece of work
   * @param published called with the name of each day
   */
  async publish(pause: Pause, published: (day: string) => void): Promise<void> {
    const shards = this.#shards.flatMap((writer) => writer ?? []);
    if (shards.length < this.#shards.length) return;
    const days = new Set(shards.flatMap(({ days }) => Object.keys(days)));
    const past = [...days].filter((day) => shards.every((writer) => writer.isPast(dayStartMs(day)))).sort();
    for (const name of past) {
      const parts = shards.flatMap((writer) => {
        const day = writer.days[name];
        return day === undefined ? [] : [{ shard: writer.shard, spool: new SpooledDay(writer.folder, name), day }];
      });
      try {
        if (parts.some(({ spool }) => spool.markets.length > 0)) {
          await new DayFiles(this.#historyDir, join(this.#working, 'publishing'), name, pause).publish(parts);
          // It may have been published by a writer that ended before it forgot the day.
          if (!this.#days.some(({ day }) => day === name)) {
            this.#days.push({ day: name, complete: this.#isComplete(name) });
            published(name);
          }
        }
      } finally {
        for (const { spool } of parts) spool.close();
      }
      for (const writer of shards) writer.forget(name);
    }
  }

  /** @param committed the last record of each shard */
  writeState(committed: readonly number[], nowMs: number): void {
    const shards = this.#shards.flatMap((writer) => writer ?? []);
    const followed = shards.map(({ shard, followed }) => ({ shard, ...followed, last: committed[shard] }));
    this.#state.write(this.#days, followed, nowMs);
  }

  close(): void {
    for (const writer of this.#shards) writer?.close();
  }

  #isComplete(day: string): boolean {
    const text = readFileSync(join(this.#historyDir, day, 'manifest.json'), 'utf8');
    const { complete }: HistoryManifest = JSON.parse(text);
    return complete;
  }
}

/** The published days, oldest first. */
export function publishedDays(historyDir: string): string[] {
  if (!existsSync(historyDir)) return [];
  return readdirSync(historyDir).filter(isDayName).sort();
}
