/**
 * Moves hashes of accepted orders from the memory of a replayed state into runs on the disk, and merges runs, before a
 * snapshot names them. Owner: the snapshot thread (maker.ts).
 *
 *   memory ──spill──► a new run for each slice ──merge──► fewer, larger runs ──► named by the snapshot ──► prune
 *
 * A spill sorts one slice of the memory at a time, and a merge rewrites two runs of one slice: neither needs room for
 * twice the whole. Of a slice each run has more than RATIO times as many hashes as the next, so there are few runs, and
 * a hash is written about a dozen times in years. What may be forgotten by then is left out each time.
 *
 * Any step may be the last one: a run that no snapshot names is removed by the next `prune`, and so is a part of one.
 *
 * Invariants:
 *   SPILLING-1  A run is read back whole before it is named.
 *   SPILLING-2  A file is removed only if no snapshot that is kept names it, and no snapshot is being written.
 *   SPILLING-3  A merge drops only what may be forgotten.
 */
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { assert } from '../../shared/base/assert.ts';
import { SnapshotError } from '../base/snapshotIo.ts';
import type { AcceptedHashes, NamedRuns, RunName } from '../book/acceptedHashes.ts';
import { ENTRY_WORDS } from '../book/hashPart.ts';
import type { Retention } from '../book/retention.ts';
import { HashRun, HashRunWriter, isBelow } from './hashRun.ts';
import { checkRuns, NamedOnly } from './hashRuns.ts';
import { SLICE_SHIFT } from './runFilter.ts';
import { type RunPlace, runIdOf } from './runPages.ts';

const SLICES = 2 ** (32 - SLICE_SHIFT);
const RATIO = 4;
/** Hashes that the merges before one snapshot may write; the last merge may exceed it. */
const MOST_MERGED = 1 << 22;
/** Snapshots write about this many hashes at most, again and again: 13 MB. */
const FEW = 1 << 19;
/** Hashes between two pauses. */
const STRIDE = 1 << 15;
/** Of an entry's position, in a sort key below the bits of its hash. */
const POSITION = 2 ** 26;

/** Lets others have the processor; the snapshot thread may end in it. */
export type Pause = () => void;

/** Moves the hashes in memory into runs, if there are more than `most` or FEW. */
export function spillIfDue(place: RunPlace, hashes: AcceptedHashes, through: number, most: number, pause: Pause): void {
  const { named } = hashes.spilled;
  if (hashes.size < Math.min(most, FEW)) return;
  const added: RunName[] = [];
  for (let slice = 0; slice < SLICES; slice++) {
    const run = writeSlice(place, hashes, slice);
    if (run !== null) added.push(run);
    pause();
  }
  hashes.replaceBy(new NamedOnly({ through, runs: [...named.runs, ...added] }));
}

/**
 * SPILLING-3. Merges runs of some slices, until enough is written. Of a pair that cannot be read whole both stay as
 * they are: a merge neither spreads nor hides damage.
 * @param damaged ids of runs that are left alone; those of pairs that cannot be read are added
 */
export function mergeRuns(
  place: RunPlace,
  named: NamedRuns,
  retention: Retention,
  pause: Pause,
  damaged = new Set<string>(),
): NamedRuns {
  let runs = named.runs;
  let written = 0;
  const next = () => (written < MOST_MERGED ? pairToMerge(runs.filter(({ id }) => !damaged.has(id))) : null);
  for (let pair = next(); pair !== null; pair = next()) {
    const [older, newer] = pair;
    let merged: RunName | null;
    try {
      merged = merge(place, older, newer, retention, pause);
    } catch (error) {
      if (!(error instanceof SnapshotError)) throw error;
      for (const { id } of pair) damaged.add(id);
      continue;
    }
    written += older.count + newer.count;
    runs = runs.flatMap((run) => (run === older ? (merged ?? []) : run === newer ? [] : run));
    pause();
  }
  return { through: named.through, runs };
}

/** SPILLING-2. Removes the files of runs, and of parts of them, that are not among these. */
export function prune({ directory, shard }: RunPlace, kept: readonly NamedRuns[]): void {
  const ids = new Set(kept.flatMap(({ runs }) => runs.map(({ id }) => id)));
  for (const name of readdirSync(directory)) {
    const id = runIdOf(name, shard);
    if (id !== null && !(ids.has(id) && name.endsWith('.run'))) rmSync(join(directory, name), { force: true });
  }
}

/** The same hashes under the secret of another place. @returns the name of the run there */
export function reseal(from: RunPlace, name: RunName, to: RunPlace): RunName {
  const run = HashRun.open(from, name);
  const writer = new HashRunWriter(to, name.slice, name.count);
  try {
    for (const [words, entry] of run.entries()) writer.add(words, entry);
  } finally {
    run.close();
  }
  const made = writer.finish();
  assert(made !== null, 'HASHRUN-1: a run has entries');
  return made;
}

