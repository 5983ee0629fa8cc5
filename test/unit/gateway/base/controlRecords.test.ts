/** control.db of a following member: the same answers as the leading member's. */
import assert from 'node:assert/strict';
import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Database } from 'better-sqlite3';
import { parseConfig } from '../../../../gateway/base/config.ts';
import { emptyControlDatabase, openControlDatabase } from '../../../../gateway/base/database.ts';
import { CONTROL_TABLES, isLocalRow } from '../../../../gateway/base/recordedTables.ts';
import { type Control, openControl } from '../../../../gateway/wiring/control.ts';
import { ACCOUNT_STATE } from '../../../../shared/base/codes.ts';
import { FORMATS } from '../../../../shared/base/formats.ts';
import type { HeldLog } from '../../../../shared/records/heldLog.ts';
import { type FileRecord, RecordedFile } from '../../../../shared/records/recordedFile.ts';
import { writtenTable } from '../../../../shared/records/statements.ts';
import { actAtRandom, aheadOf, answersOf } from '../../../support/controlActs.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { Random } from '../../../support/random.ts';
import { seedOr, timesOf } from '../../../support/seeds.ts';

const LAYOUT = FORMATS.control.newest;
/** Before the table of triggered switches. */
const OLDER = 22;
const TURNS = timesOf({ suite: 300, soak: 5000 });
const ENV = { DEV_MODE: 'true', MASTER_KEY: '5'.repeat(64) };

/** The log as far as control.db knows it: it holds everything at once, unless a test says otherwise. */
class Log implements HeldLog {
  readonly records: FileRecord[] = [];
  heldSequence = Number.POSITIVE_INFINITY;
  readonly waiting: PromiseWithResolvers<void>[] = [];
  put(sequence: number, bytes: Uint8Array): void {
    this.records.push({ sequence, bytes });
  }
  held(): number {
    return Math.min(this.heldSequence, this.records.at(-1)?.sequence ?? 0);
  }
  whenHeld(): Promise<void> {
    const wanted = Promise.withResolvers<void>();
    this.waiting.push(wanted);
    return wanted.promise;
  }
}

function open(dataDir: string, cluster: { isFollowing: boolean } | null): Control {
  return openControl(parseConfig({ ...ENV, DATA_DIR: dataDir }, 2), cluster);
}

function close({ changes, database }: Control): void {
  changes.close();
  database.close();
}

/** A leading member, and one that follows from a copy of its files. */
function pair(t: TestContext, layout: number = LAYOUT) {
  const [ledDir, followingDir] = [temporaryDirectory(), temporaryDirectory()];
  close(open(ledDir, { isFollowing: false }));
  cpSync(ledDir, followingDir, { recursive: true });
  const led = open(ledDir, { isFollowing: false });
  const following = open(followingDir, { isFollowing: true });
  const log = new Log();
  led.records!.lead(log, layout);
  t.after(() => {
    for (const each of [led, following]) close(each);
  });
  return { led, following, log, followingDir };
}

test('after any changes a member that follows answers as the one that leads, and as a fresh start', (t) => {
  const seed = seedOr(17);
  t.diagnostic(`seed ${seed}`);
  const random = new Random(seed);
  const { led, following, log, followingDir } = pair(t);
  let applied = 0;
  const turns = timesOf({ suite: 500, soak: 10_000 });
  for (let turn = 0; turn < turns; turn++) {
    actAtRandom(led, random, turn);
    if (random.below(20) > 0 && turn < turns - 1) continue;
    for (; applied < log.records.length; applied++) following.records!.apply(log.records[applied]!);
    if (random.below(8) > 0 && turn < turns - 1) continue;
    const expected = answersOf(led, turn);
    const actual = answersOf(following, turn);
    for (const store of Object.keys(expected)) assert.deepEqual(actual[store], expected[store], `${store}, ${turn}`);
  }
  assert.ok(log.records.length > turns / 3, 'the stores have written');
  const ahead = aheadOf(following);
  close(following);
  const again = open(followingDir, { isFollowing: true });
  t.after(() => close(again));
  assert.deepEqual(aheadOf(again), ahead);
  assert.ok(ahead.some((timestampSec) => timestampSec > 0));
  const expected = answersOf(led, turns);
  const actual = answersOf(again, turns);
  for (const store of Object.keys(expected)) assert.deepEqual(actual[store], expected[store], `${store}, restarted`);
});

test('all that the first start of the first member writes is in records, from the key of the journals on', (t) => {
  const first = open(temporaryDirectory(), { isFollowing: false });
  const log = new Log();
  first.records!.lead(log, LAYOUT);
  const database = emptyControlDatabase(LAYOUT);
  t.after(() => {
    close(first);
    database.close();
  });
  // Nothing but these records, as a log has them that no member has trimmed.
  const following = new RecordedFile({ database, isFollowing: true, isLocal: isLocalRow });
  assert.ok(log.records.length > 0, 'a change that comes later is not waited for');
  for (const record of log.records) following.apply(record);
  for (const sql of ['SELECT * FROM session_keys', "SELECT value FROM platform WHERE key = 'journal_key'"]) {
    const rows = first.database.prepare(sql).all();
    assert.equal(rows.length, 1);
    assert.deepEqual(database.prepare(sql).all(), rows);
  }
});

