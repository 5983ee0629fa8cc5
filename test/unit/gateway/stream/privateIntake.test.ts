import assert from 'node:assert/strict';
import { writeSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createLogger } from '../../../../gateway/base/log.ts';
import { PrivateIntake } from '../../../../gateway/stream/privateIntake.ts';
import type { PrivateLog } from '../../../../gateway/stream/privateLog.ts';
import type { PrivateTailPage } from '../../../../gateway/stream/privateTailQueries.ts';
import { PRIVATE_FRAME } from '../../../../shared/wire/privateRecord.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { eventually } from '../../../support/eventually.ts';
import { openLog, replayed, writeFrame } from '../../../support/privateFrames.ts';

const ANN = 1;
const BOB = 2;
const SHARD = 0;

/** Frame f of record r is called 100 * r + f. */
const nameOf = (record: number, frame: number): number => 100 * record + frame;

/** A shard whose records say something to these accounts, a read model that has followed it, and the gateway's side. */
class Rig {
  readonly records = new Map<number, number[]>();
  readonly said: string[] = [];
  readonly intake: PrivateIntake;
  readonly log: PrivateLog;
  isDiskFull = false;
  /** Pages are held back while this is unresolved. */
  held: Promise<void> = Promise.resolve();
  start = 1;
  pageRecords = 2;

  constructor(directory: string) {
    const write = ((fd: number, bytes: Uint8Array, offset: number, length: number, position: number) => {
      if (this.isDiskFull) throw new Error('ENOSPC');
      this.said.push('written');
      return writeSync(fd, bytes, offset, length, position);
    }) as typeof writeSync;
    this.log = openLog(directory, { write });
    this.intake = new PrivateIntake({
      log: this.log,
      source: { privateTail: (_shard, from, through) => this.#page(from, through) },
      shards: 2,
      progress: { setLogged: () => undefined },
      logger: createLogger('silent'),
      onCommitted: (accounts) => this.said.push(`notified ${[...accounts].sort()}`),
    });
  }

  /** The shard commits a record; `passed` of its frames come by. */
  record(record: number, accounts: number[], passed = accounts.length): void {
    this.records.set(record, accounts);
    for (const [at, account] of accounts.slice(0, passed).entries()) {
      writeFrame(this.intake.append(SHARD, record, account), SHARD, record, nameOf(record, at));
    }
    this.intake.flush();
  }

  /** The frames that an account can request again, in their order. */
  logged(account: number): number[] {
    const frames = replayed(this.log, account);
    assert.deepEqual(
      frames.map(({ userSequence }) => userSequence),
      frames.map((_, at) => (frames[0]?.userSequence ?? 0) + at),
    );
    return frames.map(({ name }) => name);
  }

  /** All frames, each once, in the order of the journal. */
  owed(account: number): number[] {
    return [...this.records].flatMap(([record, accounts]) =>
      accounts.flatMap((of, at) => (of === account ? [nameOf(record, at)] : [])),
    );
  }

  async assertAllTold(): Promise<void> {
    for (const account of [ANN, BOB]) {
      const owed = this.owed(account);
      await eventually(`${owed.length} frames`, async () => replayed(this.log, account).length >= owed.length);
      assert.deepEqual(this.logged(account), owed);
    }
  }

  async #page(from: number, through: number): Promise<PrivateTailPage> {
    await this.held;
    const found = [...this.records].filter(([record]) => record >= from && record <= through);
    const page = found.slice(0, this.pageRecords);
    return {
      start: this.start,
      records: page.map(([shardSequence, accounts]) => ({ shardSequence, frames: framesOf(shardSequence, accounts) })),
      isLast: page.length === found.length,
    };
  }
}

function framesOf(record: number, accounts: number[]): Uint32Array {
  const words = new Uint32Array(accounts.length * PRIVATE_FRAME.WORDS);
  for (const [at, account] of accounts.entries()) {
    const word = at * PRIVATE_FRAME.WORDS;
    words[word + PRIVATE_FRAME.account] = account;
    writeFrame({ words, word }, SHARD, record, nameOf(record, at));
  }
  return words;
}

function makeRig(t: TestContext, directory = temporaryDirectory()): Rig {
  const rig = new Rig(directory);
  t.after(() => rig.intake.close());
  return rig;
}

