/**
 * One flipped bit anywhere in the files of a shard that is not running: journal, WAL, high-water mark, snapshots. Each
 * is noticed, by an error that names the file, or it is harmless: the shard comes back as it was, goes on from
 * there, and comes back once more with what it added.
 *
 *     SOAK=on SEED=7 node shared/run.mjs --test test/fault/bitflips.test.ts
 */
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { checkInvariants } from '../../engine/core/invariants.ts';
import { Journal } from '../../engine/journal/journal.ts';
import { recover } from '../../engine/shard/recovery.ts';
import { SnapshotMaker } from '../../engine/snapshot/maker.ts';
import { MOVEMENT, OUTCOME, SIDE, TIME_IN_FORCE } from '../../shared/base/codes.ts';
import { Progress } from '../../shared/wire/progress.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { engineWith, type MemoryJournal, stateOf } from '../support/engine.ts';
import { EngineRig } from '../support/engineRig.ts';
import { TEST_KEY } from '../support/journalKey.ts';
import { seededRandom } from '../support/random.ts';
import { seedOr, timesOf } from '../support/seeds.ts';

const FLIPS = timesOf({ suite: 100, soak: 1000 });
const SEED = seedOr(20_261_122);
const SHARD = 0;
const ACCOUNTS = [1, 2, 3];

const PAGE = 4096;
const WAL_HEADER = 32;
const FRAME_HEADER = 24;

const random = seededRandom(SEED);
const below = (limit: number): number => Math.floor(random() * limit);
const root = temporaryDirectory();

type Row = MemoryJournal['rows'][number];
type Files = ReadonlyMap<string, Buffer>;
/** A shard's files, their state, and the events that came next. */
type History = { files: Files; state: Buffer; more: readonly Row[]; stateAfter: Buffer };
/** `young` has no snapshots yet; `killed` has its last commits in the WAL, the others were stopped. */
type Kind = 'young' | 'stopped' | 'killed';
/** A run of bytes worth aiming at, however small its share of all bytes is. */
type Target = { file: string; from: number; to: number };

/** Once refused without the name of the file: the header of the page with the oldest rows. */
const FOUND = [{ file: 'journal-0.db', at: 8205, bit: 2 }];

test(`${FLIPS} flipped bits are each noticed or harmless (SEED=${SEED})`, (t) => {
  const histories = (['young', 'stopped', 'killed'] as const).map(makeHistory);
  const targets = histories.flatMap((history) => targetsIn(history.files).map((target) => ({ history, ...target })));
  let noticed = 0;
  for (const history of histories) {
    for (const { file, at, bit } of FOUND) isNoticed(history, file, at, bit);
  }
  for (let flip = 0; flip < FLIPS; flip++) {
    const { history, file, from, to } = targets[flip % targets.length];
    const [at, bit] = [from + below(to - from), below(8)];
    try {
      if (isNoticed(history, file, at, bit)) noticed++;
    } catch (error) {
      throw new Error(`${file}, byte ${at}, bit ${bit}: ${(error as Error).message}`, { cause: error });
    }
  }
  t.diagnostic(`${noticed} refused, ${FLIPS - noticed} harmless`);
  assert.ok(FLIPS < 50 || (noticed > 0 && noticed < FLIPS), 'there are flips of both kinds');
});

/** @returns whether the damage was refused; throws where it was neither refused nor harmless. */
function isNoticed({ files, state, more, stateAfter }: History, file: string, at: number, bit: number): boolean {
  const directory = join(root, 'damaged');
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory);
  for (const [name, bytes] of files) writeFileSync(join(directory, name), bytes);
  const damaged = Buffer.from(files.get(file)!);
  damaged[at] ^= 1 << bit;
  writeFileSync(join(directory, file), damaged);
  try {
    comeBack(directory, state, more);
    comeBack(directory, stateAfter, []);
  } catch (error) {
    if (error instanceof assert.AssertionError) throw error;
    assert.match((error as Error).message, /(journal|snapshot)-0/, `the refusal names the file: ${error}`);
    return true;
  }
  return false;
}

/** The state that a new process finds, and its own additions. It is killed, too. */
function comeBack(directory: string, expected: Buffer, more: readonly Row[]): void {
  const journal = openJournal(directory);
  try {
    const { engine } = recover(journal, directory, SHARD, () => engineWith(journal));
    checkInvariants(engine.state);
    assert.ok(stateOf(engine).equals(expected), 'the state is what it was');
    append(journal, more);
  } finally {
    journal.close();
  }
}

