/** Private frames of several shards in the order of the replicated log (PRIVATEORDER-1 to 4). */
import assert from 'node:assert/strict';
import { writeSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createLogger } from '../../../../gateway/base/log.ts';
import { OrderedIntake } from '../../../../gateway/stream/orderedIntake.ts';
import type { PrivateLog } from '../../../../gateway/stream/privateLog.ts';
import type { PrivateTailPage } from '../../../../gateway/stream/privateTailQueries.ts';
import type { OrderedRow } from '../../../../shared/wire/logOrder.ts';
import { PRIVATE_FRAME } from '../../../../shared/wire/privateRecord.ts';
import { STREAM } from '../../../../shared/wire/replication.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { eventually } from '../../../support/eventually.ts';
import { openLog, replayed, writeFrame } from '../../../support/privateFrames.ts';
import { seededRandom } from '../../../support/random.ts';
import { seedOr } from '../../../support/seeds.ts';

const ANN = 1;
const BOB = 2;
const SHARDS = 2;
const SEED = seedOr(20_261_125);
/** A page of the read model. */
const PAGE_RECORDS = 3;

/** The accounts of the frames of each record of a row. */
type Row = OrderedRow & { readonly records: readonly (readonly number[])[] };

/** Frame f of record r of shard s. */
const nameOf = (shard: number, record: number, frame: number): number => shard * 1_000_000 + record * 100 + frame;

/** The replicated log: what every member follows. */
class History {
  readonly rows: Row[] = [];
  readonly ends = [0, 0];

  add(stream: number, ...records: readonly (readonly number[])[]): Row {
    if (stream < SHARDS) this.ends[stream]! += records.length;
    const sequence = this.ends[stream] ?? this.rows.length;
    const row = { stream, sequence, position: this.rows.length + 1, records };
    this.rows.push(row);
    return row;
  }

  addRandom(random: () => number): Row {
    const stream = random() < 0.1 ? STREAM.CONTROL : Math.floor(random() * SHARDS);
    if (stream === STREAM.CONTROL) return this.add(stream);
    const count = 1 + Math.floor(random() * 3);
    const accounts = (): number[] => [ANN, BOB, ANN, BOB].filter(() => random() < 0.4);
    return this.add(stream, ...Array.from({ length: count }, accounts));
  }

  /** The records of a row, with the accounts of their frames. */
  static recordsOf({ sequence, records }: Row): [number, readonly number[]][] {
    return records.map((accounts, at) => [sequence - records.length + 1 + at, accounts]);
  }

  framesOf(account: number): number[] {
    return this.rows.flatMap((row) =>
      History.recordsOf(row).flatMap(([record, accounts]) =>
        accounts.flatMap((of, at) => (of === account ? [nameOf(row.stream, record, at)] : [])),
      ),
    );
  }
}

class Member {
  readonly log: PrivateLog;
  readonly intake: OrderedIntake;
  readonly numbered: number[] = [];
  isDiskFull = false;
  pages = 0;
  looks = 0;
  readonly #history: History;
  #names: OrderedRow[] = [];

