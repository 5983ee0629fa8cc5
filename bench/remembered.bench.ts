/**
 * What do orders cost that a shard remembers on the disk? Runs of hashes are written by this program, without a shard:
 * in each slice one that has four fifths, and a smaller one. Then: their opening as a start does it, memory, duplicates
 * of each tenth of them, and new orders beside those of a shard that has accepted nothing.
 *
 * There are a million of them, and with `--full` a billion, which take 27 GB of the temporary directory.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AcceptedHashes, type RunName } from '../engine/book/acceptedHashes.ts';
import { ENTRY_WORDS } from '../engine/book/hashPart.ts';
import { FOR_EVER } from '../engine/book/retention.ts';
import { HashRunWriter } from '../engine/snapshot/hashRun.ts';
import { HashRuns } from '../engine/snapshot/hashRuns.ts';
import type { RunPlace } from '../engine/snapshot/runPages.ts';
import { assert } from '../shared/base/assert.ts';
import { TEST_KEY } from '../test/support/journalKey.ts';
import { Random } from '../test/support/random.ts';
import { atMost, type Report, STOLEN, StealMeter } from './report.ts';

const SLICES = 16;
const IN_SLICE = 2 ** 28;
const OF_TENTH = 1000;
const NEW_ORDERS = 200_000;
const MOST_MILLIS = 1;

export async function run({ isFull = false }: { readonly isFull?: boolean } = {}): Promise<Report> {
  const count = isFull ? 1_000_000_000 : 1_000_000;
  const directory = mkdtempSync(join(tmpdir(), 'bench-remembered-'));
  const place = { directory, shard: 0, mac: TEST_KEY.snapshots };
  const steal = new StealMeter();
  try {
    const ofSlice = Math.floor(count / SLICES);
    const runs = Array.from({ length: SLICES }, (_, slice) => write(place, slice, ofSlice)).flat();
    const before = process.memoryUsage.rss();
    const startMs = performance.now();
    const spilled = new HashRuns(place, { through: 1, runs });
    assert(spilled.load(Number.MAX_SAFE_INTEGER), 'remembered: all filters are there');
    const openedMs = performance.now() - startMs;
    const bytes = (process.memoryUsage.rss() - before) / count;

    const [hashes, empty] = [new AcceptedHashes(), new AcceptedHashes()];
    hashes.adopt(spilled, false);
    const repeatedMs: number[] = [];
    for (let tenth = 0; tenth < 10; tenth++)
      for (let each = 0; each < OF_TENTH; each++) {
        const index = Math.floor(((tenth + each / OF_TENTH) * ofSlice) / 10);
        const hash = hashOf(each % SLICES, index, ofSlice);
        const fromMs = performance.now();
        assert(hashes.has(hash, 0), 'remembered: a duplicate is found');
        repeatedMs.push(performance.now() - fromMs);
      }
    repeatedMs.sort((a, b) => a - b);
    const p99 = repeatedMs[Math.floor(repeatedMs.length * 0.99)];
    const [beside, alone] = [insertUs(hashes), insertUs(empty)];
    spilled.close();
    return {
      bench: 'remembered',
      settings: `${count.toLocaleString('en')} hashes in ${runs.length} runs; pages of the disk may be cached`,
      rows: [
        { what: 'opening all runs, s', figure: openedMs / 1000 },
        { what: 'memory of the process for a hash, bytes', figure: bytes },
        { what: 'a duplicate from the disk, p99, ms', figure: p99 },
        { what: 'a new order beside the runs, search and insertion, us', figure: beside },
        { what: 'the same with none, us', figure: alone },
        { what: STOLEN, figure: steal.percent() },
      ],
      goals: [atMost('ms for a duplicate from the disk, p99', p99, MOST_MILLIS)],
    };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** Every fifth hash is in the smaller run. */
function write(place: RunPlace, slice: number, count: number): RunName[] {
  const writers = [new HashRunWriter(place, slice, count), new HashRunWriter(place, slice, count)];
  for (let index = 0; index < count; index++) writers[Number(index % 5 === 0)].add(hashOf(slice, index, count), 0);
  return writers.flatMap((writer) => writer.finish() ?? []);
}

/** The hash of this index of a slice, in order of the index; its other words look like chance. */
function hashOf(slice: number, index: number, count: number): Uint32Array {
  const words = new Uint32Array(ENTRY_WORDS);
  words[0] = slice * IN_SLICE + Math.floor((index / count) * IN_SLICE);
  for (let word = 1; word < 4; word++) words[word] = Math.imul(index + word, 0x9e3779b1) ^ Math.imul(index, word * 77);
  words[4] = 1;
  return words;
}

function insertUs(hashes: AcceptedHashes): number {
  const random = new Random(3);
  const fresh = Uint32Array.from({ length: NEW_ORDERS * 4 }, () => random.below(2 ** 32));
  const startMs = performance.now();
  for (let word = 0; word < fresh.length; word += 4) {
    assert(!hashes.has(fresh, word), 'remembered: a new order is not found');
    hashes.insert(fresh, word, 1, 0, FOR_EVER);
  }
  return ((performance.now() - startMs) / NEW_ORDERS) * 1000;
}