function makeHistory(kind: Kind): History {
  const directory = join(root, kind);
  mkdirSync(directory);
  const rig = new EngineRig();
  const progress = Progress.create(1);
  const maker = new SnapshotMaker({
    keys: [TEST_KEY],
    journalPaths: [join(directory, 'journal-0.db')],
    directory,
    progress,
    everyRecords: 1,
    keepRecords: 0,
    hashesInMemory: 2 ** 30,
  });
  let journal = openJournal(directory);
  let written = 0;
  const write = (): void => {
    append(journal, rig.journal.rows.slice(written));
    written = rig.journal.rows.length;
    const cells = new Progress(progress);
    cells.setCommitted(SHARD, written);
    cells.setProjected(SHARD, written);
    cells.setKept(SHARD, written);
  };
  open(rig);
  for (let snapshot = 0; snapshot < 2; snapshot++) {
    trade(rig, 80);
    write();
    if (kind !== 'young') maker.makeDue(true);
  }
  // Trimmed rows leave free pages; some are used again by the rows after the snapshot.
  assert.ok(!journal.trim(new Progress(progress).trimmable(SHARD)));
  trade(rig, 30);
  write();
  // A close brings all there is from the WAL into the file.
  journal.close();
  journal = openJournal(directory);
  if (kind === 'killed') {
    trade(rig, 40);
    write();
  } else {
    journal.close();
  }
  const files = new Map<string, Buffer>();
  for (const name of readdirSync(directory)) {
    if (!name.endsWith('-shm')) files.set(name, readFileSync(join(directory, name)));
  }
  if (kind === 'killed') journal.close();
  const state = stateOf(rig.engine);
  trade(rig, 60);
  return { files, state, more: rig.journal.rows.slice(written), stateAfter: stateOf(rig.engine) };
}

function openJournal(directory: string): Journal {
  return Journal.open({
    journalPath: join(directory, 'journal-0.db'),
    journalSync: 'normal',
    shard: SHARD,
    shards: 1,
    key: TEST_KEY,
  });
}

/** A few rows a commit, as a shard with little to do writes them. */
function append(journal: Journal, rows: readonly Row[]): void {
  for (const [index, row] of rows.entries()) {
    journal.append(row);
    if (index % 4 === 3) journal.commit();
  }
  journal.commit();
}

function open(rig: EngineRig): void {
  rig.market(0);
  rig.market(1, { ticksPerUnit: 1000 });
  for (const account of ACCOUNTS) {
    rig.fund(account, 1_000_000_000);
    rig.convert(account, 0, 50_000_000, MOVEMENT.SPLIT);
  }
}

/** Placing, crossing, cancelling and expiring in two markets. */
function trade(rig: EngineRig, commands: number): void {
  for (let count = 0; count < commands; count++) {
    const [market, account] = [below(2), ACCOUNTS[below(ACCOUNTS.length)]];
    rig.nowMs += 500;
    if (below(12) === 0) rig.cancelMany(account, market);
    else {
      rig.place({
        account,
        market,
        side: market === 0 && below(3) === 0 ? SIDE.SELL : SIDE.BUY,
        outcome: below(2) === 0 ? OUTCOME.YES : OUTCOME.NO,
        ticks: (market === 0 ? 1 : 10) * (45 + below(12)),
        lots: 10_000 * (1 + below(4)),
        timeInForce: below(5) === 0 ? TIME_IN_FORCE.FAK : TIME_IN_FORCE.GTC,
        expirationSec: below(4) === 0 ? Math.floor(rig.nowMs / 1000) + 1 + below(30) : 0,
      });
    }
  }
}

/** Every file, and what SQLite's formats hang on: the header and its schema, the free pages, the WAL's frames. */
function targetsIn(files: Files): Target[] {
  const targets: Target[] = [...files].map(([file, bytes]) => ({ file, from: 0, to: bytes.length }));
  const database = files.get('journal-0.db')!;
  targets.push({ file: 'journal-0.db', from: 0, to: 100 }, { file: 'journal-0.db', from: 100, to: PAGE });
  const freeTrunk = database.readUInt32BE(32);
  if (freeTrunk > 0) {
    const from = (freeTrunk - 1) * PAGE;
    targets.push({ file: 'journal-0.db', from, to: from + 8 + 4 * database.readUInt32BE(from + 4) });
  }
  const wal = files.get('journal-0.db-wal');
  if (wal === undefined) return targets;
  const frames = Math.floor((wal.length - WAL_HEADER) / (FRAME_HEADER + PAGE));
  targets.push({ file: 'journal-0.db-wal', from: 0, to: WAL_HEADER });
  for (const frame of [0, frames - 1]) {
    const from = WAL_HEADER + frame * (FRAME_HEADER + PAGE);
    targets.push({ file: 'journal-0.db-wal', from, to: from + FRAME_HEADER });
  }
  return targets;
}
