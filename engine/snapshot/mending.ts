/**
 * Makes damaged runs of hashes anew out of what is left of them and of the journal. Owner: the snapshot thread
 * (maker.ts).
 *
 * The filter says of each entry on a damaged page in which bucket it was, and some more bits: the orders in the journal
 * whose hashes it names there are those that the page held. A few of them only look so, and one of these could stand in
 * for an order that is older than the journal. So where the journal was trimmed, only those count that no other page of
 * the slice has: every order that may not be forgotten is on some page.
 *
 * Invariants:
 *   MENDING-1  A run is only replaced by one that has all of its entries, but for those that may be forgotten. That is
 *              known if the whole journal is there, or if as many of its orders as cannot be read are on no other page.
 */

import * as commands from '../../shared/wire/commands.ts';
import { readSafe } from '../../shared/wire/record.ts';
import { SnapshotError } from '../base/snapshotIo.ts';
import { type NamedRuns, type RunName, UNREADABLE } from '../book/acceptedHashes.ts';
import { NO_ACCOUNT } from '../book/hashIndex.ts';
import { ENTRY_WORDS } from '../book/hashPart.ts';
import { highWord, hourAfterSec, lowWord, type Retention } from '../book/retention.ts';
import type { JournalRecord } from '../journal/journalRecord.ts';
import type { JournalReader } from '../journal/reader.ts';
import { HashRun, isBelow } from './hashRun.ts';
import { SLICE_SHIFT } from './runFilter.ts';
import type { RunPlace } from './runPages.ts';
import { inOrder, type Pause, written } from './spilling.ts';

const { ANY_COMMAND, COMMAND } = commands;
const { PLACE, REPLACE } = COMMAND;
/** Records, or pages, between two pauses. */
const STRIDE = 1000;

type Mended = {
  readonly named: NamedRuns;
  /** A text for each damage that was found. */
  readonly damages: readonly string[];
  /** Ids of damaged runs that the journal cannot make whole: their orders are older than its first record. */
  readonly beyond: readonly string[];
};

type Damaged = { readonly name: RunName; readonly run: HashRun; readonly found: Map<string, Uint32Array> };

/** @param retention what may be forgotten by now */
export function mendRuns(
  place: RunPlace,
  named: NamedRuns,
  { reader, retention }: { readonly reader: JournalReader; readonly retention: Retention },
  pause: Pause,
): Mended {
  const damages: string[] = [];
  const beyond: string[] = [];
  const damaged: Damaged[] = [];
  try {
    for (const name of named.runs) {
      const run = opened(place, name, damages, pause);
      if (run === null) beyond.push(name.id);
      else if (run.isDamaged) damaged.push({ name, run, found: new Map() });
      else run.close();
    }
    if (damaged.some(({ run }) => run.lostCount > 0)) collect(damaged, named.through, reader, retention, pause);
    const isAllThere = reader.facts().firstSequence === 1;
    const made = new Map<RunName, RunName | null>();
    for (const each of damaged) {
      const isWhole = isAllThere ? isNamed(each) : isCounted(place, named, each, retention);
      if (isWhole) made.set(each.name, remade(place, each, retention, pause));
      else beyond.push(each.name.id);
    }
    const runs = named.runs.flatMap((name) => (made.has(name) ? (made.get(name) ?? []) : name));
    return { named: made.size === 0 ? named : { through: named.through, runs }, damages, beyond };
  } finally {
    for (const { run } of damaged) run.close();
  }
}

/** The run after all of its pages were read; null if neither its filter nor its entries can be. */
function opened(place: RunPlace, name: RunName, damages: string[], pause: Pause): HashRun | null {
  let run: HashRun | null = null;
  try {
    run = HashRun.open(place, name);
    run.load(Number.MAX_SAFE_INTEGER);
    let seen = 0;
    for (const _ of run.intactEntries()) if (++seen % (STRIDE * STRIDE) === 0) pause();
    damages.push(...run.takeDamage());
    return run;
  } catch (error) {
    run?.close();
    if (!(error instanceof SnapshotError)) throw error;
    damages.push(error.message);
    return null;
  }
}

/** Finds the orders that damaged pages may have held. */
function collect(
  damaged: readonly Damaged[],
  through: number,
  reader: JournalReader,
  retention: Retention,
  pause: Pause,
): void {
  const { firstSequence } = reader.facts();
  for (let from = firstSequence; from <= through; from += STRIDE) {
    const range = { from, to: Math.min(through, from + STRIDE - 1) };
    reader.visitWhole(range, (record) => note(damaged, record, retention));
    pause();
  }
}

function note(damaged: readonly Damaged[], { command: { words, word } }: JournalRecord, retention: Retention): void {
  const type = words[word + ANY_COMMAND.type] & 0xffff;
  if (type !== PLACE.TYPE && type !== REPLACE.TYPE) return;
  const hash = word + PLACE.hash;
  for (const { name, run, found } of damaged) {
    if (words[hash] >>> SLICE_SHIFT !== name.slice) continue;
    if (run.lostEntries(words, hash).next().done) continue;
    const entry = new Uint32Array(ENTRY_WORDS);
    entry.set(words.subarray(hash, hash + 4));
    const market = words[word + ANY_COMMAND.market];
    const lastHour = hourAfterSec(readSafe(words, word + PLACE.expirationSec));
    entry[4] = lowWord(words[word + ANY_COMMAND.account], market);
    entry[5] = highWord(market, retention.kept(lastHour));
    found.set(entry.subarray(0, 4).join(), entry);
  }
}

/** True if the filter names an order that was found for each entry that cannot be read. */
function isNamed({ run, found }: Damaged): boolean {
  const indexes = new Set<number>();
  for (const entry of found.values()) for (const index of run.lostEntries(entry, 0)) indexes.add(index);
  return indexes.size === run.lostCount && found.size >= run.lostCount;
}

/** MENDING-1. */
function isCounted(place: RunPlace, named: NamedRuns, { name, run, found }: Damaged, retention: Retention): boolean {
  let left = [...found.values()].filter(
    (entry) => !retention.mayForget(entry[4], entry[5]) && run.accountOf(entry, 0) === UNREADABLE,
  );
  for (const other of named.runs) {
    if (other.slice === name.slice && other !== name) left = absentFrom(place, other, left);
  }
  return left.length === run.lostCount;
}

/** The entries that are certainly not in the run; none if it cannot be read. */
function absentFrom(place: RunPlace, name: RunName, entries: readonly Uint32Array[]): Uint32Array[] {
  let run: HashRun | null = null;
  try {
    run = HashRun.open(place, name);
    run.load(Number.MAX_SAFE_INTEGER);
    return entries.filter((entry) => run!.accountOf(entry, 0) === NO_ACCOUNT);
  } catch (error) {
    if (!(error instanceof SnapshotError)) throw error;
    return [];
  } finally {
    run?.close();
  }
}

function remade(place: RunPlace, { name, run, found }: Damaged, retention: Retention, pause: Pause): RunName | null {
  const entries = [...found.values()].sort((a, b) => (isBelow(a, 0, b, 0) ? -1 : 1));
  const made = written(place, name.slice, name.count + entries.length, (add) => {
    let seen = 0;
    for (const [words, entry] of inOrder([run.intactEntries(), pairs(entries)])) {
      if (!retention.mayForget(words[entry + 4], words[entry + 5])) add(words, entry);
      if (++seen % (STRIDE * STRIDE) === 0) pause();
    }
  });
  return made;
}

function* pairs(entries: readonly Uint32Array[]): Generator<readonly [words: Uint32Array, entry: number]> {
  for (const entry of entries) yield [entry, 0];
}
