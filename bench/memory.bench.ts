/**
 * How much memory does a resting order need, and where? A million resting orders in one shard and in the gateway's
 * views, as after a start: the memory that JavaScript accounts for, by part, and the memory of the whole process.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Journal } from '../engine/journal/journal.ts';
import { Views } from '../gateway/shardlink/views.ts';
import { assert } from '../shared/base/assert.ts';
import { ANY_EVENT, EVENT, typeOf } from '../shared/wire/events.ts';
import { TEST_KEY } from '../test/support/journalKey.ts';
import { fill, makeEngine, memoryBytes, ORDERS } from './recovery.bench.ts';
import { atMost, type Report, type Row, STOLEN, StealMeter } from './report.ts';

const MOST_SHARD_BYTES = 300;
const SHARD = 0;

export async function run(): Promise<Report> {
  assert(globalThis.gc !== undefined, 'memory: needs --expose-gc');
  const directory = mkdtempSync(join(tmpdir(), 'bench-memory-'));
  const journalPath = join(directory, 'journal-0.db');
  const journal = Journal.open({ journalPath, journalSync: 'normal', shard: SHARD, shards: 1, key: TEST_KEY });
  const steal = new StealMeter();
  try {
    const start = measure();
    const engine = makeEngine(journal);
    engine.goLive();
    fill(engine, journal);
    const afterShard = measure();
    const views = new Views(1);
    views.recovering(SHARD);
    engine.describe(() => {
      const { words, lengthBytes } = engine.out;
      for (let word = 0; word < lengthBytes >>> 2; word += words[word] >>> 2) {
        if (typeOf(words[word + ANY_EVENT.type]) !== EVENT.READY.TYPE) views.apply(SHARD, words, word);
      }
      engine.out.clear();
    });
    views.recovered(SHARD, engine.sequence);
    const afterViews = measure();
    assert(engine.state.orders.openCount === ORDERS, 'memory: every order rests');

    const columns = columnBytes(engine.state.orders) / ORDERS;
    const shard = (afterShard.accounted - start.accounted) / ORDERS;
    const view = (afterViews.accounted - afterShard.accounted) / ORDERS;
    const unaccounted = (afterViews.resident - start.resident) / ORDERS - shard - view;
    const rows: Row[] = [
      { what: "shard: the orders' columns", 'bytes an order': columns },
      { what: 'shard: hashes ever accepted, books, accounts, the rest', 'bytes an order': shard - columns },
      { what: "gateway: its views of one account's orders", 'bytes an order': view },
      { what: "SQLite's cache, unused pages of the process", 'bytes an order': unaccounted },
      {
        what: 'all together, resident MB',
        'bytes an order': shard + view + unaccounted,
        MB: Math.round((afterViews.resident - start.resident) / 1e6),
        [STOLEN]: steal.percent(),
      },
    ];
    return {
      bench: 'memory',
      settings: `${ORDERS.toLocaleString('en')} resting orders of one account in one market; arrays grow by doubling`,
      rows,
      goals: [atMost('bytes an order in the shard, all structures', shard, MOST_SHARD_BYTES)],
    };
  } finally {
    journal.close();
    rmSync(directory, { recursive: true });
  }
}

function measure(): { accounted: number; resident: number } {
  globalThis.gc?.();
  return { accounted: memoryBytes(), resident: process.memoryUsage.rss() };
}

/** Bytes of the buffers under an object's typed arrays; several arrays may share a buffer. */
function columnBytes(holder: object): number {
  const buffers = new Set(
    Object.values(holder)
      .filter(ArrayBuffer.isView)
      .map(({ buffer }) => buffer),
  );
  return [...buffers].reduce((sum, { byteLength }) => sum + byteLength, 0);
}
