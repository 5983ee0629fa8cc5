/**
 * Writes the public history of an exchange from its journals: rows into the spool of each shard, and once all shards
 * have passed a day, its files.
 * Owner: the history thread, or the administrator's command; a lock in the directory keeps a second writer away.
 */
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { WORKING_FOLDER } from '../../shared/base/historyPlace.ts';
import { dayStartMs, isDayName } from '../../shared/base/historyTables.ts';
import type { ShardKey } from '../journal/shardKey.ts';
import { DayFiles } from './dayFiles.ts';
import { ShardWriter } from './shardWriter.ts';

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

  constructor({ historyDir, journalPaths, keys, directory, onMadeAnew = () => {} }: HistoryWriterOptions) {
    this.#historyDir = historyDir;
    this.#working = join(historyDir, WORKING_FOLDER);
    mkdirSync(this.#working, { recursive: true });
    this.#open = (shard) => {
      const source = { journalPath: journalPaths[shard], directory, shard, key: keys[shard] };
      return new ShardWriter(source, this.#working, onMadeAnew);
    };
    this.#shards = journalPaths.map(() => null);
  }

  /** The writer of a shard whose journal is there. */
  shard(shard: number): ShardWriter {
    const writer = this.#shards[shard] ?? this.#open(shard);
    this.#shards[shard] = writer;
    return writer;
  }

  /** Publishes the days that all shards have passed. @returns their names */
  async publish(): Promise<string[]> {
    const shards = this.#shards.flatMap((writer) => writer ?? []);
    if (shards.length < this.#shards.length) return [];
    const days = new Set(shards.flatMap(({ days }) => Object.keys(days)));
    const past = [...days].filter((day) => shards.every((writer) => writer.isPast(dayStartMs(day)))).sort();
    const published: string[] = [];
    for (const name of past) {
      const parts = shards.flatMap((writer) => {
        const day = writer.days[name];
        if (day === undefined) return [];
        return [{ shard: writer.shard, folder: join(writer.folder, name), markets: writer.marketsOf(name), day }];
      });
      if (parts.some(({ markets }) => markets.length > 0)) {
        await new DayFiles(this.#historyDir, join(this.#working, 'publishing'), name).publish(parts);
        published.push(name);
      }
      for (const writer of shards) writer.forget(name);
    }
    return published;
  }

  close(): void {
    for (const writer of this.#shards) writer?.close();
  }
}

/** The published days, oldest first. */
export function publishedDays(historyDir: string): string[] {
  if (!existsSync(historyDir)) return [];
  return readdirSync(historyDir).filter(isDayName).sort();
}
