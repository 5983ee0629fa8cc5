import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Accounts } from '../../../../gateway/account/accounts.ts';
import { type Origin, ReadMarks, readMsOf } from '../../../../gateway/account/readMarksStore.ts';
import { type ControlDatabase, openControlDatabase } from '../../../../gateway/base/database.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { seededRandom } from '../../../support/random.ts';
import { seedOr } from '../../../support/seeds.ts';

const seed = seedOr(43);
const SHARDS = 2;
const NOTICES = SHARDS;

function open(t: TestContext): ControlDatabase {
  const database = openControlDatabase(join(temporaryDirectory(), 'control.db'));
  t.after(() => database.close());
  // Power cuts are not tested here.
  database.pragma('synchronous = OFF');
  const accounts = new Accounts(database);
  const user = { displayName: null, email: null, role: 'user', referralCode: null, wallet: null };
  for (let account = 1; account <= 2; account++) accounts.signUp(user, 0);
  return database;
}

const origin = (source: number, sequence: number): Origin => ({ id: `${source}/${sequence}`, source, sequence });

test(`RULES.md 14.64: everything keeps the time at which it was first read, over any restart (seed ${seed})`, (t) => {
  const random = seededRandom(seed);
  const below = (n: number): number => Math.floor(random() * n);
  const database = open(t);
  let marks = new ReadMarks(database, SHARDS);
  const all = Array.from({ length: 60 }, (_, i) => origin(i % 3, 1 + Math.floor(i / 3)));
  const readMs = new Map<string, number>();
  const through = [0, 0, 0];
  for (let nowMs = 1; nowMs <= 40; nowMs++) {
    if (below(8) === 0) {
      for (const source of [0, 1, 2]) through[source] = Math.min(20, through[source]! + below(4));
      marks.markAll(1, through, 0, nowMs);
      for (const { id, source, sequence } of all) {
        if (sequence <= through[source]! && !readMs.has(id)) readMs.set(id, nowMs);
      }
    } else {
      const one = all[below(all.length)]!;
      if (!readMs.has(one.id)) {
        marks.markOne(1, one, nowMs);
        readMs.set(one.id, nowMs);
      }
    }
    if (below(4) === 0) marks = new ReadMarks(database, SHARDS);
    for (const one of all) {
      assert.equal(readMsOf(marks.of(1), one), readMs.get(one.id) ?? null, `${one.id} at ${nowMs}`);
      assert.equal(readMsOf(marks.of(2), one), null, 'of another account');
    }
  }
});

test('READMARKS-1: a mark that knows less, and a clock that was set back, make nothing unread', (t) => {
  const database = open(t);
  const marks = new ReadMarks(database, SHARDS);
  marks.markAll(1, [5, 5, 5], 700, 1000);
  marks.markAll(1, [9, 2, 5], 400, 900);
  for (const found of [marks.of(1), new ReadMarks(database, SHARDS).of(1)]) {
    assert.deepEqual(found.marks, [{ readMs: 1000, fromMs: 700, through: [9, 5, 5] }]);
  }
});

test('READMARKS-3: notifications read before stay read beyond the bounds', (t) => {
  const database = open(t);
  const marks = new ReadMarks(database, SHARDS);
  for (let sequence = 1; sequence <= 510; sequence++) marks.markOne(1, origin(1, 2 * sequence), sequence);
  for (const found of [marks.of(1), new ReadMarks(database, SHARDS).of(1)]) {
    assert.equal(found.singles.size, 500);
    assert.deepEqual(
      found.marks.map(({ fromMs, through }) => [fromMs, through]),
      [[0, [0, 20, 0]]],
    );
    for (let sequence = 1; sequence <= 510; sequence++) assert.ok(readMsOf(found, origin(1, 2 * sequence)) !== null);
    assert.equal(readMsOf(found, origin(1, 21)), null);
    assert.equal(readMsOf(found, origin(0, 1)), null);
    assert.equal(readMsOf(found, origin(NOTICES, 1)), null);
  }
  for (let round = 1; round <= 60; round++) marks.markAll(1, [round, 20, 0], 0, 1000 + round);
  for (const found of [marks.of(1), new ReadMarks(database, SHARDS).of(1)]) {
    assert.equal(found.marks.length, 50);
    assert.deepEqual([readMsOf(found, origin(0, 60)), readMsOf(found, origin(0, 1))], [1060, 1011]);
  }
});