test('an account whose wallet stays after all, or that is active again, is unswept only for the other reason', (t) => {
  const { led, following, log } = pair(t);
  const { FROZEN, ACTIVE } = ACCOUNT_STATE;
  const states = led.accountStates;
  const fields = { displayName: 'A', email: null, role: 'user', referralCode: null, wallet: null };
  const accounts = [1, 2, 3, 4].map((time) => led.accounts.signUp(fields, time).index);
  const [stays, swept, active, both] = accounts as [number, number, number, number];
  states.setLeaving(stays, true, 1);
  states.setLeaving(stays, false, 2);
  states.set(swept, FROZEN, 1);
  states.swept(swept);
  states.setLeaving(swept, true, 2);
  states.setLeaving(swept, false, 3);
  states.setLeaving(active, true, 1);
  states.swept(active);
  states.set(active, FROZEN, 2);
  states.set(active, ACTIVE, 3);
  states.set(both, FROZEN, 1);
  states.setLeaving(both, true, 2);
  states.setLeaving(both, false, 3);
  for (const record of log.records) following.records!.apply(record);
  assert.deepEqual(states.unswept(), [both]);
  assert.deepEqual(following.accountStates.unswept(), [both]);
  assert.deepEqual(
    accounts.map((account) => states.of(account)),
    [ACTIVE, FROZEN, FROZEN, FROZEN],
  );
});

test('every table of control.db is a record or local, and every recorded key has its columns', (t) => {
  const database = openControlDatabase(join(temporaryDirectory(), 'control.db'));
  t.after(() => database.close());
  const select = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name";
  const made = ['record_end', 'record_queue', 'record_undo'];
  const tables = [...(database.prepare(select).pluck().all() as string[]), ...made].sort();
  assert.deepEqual(Object.keys(CONTROL_TABLES).sort(), tables);
  for (const [table, each] of Object.entries(CONTROL_TABLES)) {
    if (each === 'local') continue;
    const columns = database.prepare(`SELECT name FROM pragma_table_info(?)`).pluck().all(table);
    for (const column of each.key) assert.ok(columns.includes(column), `${table}.${column}`);
  }
  assert.ok(isLocalRow('platform', 'journal_heads') && isLocalRow('platform', 'audit_head'));
  assert.ok(!isLocalRow('platform', 'paused'));
});

test('an answer waits until the log holds the change', async (t) => {
  const { led, log } = pair(t);
  const before = led.records!.sequence;
  log.heldSequence = before;
  assert.equal(led.records!.isHeld, true);
  led.platform.setPaused(true);
  assert.equal(led.records!.isHeld, false);
  let isDurable = false;
  const durable = led.changes.durable().then(() => {
    isDurable = true;
  });
  await led.changes.synced();
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(isDurable, false);
  log.heldSequence = before + 1;
  for (const each of log.waiting) each.resolve();
  await durable;
  assert.equal(led.changes.isDurable, true);
});

test('a file of a cluster is not opened without the cluster', () => {
  const dataDir = temporaryDirectory();
  close(open(dataDir, { isFollowing: false }));
  assert.throws(() => open(dataDir, null), /JOURNAL=postgres/);
  close(open(dataDir, { isFollowing: false }));
});