  constructor(history: History, directory: string, maxWaiting?: number) {
    this.#history = history;
    const write = ((fd: number, bytes: Uint8Array, offset: number, length: number, position: number) => {
      if (this.isDiskFull) throw new Error('ENOSPC');
      return writeSync(fd, bytes, offset, length, position);
    }) as typeof writeSync;
    this.log = openLog(directory, { write });
    this.intake = new OrderedIntake({
      log: this.log,
      source: { privateTail: (shard, from, through) => this.#page(shard, from, through) },
      shards: SHARDS,
      progress: { setLogged: () => undefined },
      logger: createLogger('silent'),
      onCommitted: () => undefined,
      order: {
        // Read before each sync as well, whether events come or not.
        read: (rows) => {
          this.looks++;
          rows.push(...this.#names.splice(0));
        },
      },
      onNumbered: (position) => this.numbered.push(position),
      ...(maxWaiting === undefined ? {} : { maxWaiting }),
    });
  }

  /** The journals here end with the first `count` rows. The rest of the log is yet to come. */
  begin(count: number): void {
    const local = this.#history.rows.slice(0, count);
    const ends = [0, 1].map((shard) => local.findLast(({ stream }) => stream === shard)?.sequence ?? 0);
    const first = this.#history.rows.findIndex(
      ({ stream, sequence }) => stream < SHARDS && sequence > this.intake.doneThrough(stream),
    );
    for (const [shard, end] of ends.entries()) this.intake.resumed(shard, end);
    this.name(...this.#history.rows.slice(first < 0 ? count : Math.min(first, count), count));
    this.intake.flush();
  }

  /** The replication thread names rows. */
  name(...rows: readonly OrderedRow[]): void {
    this.#names.push(...rows.map(({ stream, sequence, position }) => ({ stream, sequence, position })));
  }

  /** A shard publishes the events of a row, except the last ones. */
  pass(row: Row, omitted = 0): void {
    const records = History.recordsOf(row);
    for (const [record, accounts] of omitted === 0 ? records : records.slice(0, -omitted)) {
      for (const [at, account] of accounts.entries()) {
        writeFrame(this.intake.append(row.stream, record, account), row.stream, record, nameOf(row.stream, record, at));
      }
    }
    if (omitted === 0) this.intake.published(row.stream, row.sequence);
    this.intake.flush();
  }

  /** The frames of the account, in their order. */
  frames(account: number): number[] {
    const frames = replayed(this.log, account);
    assert.deepEqual(
      frames.map(({ userSequence }) => userSequence),
      frames.map((_, at) => (frames[0]?.userSequence ?? 0) + at),
    );
    return frames.map(({ name }) => name);
  }

  async assertComplete(): Promise<void> {
    for (const account of [ANN, BOB]) {
      const owed = this.#history.framesOf(account);
      await eventually(`${owed.length} frames`, async () => this.frames(account).length >= owed.length);
      assert.deepEqual(this.frames(account), owed);
    }
  }

  /** The read model has the whole journal. */
  async #page(shard: number, from: number, through: number): Promise<PrivateTailPage> {
    this.pages++;
    const found = this.#history.rows
      .filter(({ stream }) => stream === shard)
      .flatMap((row) => History.recordsOf(row))
      .filter(([record, accounts]) => record >= from && record <= through && accounts.length > 0);
    const page = found.slice(0, PAGE_RECORDS);
    return {
      start: 1,
      records: page.map(([shardSequence, accounts]) => ({
        shardSequence,
        frames: framesOf(shard, shardSequence, accounts),
      })),
      isLast: page.length === found.length,
    };
  }
}

function framesOf(shard: number, record: number, accounts: readonly number[]): Uint32Array {
  const words = new Uint32Array(accounts.length * PRIVATE_FRAME.WORDS);
  for (const [at, account] of accounts.entries()) {
    const word = at * PRIVATE_FRAME.WORDS;
    words[word + PRIVATE_FRAME.account] = account;
    writeFrame({ words, word }, shard, record, nameOf(shard, record, at));
  }
  return words;
}

function begin(t: TestContext, history: History, directory = temporaryDirectory(), maxWaiting?: number): Member {
  const member = new Member(history, directory, maxWaiting);
  t.after(() => member.intake.close());
  return member;
}

test('frames of two shards have the order of the log, whichever shard publishes first', (t) => {
  const history = new History();
  const first = history.add(0, [ANN], [BOB]);
  const second = history.add(1, [ANN]);
  const third = history.add(0, [ANN]);
  const member = begin(t, history);
  member.begin(0);
  member.name(first, second, third);
  member.pass(second);
  assert.deepEqual(member.frames(ANN), []);
  member.pass(first, 1);
  assert.deepEqual(member.frames(ANN), [], 'the row has not come to its end');
  member.pass({ ...first, records: first.records.slice(1) });
  assert.deepEqual(member.frames(ANN), [nameOf(0, 1, 0), nameOf(1, 1, 0)]);
  member.pass(third);
  assert.deepEqual(member.frames(ANN), history.framesOf(ANN));
});

test('a row that is not named yet is not written, although its events have come', (t) => {
  const history = new History();
  const row = history.add(0, [ANN]);
  const member = begin(t, history);
  member.begin(0);
  member.pass(row);
  assert.deepEqual(member.frames(ANN), []);
  member.name(row);
  member.intake.flush();
  assert.deepEqual(member.frames(ANN), [nameOf(0, 1, 0)]);
});

test(`members that read their shards in other orders have the same frames (SEED=${SEED})`, async (t) => {
  const random = seededRandom(SEED);
  const history = new History();
  const members = [begin(t, history), begin(t, history, temporaryDirectory(), 4)];
  for (const member of members) member.begin(0);
  const behind = members.map(() => [0, 1].map((): Row[] => []));
  for (let turn = 0; turn < 400; turn++) {
    const row = history.addRandom(random);
    for (const [at, member] of members.entries()) {
      member.name(row);
      if (row.stream < SHARDS) behind[at]![row.stream]!.push(row);
      const queue = behind[at]![random() < 0.5 ? 0 : 1]!;
      while (queue.length > 0 && random() < 0.7) member.pass(queue.shift()!);
    }
    if (random() < 0.1) await nextTurn();
  }
  for (const [at, member] of members.entries())
    for (const queue of behind[at]!) for (const row of queue) member.pass(row);
  for (const member of members) await member.assertComplete();
  assert.equal(members[0]!.pages, 0);
  assert.ok(members[1]!.pages > 0, 'more frames have waited than have room');
});

test(`a member that was killed anywhere goes on with the same numbers (SEED=${SEED})`, async (t) => {
  const random = seededRandom(SEED);
  const history = new History();
  const directory = temporaryDirectory();
  let passed = 0;
  for (let life = 0; life < 12; life++) {
    const member = new Member(history, directory);
    // The journals may have rows whose events this process never saw, and only a part of them was read.
    for (let row = Math.floor(random() * 20); row > 0; row--) history.addRandom(random);
    passed = Math.max(passed, history.rows.length - Math.floor(random() * 3));
    member.begin(passed);
    if (random() < 0.8) await member.intake.settled(5000);
    for (const row of history.rows.slice(passed)) {
      member.name(row);
      if (row.stream < SHARDS) member.pass(row);
    }
    passed = history.rows.length;
    for (let turn = 0; turn < 20; turn++) {
      const row = history.addRandom(random);
      passed++;
      member.name(row);
      const isCutOff = row.records.length > 1 && random() < 0.1;
      if (row.stream < SHARDS) member.pass(row, isCutOff ? 1 : 0);
      if (isCutOff) break;
    }
    await member.intake.close();
  }
  const member = begin(t, history, directory);
  member.begin(history.rows.length);
  await member.assertComplete();
});

test('a log that could not be written goes on where it was', async (t) => {
  const history = new History();
  const member = begin(t, history);
  member.begin(0);
  const rows = [history.add(0, [ANN, BOB]), history.add(1, [ANN]), history.add(0, [ANN])];
  for (const [at, row] of rows.entries()) {
    member.isDiskFull = at > 0;
    member.name(row);
    member.pass(row);
  }
  assert.deepEqual(member.frames(ANN), [nameOf(0, 1, 0)]);
  member.isDiskFull = false;
  await member.assertComplete();
  const after = history.add(1, [BOB], [ANN]);
  member.name(after);
  member.pass(after);
  await member.assertComplete();
});

test('a log that is ahead of the journals keeps its frames, and gives none twice', async (t) => {
  const history = new History();
  const directory = temporaryDirectory();
  const before = new Member(history, directory);
  before.begin(0);
  const rows = [history.add(0, [ANN]), history.add(0, [ANN, BOB], [ANN]), history.add(1, [BOB])];
  before.name(...rows);
  for (const row of rows) before.pass(row);
  await before.intake.close();
  const member = begin(t, history, directory);
  member.begin(1);
  rows.push(history.add(0, [ANN]));
  member.name(...rows.slice(1));
  for (const row of rows.slice(1)) member.pass(row);
  await member.assertComplete();
});

test('the position it reports is one after which a start finds every row that it needs (PRIVATEORDER-4)', async (t) => {
  const history = new History();
  const directory = temporaryDirectory();
  const member = new Member(history, directory);
  member.begin(0);
  member.intake.start();
  const rows = [history.add(0, [ANN]), history.add(1, []), history.add(0, [], []), history.add(STREAM.CONTROL)];
  member.name(...rows);
  for (const row of rows.slice(0, 3)) member.pass(row);
  await eventually('the report', async () => member.numbered.at(-1) === 4);
  await member.intake.close();
  const again = begin(t, history, directory);
  assert.deepEqual([again.intake.doneThrough(0), again.intake.doneThrough(1)], [3, 1]);
});

test('rows of the gateway alone are reported after the rows before them, whatever interrupts it', async (t) => {
  const history = new History();
  const directory = temporaryDirectory();
  const member = new Member(history, directory);
  member.begin(0);
  member.intake.start();
  const row = [history.add(STREAM.CONTROL), history.add(0, [ANN]), history.add(STREAM.ANSWERS)].at(1)!;
  history.add(STREAM.CONTROL);
  member.name(...history.rows);
  await eventually('the report of the first', async () => member.numbered.length > 0);
  // The process ends before the events of the second have come.
  await member.intake.close();
  assert.deepEqual(member.numbered, [1]);

  const again = begin(t, history, directory);
  again.begin(1);
  again.intake.start();
  again.name(...history.rows.slice(1));
  again.isDiskFull = true;
  again.pass(row);
  // Nothing is written, so the last two, which have nothing to write, are not reported.
  const { looks } = again;
  await eventually('two syncs', async () => again.looks > looks + 2);
  assert.deepEqual([again.numbered, again.frames(ANN)], [[], []]);
  again.isDiskFull = false;
  await again.assertComplete();
  await eventually('the report of the last', async () => again.numbered.at(-1) === 4);
  assert.deepEqual(again.numbered, [4]);
  await eventually('a row that comes alone later', async () => {
    if (history.rows.length === 4) again.name(history.add(STREAM.CONTROL));
    return again.numbered.at(-1) === 5;
  });
});