/** Those hashes of a run of another shard that belong here. @returns null if there are none */
export function divideRun(
  from: RunPlace,
  name: RunName,
  to: RunPlace,
  isOwn: (words: Uint32Array, entry: number) => boolean,
): RunName | null {
  const run = HashRun.open(from, name);
  try {
    return written(to, name.slice, name.count, (add) => {
      for (const [words, entry] of run.entries()) if (isOwn(words, entry)) add(words, entry);
    });
  } finally {
    run.close();
  }
}

/** Two neighbours of the slice with the most runs of which the older one is not much larger, the newest first. */
function pairToMerge(runs: readonly RunName[]): [older: RunName, newer: RunName] | null {
  const slices = Array.from({ length: SLICES }, (_, slice) => runs.filter((run) => run.slice === slice));
  slices.sort((a, b) => b.length - a.length);
  for (const ofSlice of slices) {
    for (let at = ofSlice.length - 1; at > 0; at--) {
      const [older, newer] = [ofSlice[at - 1], ofSlice[at]];
      if (newer.count * RATIO > older.count) return [older, newer];
    }
  }
  return null;
}

function writeSlice(place: RunPlace, hashes: AcceptedHashes, slice: number): RunName | null {
  let count = 0;
  hashes.visitKept((words, entry) => {
    if (words[entry] >>> SLICE_SHIFT === slice) count++;
  });
  assert(count < POSITION, 'spilling: positions fit beside a hash');
  const found = new Uint32Array(count * ENTRY_WORDS);
  const keys = new Float64Array(count);
  let at = 0;
  hashes.visitKept((words, entry) => {
    if (words[entry] >>> SLICE_SHIFT !== slice) return;
    keys[at / ENTRY_WORDS] = ((words[entry] & (2 ** SLICE_SHIFT - 1)) >>> 1) * POSITION + at / ENTRY_WORDS;
    for (let word = 0; word < ENTRY_WORDS; word++) found[at++] = words[entry + word];
  });
  const order = Uint32Array.from(keys.sort(), (key) => (key % POSITION) * ENTRY_WORDS);
  return written(place, slice, count, (add) => {
    for (const entry of sortedWhole(order, found)) add(found, entry);
  });
}

/** Puts hashes whose first bits are equal in order: almost none. */
function sortedWhole(order: Uint32Array, found: Uint32Array): Uint32Array {
  for (let each = 1; each < order.length; each++) {
    const entry = order[each];
    let to = each;
    for (; to > 0 && isBelow(found, entry, found, order[to - 1]); to--) order[to] = order[to - 1];
    order[to] = entry;
  }
  return order;
}

function merge(place: RunPlace, older: RunName, newer: RunName, retention: Retention, pause: Pause): RunName | null {
  const runs = [HashRun.open(place, older), HashRun.open(place, newer)];
  try {
    return written(place, older.slice, older.count + newer.count, (add) => {
      let seen = 0;
      for (const [words, entry] of inOrder(runs.map((run) => run.entries()))) {
        if (!retention.mayForget(words[entry + 4], words[entry + 5])) add(words, entry);
        if (++seen % STRIDE === 0) pause();
      }
    });
  } finally {
    for (const run of runs) run.close();
  }
}

type Entries = Generator<readonly [words: Uint32Array, entry: number]>;

/** The entries of two runs, smallest first; one that both have comes once. */
export function* inOrder([first, second]: readonly Entries[]): Entries {
  let a = first!.next();
  let b = second!.next();
  while (!a.done || !b.done) {
    const isFirst = b.done || (!a.done && !isBelow(b.value[0], b.value[1], a.value[0], a.value[1]));
    if (isFirst && !a.done) {
      const isInBoth = !b.done && !isBelow(a.value[0], a.value[1], b.value[0], b.value[1]);
      yield a.value;
      a = first!.next();
      if (isInBoth) b = second!.next();
    } else if (!b.done) {
      yield b.value;
      b = second!.next();
    }
  }
}

/** SPILLING-1. A run of what `fill` adds; null if that is nothing. */
export function written(
  place: RunPlace,
  slice: number,
  most: number,
  fill: (add: (words: Uint32Array, entry: number) => void) => void,
): RunName | null {
  const writer = new HashRunWriter(place, slice, most);
  let run: RunName | null;
  try {
    fill((words, entry) => writer.add(words, entry));
    run = writer.finish();
  } catch (error) {
    writer.abandon();
    throw error;
  }
  if (run !== null) checkRuns(place, [run]);
  return run;
}