/** Functions and forms whose result is not the same wherever a statement is run again. */
const CHANGING = /\brandom\w*\(|\b(?:date|time|datetime|julianday|unixepoch|strftime)\s*\(|\bCURRENT_\w+|\bchanges\(/i;

test('a statement that writes does the same wherever it is run', () => {
  const folder = new URL('../../../../gateway/', import.meta.url);
  let count = 0;
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const text = name.endsWith('.ts') ? readFileSync(new URL(name, folder), 'utf8') : '';
    if (!/\bControlDatabase\b/.test(text)) continue;
    for (const [, quoted] of text
      .matchAll(/(['`"])\s*(?:INSERT|UPDATE|DELETE)\b[\s\S]*?\1/g)
      .map((m) => [m[1], m[0]])) {
      const sql = quoted!.slice(1, -1);
      if (!/^\s*(?:INSERT (?:OR \w+ )?INTO|UPDATE|DELETE FROM) \w/.test(sql)) continue;
      count++;
      assert.ok(CONTROL_TABLES[writtenTable(sql)] !== undefined, `${name}: ${sql}`);
      assert.doesNotMatch(sql, CHANGING, name);
      if (/\bLIMIT\b/i.test(sql)) assert.match(sql, /ORDER BY[\s\S]*LIMIT/i, name);
    }
  }
  assert.ok(count > 60, `${count} statements were found`);
});

/** Files of other versions repeat what this one leads: each with its tables. */
const OTHERS: readonly { readonly of: string; readonly layout: number; readonly tables: () => Database }[] = [
  { of: 'a later version, which has more columns,', layout: LAYOUT, tables: laterTables },
  { of: 'the version before the last migrations', layout: OLDER, tables: () => emptyControlDatabase(OLDER) },
];

function laterTables(): Database {
  const database = emptyControlDatabase(LAYOUT);
  for (const [table, each] of Object.entries(CONTROL_TABLES)) {
    if (each !== 'local') database.exec(`ALTER TABLE ${table} ADD COLUMN later TEXT NOT NULL DEFAULT ''`);
  }
  return database;
}

/** With the content that the file of a first member has before it leads. */
function memberWith(raw: Database, firstFile: string): RecordedFile {
  raw.exec(readFileSync(new URL('../../../../data/schema/records.sql', import.meta.url), 'utf8'));
  raw.pragma('foreign_keys = OFF');
  raw.exec(`ATTACH '${firstFile}' AS first`);
  const tables = "SELECT name FROM first.sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
  for (const table of raw.prepare<[], string>(tables).pluck().all()) {
    const columns = raw
      .prepare("SELECT name FROM pragma_table_info(?, 'main') WHERE name <> 'later'")
      .pluck()
      .all(table);
    if (columns.length === 0) continue;
    raw.exec(`DELETE FROM main.${table}`);
    raw.exec(`INSERT INTO main.${table} (${columns}) SELECT ${columns} FROM first.${table}`);
  }
  raw.exec('DETACH first');
  raw.pragma('foreign_keys = ON');
  return new RecordedFile({ database: raw, isFollowing: true, isLocal: isLocalRow });
}

for (const { of, layout, tables } of OTHERS) {
  test(`RECORDS-8: a member of ${of} repeats what one of this version leads for it`, (t) => {
    const seed = seedOr(18);
    t.diagnostic(`seed ${seed}`);
    const random = new Random(seed);
    const dataDir = temporaryDirectory();
    close(open(dataDir, { isFollowing: false }));
    const raw = tables();
    const other = memberWith(raw, join(dataDir, 'control.db'));
    const led = open(dataDir, { isFollowing: false });
    t.after(() => {
      close(led);
      raw.close();
    });
    const log = new Log();
    led.records!.lead(log, layout);
    let refused = 0;
    for (let turn = 0; turn < TURNS; turn++) {
      try {
        actAtRandom(led, random, turn);
      } catch (error) {
        assert.match(
          String(error),
          /RECORDS-8: the cluster has to be raised first .*(?:no such table|no column named)/,
        );
        refused++;
      }
    }
    for (const record of log.records) other.apply(record);
    assert.ok(log.records.length > TURNS / 3, 'the stores have written');
    assert.equal(refused > 0, layout < LAYOUT, `${refused} changes need tables that it does not have`);
  });
}

test('between the oldest tables that a lead writes and the newest, migrations only add what may be left out', (t) => {
  type Column = { name: string; type: string; notnull: number; dflt_value: unknown; pk: number };
  const tablesOf = (layout: number): ReadonlyMap<string, { columns: Column[]; unique: unknown[] }> => {
    const raw = emptyControlDatabase(layout);
    t.after(() => raw.close());
    const names = raw.prepare<[], string>("SELECT name FROM sqlite_master WHERE type = 'table'").pluck().all();
    const indexes = 'SELECT name, origin FROM pragma_index_list(?) WHERE "unique" ORDER BY name';
    return new Map(
      names.map((name) => {
        const columns = raw.pragma(`table_info(${name})`) as Column[];
        return [name, { columns, unique: raw.prepare(indexes).all(name) }];
      }),
    );
  };
  const newest = tablesOf(LAYOUT);
  // Also of the version before two tables: it had such a migration.
  for (const layout of [OLDER, FORMATS.control.oldest]) {
    for (const [name, { columns, unique }] of tablesOf(layout)) {
      const now = newest.get(name)!;
      assert.deepEqual(now.columns.slice(0, columns.length), columns, `columns of ${name}`);
      assert.deepEqual(now.unique, unique, `what is unique in ${name}`);
      const added = now.columns.slice(columns.length);
      for (const column of added)
        assert.ok(column.notnull === 0 || column.dflt_value !== null, `${name}.${column.name}`);
    }
  }
});

test('a member that found an empty log follows when another one was first', (t) => {
  const [firstDir, otherDir] = [temporaryDirectory(), temporaryDirectory()];
  close(open(firstDir, { isFollowing: false }));
  cpSync(firstDir, otherDir, { recursive: true });
  const [first, other] = [firstDir, otherDir].map((dataDir) => open(dataDir, { isFollowing: false }));
  t.after(() => {
    for (const each of [first!, other!]) close(each);
  });
  const log = new Log();
  first!.records!.lead(log, LAYOUT);
  first!.platform.setPaused(true);
  for (const record of log.records) other!.records!.apply(record);
  assert.equal(other!.platform.paused, true);
  assert.throws(() => other!.platform.setPaused(false), /RECORDS-3/);
});