test('no account is notified of a frame before it is written (PRIVATEWRITER-1)', async (t) => {
  const rig = makeRig(t);
  rig.intake.resumed(SHARD, 0);
  await nextTurn();
  rig.record(1, [ANN, BOB]);
  rig.record(2, [BOB]);
  assert.deepEqual(rig.said, ['written', 'notified 1,2', 'written', 'notified 2']);
  assert.deepEqual(rig.logged(BOB), [101, 200]);
});

test('committed but unpublished events come first, even the rest of a record, each once (INTAKE-1)', async (t) => {
  const directory = temporaryDirectory();
  const before = new Rig(directory);
  before.intake.resumed(SHARD, 0);
  await nextTurn();
  before.record(1, [ANN, BOB]);
  before.record(2, [ANN, BOB, ANN, ANN], 2);
  await before.intake.close();

  const rig = makeRig(t, directory);
  for (const [record, accounts] of before.records) rig.records.set(record, accounts);
  for (let record = 3; record <= 9; record++) rig.records.set(record, [BOB, ANN]);
  let release = (): void => undefined;
  rig.held = new Promise((resolve) => {
    release = resolve;
  });
  rig.intake.resumed(SHARD, 9);
  rig.record(10, [ANN]);
  rig.record(11, [BOB, BOB]);
  assert.deepEqual(rig.logged(ANN), [100, 200], 'what passes waits for what was before it');
  release();
  await rig.assertAllTold();
  rig.record(12, [ANN]);
  assert.equal(rig.logged(ANN).at(-1), 1200, 'and from then on nothing waits');
  await rig.assertAllTold();
});

test('a shard that dies twice, and a process that dies while it catches up, lose and repeat nothing', async (t) => {
  const directory = temporaryDirectory();
  const first = new Rig(directory);
  for (let record = 1; record <= 7; record++) first.records.set(record, [ANN, BOB]);
  first.intake.resumed(SHARD, 5);
  first.record(6, [ANN, BOB]);
  first.intake.resumed(SHARD, 7);
  await eventually('some of it', async () => first.log.last(ANN) >= 2);
  await first.intake.close();

  const rig = makeRig(t, directory);
  for (const [record, accounts] of first.records) rig.records.set(record, accounts);
  rig.records.set(8, [BOB]);
  rig.intake.resumed(SHARD, 8);
  await rig.assertAllTold();
});

test('a disk that is full for a while costs no account a frame or a number (INTAKE-2)', async (t) => {
  const rig = makeRig(t);
  rig.intake.resumed(SHARD, 0);
  await nextTurn();
  rig.record(1, [ANN, BOB]);
  rig.isDiskFull = true;
  rig.record(2, [ANN, BOB, ANN]);
  rig.record(3, [BOB]);
  assert.deepEqual(rig.logged(BOB), [101], 'what is not written is not sent');
  rig.isDiskFull = false;
  rig.record(4, [ANN]);
  await rig.assertAllTold();
});

test('more than may wait in memory is taken from the read model as well (INTAKE-2)', async (t) => {
  const rig = makeRig(t);
  rig.pageRecords = 1000;
  let release = (): void => undefined;
  rig.held = new Promise((resolve) => {
    release = resolve;
  });
  rig.intake.resumed(SHARD, 0);
  // One frame more than may wait, in the middle of a record.
  const accounts = Array.from({ length: 97 }, (_, at) => (at % 2 === 0 ? ANN : BOB));
  for (let record = 1; record <= 70_000 / 97; record++) rig.record(record, accounts);
  release();
  await eventually('all of it', async () => rig.log.last(BOB) === rig.owed(BOB).length);
  assert.equal(rig.log.last(ANN), rig.owed(ANN).length);
  assert.deepEqual(rig.logged(BOB).slice(-500), rig.owed(BOB).slice(-500));
});

test('records that a power cut undid are logged again under new numbers when they come again', async (t) => {
  const directory = temporaryDirectory();
  const before = new Rig(directory);
  before.intake.resumed(SHARD, 0);
  await nextTurn();
  for (let record = 1; record <= 5; record++) before.record(record, [ANN]);
  await before.intake.close();

  const rig = makeRig(t, directory);
  for (let record = 1; record <= 3; record++) rig.records.set(record, [ANN]);
  rig.intake.resumed(SHARD, 3);
  await eventually('the logged record', async () => rig.log.logged(SHARD).shardSequence === 3);
  await nextTurn();
  rig.record(4, [ANN, ANN]);
  await eventually('the frames', async () => rig.log.last(ANN) === 7);
  assert.deepEqual(rig.logged(ANN), [100, 200, 300, 400, 500, 400, 401]);
});
