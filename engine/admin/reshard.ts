/**
 * `admin reshard N`: divides the markets of a stopped exchange among N shards (README.md).
 *
 * Invariants:
 *   RESHARDING-1  Until the plan has its name, the data directory is as it was. From then on the new side counts: no
 *                 exchange starts, and the same command goes on, as often as it is interrupted.
 *   RESHARDING-2  Every step after that can be repeated, and nothing is deleted: the files of before move into a
 *                 folder.
 *   RESHARDING-3  Records go on above every old record, numbers above a floor above every old number.
 */
import { existsSync, mkdirSync, readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import type Database from 'better-sqlite3';
import { assert } from '../../shared/base/assert.ts';
import { FLOORS, floorAt, readFloors } from '../../shared/base/floors.ts';
import { uuidToBytes } from '../../shared/base/hex.ts';
import { dropRoom } from '../../shared/base/keptRoom.ts';
import { openDatabase } from '../../shared/base/openDatabase.ts';
import { RESHARDINGS } from '../../shared/base/resharding.ts';
import { MAX_SHARDS } from '../../shared/base/sharding.ts';
import { syncDirectory } from '../../shared/base/syncDirectory.ts';
import { readJournalKey } from '../../shared/crypto/journalKeyFile.ts';
import { UnfinishedError } from '../core/resharding.ts';
import type { ShardState } from '../core/state.ts';
import { JournalReader } from '../journal/reader.ts';
import { JournalHead } from '../journal/row.ts';
import { ShardKey } from '../journal/shardKey.ts';
import { newestState } from '../snapshot/replica.ts';
import {
  AdminError,
  listShards,
  openMasterKey,
  requireAlone,
  type ShardFile,
  withExclusiveDirectory,
} from './directory.ts';
import { replaceHeads, withKnownHeads } from './heads.ts';
import { inspectShard } from './inspect.ts';
import { catchUp } from './projections.ts';
import { baseOf, divide, oldStates, requireSameMoney, timeOf, writeJournals } from './reshardedFiles.ts';
import { reshardReadDb } from './reshardedRows.ts';
import {
  beginStaging,
  endStaging,
  type NotedCut,
  type ReshardPlan,
  readPlan,
  stagingOf,
  writePlan,
} from './reshardPlan.ts';

/** Names of the files of shards in a data directory, and of the folder of private frames. */
const OF_SHARDS = /^(journal-\d+\.(db|db-wal|db-shm|mark)|snapshot-\d+-\d+\.bin|hashes-\d+-[0-9a-f]{16}\.run|private)$/;

type Print = (line: string) => void;
/** Called between two steps: a test ends the process there. */
type Step = (name: string) => void;

export async function reshard(
  directory: string,
  shards: number,
  print: Print,
  nowMs: number,
  step: Step = () => undefined,
): Promise<void> {
  const plan = readPlan(directory);
  if (plan !== null && plan.shards !== shards)
    throw new AdminError(`${directory}: a reshard to ${plan.shards} shards was interrupted: finish that one first`);
  const files = plan === null ? await withKnownHeads(await listShards(directory)) : [];
  await withExclusiveDirectory(directory, async (control) => {
    if (control === null) throw new AdminError(`${directory}: control.db is missing: put it back`);
    if (plan === null) await prepare(directory, files, shards, control, print, nowMs, step);
    await finish(directory, control, readPlan(directory)!, print, step);
  });
}

/** RESHARDING-1. */
async function prepare(
  directory: string,
  files: readonly ShardFile[],
  shards: number,
  control: Database.Database,
  print: Print,
  nowMs: number,
  step: Step,
): Promise<void> {
  requireAlone(control, directory, 'the number of shards of a cluster cannot be changed');
  if (shards < 1 || shards > MAX_SHARDS) throw new AdminError(`there can be 1 to ${MAX_SHARDS} shards`);
  if (shards === files.length) throw new AdminError(`${directory} has ${shards} shards already`);
  if (existsSync(join(directory, 'settlement.db')))
    throw new AdminError(`${directory} settles on a chain: its number of shards cannot be changed yet`);
  for (const file of files) {
    const { problem } = inspectShard(file);
    if (problem !== null) throw new AdminError(`${problem.text}: see \`npm run admin -- journal verify\``);
  }
  catchUp(files, print);
  const staging = beginStaging(directory);
  step('staging');
  const { replicas, ends } = oldStates(files);
  const base = baseOf(ends, shards);
  const journalKey = readJournalKey(directory, openMasterKey(directory));
  const keys = await Promise.all(Array.from({ length: shards }, (_, shard) => ShardKey.create(journalKey, shard)));
  const floors = readFloors(textOf(control, FLOORS));
  const timeMs = timeOf(replicas);
  const floor = floorAt(nowMs, timeMs, floors);
  try {
    const states = await divide(files, replicas, base, staging, keys, setsOf(control));
    step('divided');
    writeJournals(states, base, timeMs, floor, staging, keys);
    step('written');
    requireSameMoney(
      replicas.map(({ engine }) => engine.state),
      statesAt(staging, keys, base),
    );
  } catch (error) {
    if (error instanceof UnfinishedError)
      throw new AdminError(`${error.message}: start the exchange, and stop it in order`);
    throw error;
  }
  for (const { journalPath } of files) closeLog(journalPath);
  const kept = `resharded-${base.sequence}`;
  const old = readdirSync(directory).filter((name) => OF_SHARDS.test(name));
  const fresh = readdirSync(staging).filter((name) => OF_SHARDS.test(name));
  const { chainLow, chainHigh, sequence } = base;
  writePlan(directory, {
    ...{ before: files.length, shards, base: sequence, chainLow, chainHigh, timeMs, floor, kept, old, fresh, ends },
  });
  step('planned');
}

/**
 * The journal is in one file afterwards. Its reserved room is given up: it is the file of the write-ahead log under a
 * second name, so a new journal would write into the log of the old one.
 */
function closeLog(journalPath: string): void {
  const db = openDatabase(journalPath);
  try {
    db.pragma('wal_checkpoint(TRUNCATE)');
  } finally {
    db.close();
  }
  dropRoom(journalPath);
}

async function finish(
  directory: string,
  control: Database.Database,
  plan: ReshardPlan,
  print: Print,
  step: Step,
): Promise<void> {
  const staging = stagingOf(directory);
  const kept = join(directory, plan.kept);
  if (!existsSync(kept)) mkdirSync(kept, { mode: 0o700 });
  // A name of the old side is also one of the new side: it moves only while the new one waits in its folder.
  const waiting = new Set(readdirSync(staging));
  const isNew = (name: string): boolean => plan.fresh.includes(name) && !waiting.has(name);
  for (const name of plan.old) {
    const path = join(directory, name);
    if (existsSync(path) && !existsSync(join(kept, name)) && !isNew(name)) renameSync(path, join(kept, name));
  }
  syncDirectory(kept);
  syncDirectory(directory);
  step('moved');
  for (const name of plan.fresh) {
    if (existsSync(join(staging, name))) renameSync(join(staging, name), join(directory, name));
    step(`placed ${name}`);
  }
  syncDirectory(directory);
  const journalKey = readJournalKey(directory, openMasterKey(directory));
  const keys = await Promise.all(Array.from({ length: plan.shards }, (_, shard) => ShardKey.create(journalKey, shard)));
  const base = new JournalHead(plan.base, plan.chainLow, plan.chainHigh);
  const states = statesAt(directory, keys, base);
  reshardReadDb(join(directory, 'read.db'), {
    before: plan.before,
    states,
    heads: keys.map(() => base),
    timeMs: plan.timeMs,
  });
  step('read.db');
  note(directory, control, plan, endsOf(directory, keys));
  step('control.db');
  endStaging(directory);
  print(`${directory} has ${plan.shards} shards; the files of before are in ${kept}`);
}

/** The states with which the new journals begin. */
function statesAt(directory: string, keys: readonly ShardKey[], base: JournalHead): ShardState[] {
  return keys.map((key, shard) => {
    const replica = newestState({ directory, shard, key }, base.sequence + 1, base.sequence);
    if (replica === null || !replica.head.equals(base))
      throw new AdminError(`${directory}: the snapshot of shard ${shard} at record ${base.sequence} cannot be used`);
    return replica.engine.state;
  });
}

function endsOf(directory: string, keys: readonly ShardKey[]): JournalHead[] {
  return keys.map((key, shard) => {
    const reader = new JournalReader(join(directory, `journal-${shard}.db`), key);
    try {
      return reader.headAfter(reader.facts().lastSequence);
    } finally {
      reader.close();
    }
  });
}

/** RESHARDING-2: in one transaction, and only once. */
function note(directory: string, control: Database.Database, plan: ReshardPlan, heads: readonly JournalHead[]): void {
  const cuts: NotedCut[] = JSON.parse(textOf(control, RESHARDINGS) ?? '[]');
  if (cuts.some(({ base }) => base === plan.base)) return;
  const write = control.prepare(
    'INSERT INTO platform (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value',
  );
  control.transaction(() => {
    const { before, shards, base, floor, kept, ends } = plan;
    write.run('shards', String(shards));
    const lastAccount = control.prepare<[], number | null>('SELECT max(account_index) FROM users').pluck().get() ?? 0;
    const records = heads.map(() => base + 1);
    write.run(FLOORS, JSON.stringify([...readFloors(textOf(control, FLOORS)), { floor, records, lastAccount }]));
    write.run(RESHARDINGS, JSON.stringify([...cuts, { before, shards, base, floor, kept, ends }]));
    replaceHeads(control, directory, heads);
    control.exec('DELETE FROM cancelled_shards');
    moveReadMarks(control, before, shards);
  })();
  control.pragma('wal_checkpoint(TRUNCATE)');
  dropRoom(control.name);
}

/** Marks have the records of each shard, and then the number of a notice. */
function moveReadMarks(control: Database.Database, before: number, shards: number): void {
  const rows = control
    .prepare<[], { account: number; readMs: number; through: string }>(
      'SELECT account_index AS account, read_ms AS readMs, through FROM read_marks',
    )
    .all();
  const update = control.prepare('UPDATE read_marks SET through = ? WHERE account_index = ? AND read_ms = ?');
  for (const { account, readMs, through } of rows) {
    const heads: number[] = JSON.parse(through);
    const notice = heads.at(-1) ?? 0;
    const moved = Array.from({ length: shards }, (_, shard) => (shard < before ? (heads[shard] ?? 0) : 0));
    update.run(JSON.stringify([...moved, notice]), account, readMs);
  }
  control.prepare('UPDATE single_reads SET source = -1 WHERE source = ?').run(before);
  control.prepare('DELETE FROM single_reads WHERE source >= ?').run(shards);
  control.prepare('UPDATE single_reads SET source = ? WHERE source = -1').run(shards);
}

/** RULES.md 19.1: the id of the event decides the shard of its markets. */
function setsOf(control: Database.Database): Map<number, Uint8Array> {
  const rows = control
    .prepare<[], { market: number; event: string }>(
      `SELECT market_index AS market, events.id AS event FROM markets JOIN events ON events.id = markets.event_id
         WHERE events.details ->> '$.winners' = 1`,
    )
    .all();
  return new Map(
    rows.map(({ market, event }) => {
      const id = new Uint8Array(16);
      assert(uuidToBytes(event, id, 0), 'reshard: the id of an event is a UUID');
      return [market, id];
    }),
  );
}

function textOf(control: Database.Database, key: string): string | undefined {
  return control.prepare<[string], string>('SELECT value FROM platform WHERE key = ?').pluck().get(key);
}
