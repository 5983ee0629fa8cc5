import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync, truncateSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { type PrivateLog, REPLAY_PRIVATE } from '../../../../gateway/stream/privateLog.ts';
import { LOG_ENTRY, SEGMENT_HEAD } from '../../../../gateway/stream/privateSegment.ts';
import { crc32c } from '../../../../shared/base/crc32c.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { openLog, replayed, writeFrame } from '../../../support/privateFrames.ts';
import { seededRandom } from '../../../support/random.ts';
import { seedOr } from '../../../support/seeds.ts';

const SEED = seedOr(20_261_121);
const ACCOUNTS = 5;
const ANN = 3;

/** Batches of frames as one shard would publish them, and the frames of each account, kept apart from the log. */
class FrameWriter {
  readonly written: number[][] = Array.from({ length: ACCOUNTS }, () => []);
  shardSequence = 0;
  #names = 0;

  batch(log: PrivateLog, accounts: readonly number[]): boolean {
    this.shardSequence++;
    const before = this.#names;
    for (const account of accounts) writeFrame(log.append(account), 0, this.shardSequence, ++this.#names);
    if (!log.commit()) return false;
    for (const [at, account] of accounts.entries()) this.written[account].push(before + at + 1);
    return true;
  }

  assertKept(log: PrivateLog): void {
    for (const [account, names] of this.written.entries()) {
      assert.equal(log.last(account), names.length);
      for (const after of [0, 1, 63, 64, 65, names.length - 1, names.length]) {
        if (after < 0 || after > names.length) continue;
        const frames = replayed(log, account, after);
        assert.deepEqual(
          frames.map(({ userSequence, name }) => [userSequence, name]),
          names.slice(after).map((name, at) => [after + at + 1, name]),
        );
      }
    }
  }
}

function filesIn(directory: string): string[] {
  return readdirSync(join(directory, 'log')).sort();
}

function newestIn(directory: string): string {
  return join(directory, 'log', filesIn(directory).at(-1)!);
}

test(`user_sequence goes on over restarts, and any frame is found again (PRIVATELOG-1, -3; SEED=${SEED})`, () => {
  const directory = temporaryDirectory();
  const random = seededRandom(SEED);
  const writer = new FrameWriter();
  for (let run = 0; run < 12; run++) {
    const log = openLog(directory, { segmentEntries: 100 });
    writer.assertKept(log);
    assert.deepEqual(log.logged(0).shardSequence, writer.shardSequence);
    for (let i = Math.floor(random() * 20); i >= 0; i--) {
      const accounts = Array.from({ length: 1 + Math.floor(random() * 30) }, () => Math.floor(random() * ACCOUNTS));
      assert.ok(writer.batch(log, accounts));
      assert.deepEqual(log.logged(0), { shardSequence: writer.shardSequence, frames: accounts.length });
    }
    writer.assertKept(log);
    log.close();
  }
  assert.ok(filesIn(directory).length > 5);
});

test('a torn end is cut where it is torn, and what comes then has its numbers and place (PRIVATELOG-4)', () => {
  const directory = temporaryDirectory();
  const log = openLog(directory);
  const writer = new FrameWriter();
  for (let i = 0; i < 4; i++) writer.batch(log, [ANN, ANN]);
  log.close();
  const path = newestIn(directory);
  const whole = readFileSync(path);
  const headBytes = whole.length - 8 * LOG_ENTRY.BYTES;
  for (let length = headBytes; length < whole.length; length += 37) {
    writeFileSync(path, whole);
    truncateSync(path, length);
    assertCutTo(directory, Math.floor((length - headBytes) / LOG_ENTRY.BYTES));
  }
  for (let at = headBytes; at < whole.length; at += 29) {
    const flipped = Buffer.from(whole);
    flipped[at] ^= 1 << (at % 8);
    writeFileSync(path, flipped);
    assertCutTo(directory, Math.floor((at - headBytes) / LOG_ENTRY.BYTES));
  }
});

/** Opens it twice: entries appended after the cut must not make old bytes after them valid again. */
function assertCutTo(directory: string, frames: number): void {
  const cut = openLog(directory);
  assert.equal(cut.last(ANN), frames);
  const logged = { shardSequence: Math.ceil(frames / 2), frames: frames === 0 ? 0 : 2 - (frames % 2) };
  assert.deepEqual(cut.logged(0), logged, 'the logged record says which frames are missing');
  writeFrame(cut.append(ANN), 0, 77, 1000);
  assert.ok(cut.commit());
  cut.close();
  const again = openLog(directory);
  assert.deepEqual(
    replayed(again, ANN).map(({ name }) => name),
    [...Array.from({ length: frames }, (_, at) => at + 1), 1000],
  );
  again.close();
}

test('a file whose head is damaged stops the start: numbers would be given twice', () => {
  const directory = temporaryDirectory();
  openLog(directory).close();
  const path = newestIn(directory);
  const whole = readFileSync(path);
  for (let at = 0; at < whole.length; at++) {
    const flipped = Buffer.from(whole);
    flipped[at] ^= 1;
    writeFileSync(path, flipped);
    assert.throws(() => openLog(directory), /private-\d+\.log is damaged: put a backup/);
  }
});

test(`a batch that cannot be written is not numbered, whatever of it was written (PRIVATELOG-2; SEED=${SEED})`, () => {
  const directory = temporaryDirectory();
  const random = seededRandom(SEED + 1);
  let isFull = false;
  const write = ((fd: number, bytes: Uint8Array, offset: number, length: number, position: number) => {
    if (!isFull) return writeSync(fd, bytes, offset, length, position);
    const some = Math.floor(random() * (length + 1));
    if (some > 0) writeSync(fd, bytes, offset, some, position);
    if (some % 2 === 0 || some === length) throw new Error('ENOSPC');
    return some;
  }) as typeof writeSync;
  const log = openLog(directory, { write, segmentEntries: 500 });
  const writer = new FrameWriter();
  for (let i = 0; i < 300; i++) {
    isFull = random() < 0.4;
    const accounts = Array.from({ length: 1 + Math.floor(random() * 90) }, () => Math.floor(random() * ACCOUNTS));
    const before = log.logged(0).shardSequence;
    assert.equal(writer.batch(log, accounts), !isFull);
    if (isFull) assert.equal(log.logged(0).shardSequence, before);
  }
  writer.assertKept(log);
  log.close();
  const again = openLog(directory);
  writer.assertKept(again);
  again.close();
});

test('a failed batch whose bytes were left in the file is cut at the next start (PRIVATELOG-4)', () => {
  const directory = temporaryDirectory();
  let left = { at: 0, bytes: Buffer.alloc(0) };
  let isFull = false;
  const write = ((fd: number, bytes: Uint8Array, offset: number, length: number, position: number) => {
    if (!isFull) return writeSync(fd, bytes, offset, length, position);
    left = { at: position, bytes: Buffer.from(bytes.slice(offset, offset + length)) };
    throw new Error('ENOSPC');
  }) as typeof writeSync;
  const log = openLog(directory, { write });
  const writer = new FrameWriter();
  assert.ok(writer.batch(log, [ANN, 1, ANN]));
  isFull = true;
  assert.equal(writer.batch(log, [ANN, ANN, 1, ANN]), false);
  isFull = false;
  // The log goes on with other frames than the failed batch, and with fewer.
  assert.ok(writer.batch(log, [1, 1]));
  log.close();

  const path = newestIn(directory);
  const whole = readFileSync(path);
  const bytes = Buffer.concat([whole, left.bytes.subarray(whole.length - left.at)]);
  assert.equal(bytes.length, left.at + 4 * LOG_ENTRY.BYTES, 'two entries of the failed batch follow');
  writeFileSync(path, bytes);
  for (const _ of ['start', 'the next one']) {
    const again = openLog(directory);
    writer.assertKept(again);
    assert.equal(statSync(path).size, whole.length);
    assert.deepEqual(again.logged(0), { shardSequence: writer.shardSequence, frames: 2 });
    again.close();
  }
});

test('files are bounded; what went with the oldest is a gap in the numbers, not an error (PRIVATELOG-5)', () => {
  const directory = temporaryDirectory();
  const log = openLog(directory, { segmentEntries: 64, keepSegments: 3 });
  const writer = new FrameWriter();
  writer.batch(log, [1]);
  for (let i = 0; i < 200; i++) writer.batch(log, [ANN, ANN, ANN]);
  assert.equal(filesIn(directory).length, 4);
  const bytes = filesIn(directory).reduce((sum, name) => sum + statSync(join(directory, 'log', name)).size, 0);
  assert.ok(bytes < 4 * (66 * LOG_ENTRY.BYTES + 1000), `${bytes}`);
  assert.deepEqual(replayed(log, 1), []);
  const frames = replayed(log, ANN);
  assert.ok(frames.length >= 3 * 64, `${frames.length}`);
  assert.equal(frames.at(-1)!.userSequence, 600);
  assert.equal(frames.at(-1)!.userSequence - frames[0].userSequence + 1, frames.length, 'no gap inside');
  log.close();
  const again = openLog(directory, { segmentEntries: 64, keepSegments: 3 });
  assert.equal(again.last(1), 1, 'the number of an account outlives its frames');
  assert.deepEqual(replayed(again, ANN), frames);
  again.close();
});

test('beside many accounts files are longer, so that their heads take a fifth of them (PRIVATELOG-5)', () => {
  const directory = temporaryDirectory();
  const options = { segmentEntries: 64, keepSegments: 40 };
  const [many, most] = [4000, 40 * 64];
  let log = openLog(directory, options);
  let sequence = 0;
  for (let account = 1; account <= many; account++) {
    writeFrame(log.append(account), 0, ++sequence, sequence);
    log.commit();
  }
  for (let frame = 0; frame < 2 * most; frame++) {
    writeFrame(log.append(ANN), 0, ++sequence, sequence);
    log.commit();
    // Half way, what it knows of the newest file is read from the disk.
    if (frame !== most) continue;
    log.close();
    log = openLog(directory, options);
  }
  const bytes = filesIn(directory).reduce((sum, name) => sum + statSync(join(directory, 'log', name)).size, 0);
  assert.ok(bytes < 1.25 * (most + many / 2) * LOG_ENTRY.BYTES, `${bytes} in ${filesIn(directory).length} files`);
  assert.ok(replayed(log, ANN).length >= most, `${replayed(log, ANN).length} frames are kept`);
  for (const account of [1, 2, many - 1, many]) assert.equal(log.last(account), 1, 'the number outlives its frames');
  log.close();
});

test(`the last ${REPLAY_PRIVATE} frames of an account can be asked for again after a restart (RULES.md 8.9)`, () => {
  const directory = temporaryDirectory();
  const log = openLog(directory, { segmentEntries: 3000 });
  const writer = new FrameWriter();
  const batch = [ANN, 0, ANN, 1, ANN];
  while (log.last(ANN) < REPLAY_PRIVATE + 500) writer.batch(log, batch);
  log.close();
  const again = openLog(directory, { segmentEntries: 3000 });
  const frames = replayed(again, ANN);
  assert.equal(frames.length, REPLAY_PRIVATE);
  assert.deepEqual(
    frames.map(({ name }) => name),
    writer.written[ANN].slice(-REPLAY_PRIVATE),
  );
  again.close();
});

test('a logged record that is set stands for the whole record, and gives no account a number', () => {
  const directory = temporaryDirectory();
  const log = openLog(directory);
  const writer = new FrameWriter();
  for (let i = 0; i < 5; i++) writer.batch(log, [ANN]);
  assert.ok(log.setLogged(0, 2));
  log.close();
  const again = openLog(directory);
  assert.equal(again.logged(0).shardSequence, 2);
  assert.ok(again.logged(0).frames > 1_000_000);
  assert.deepEqual(again.logged(1), { shardSequence: 0, frames: 0 });
  writer.assertKept(again);
  again.close();
});

/** The file as version 2 wrote it: the checksum of its head does not begin with the version. */
function toVersion2(path: string): void {
  const words = new Uint32Array(new Uint8Array(readFileSync(path)).buffer);
  const memory = { words, bytes: new Uint8Array(words.buffer) };
  words[SEGMENT_HEAD.version] = 2;
  words[SEGMENT_HEAD.crc] = crc32c(memory, SEGMENT_HEAD.first * 4, words[SEGMENT_HEAD.headBytes]);
  writeFileSync(path, memory.bytes);
}

test('files of version 2 are read, a torn end is cut, and numbers go on in a new file (PRIVATELOG-1, -4)', () => {
  for (const batches of [0, 1, 25, 130]) {
    const directory = temporaryDirectory();
    const log = openLog(directory, { segmentEntries: 50 });
    const writer = new FrameWriter();
    for (let i = 0; i < batches; i++) writer.batch(log, [ANN, 1]);
    log.close();
    for (const name of filesIn(directory)) toVersion2(join(directory, 'log', name));
    const path = newestIn(directory);
    if (batches === 130) {
      truncateSync(path, statSync(path).size - 37);
      writer.written[1].pop();
    }
    const upgraded = openLog(directory, { segmentEntries: 50 });
    writer.assertKept(upgraded);
    assert.equal(upgraded.logged(0).shardSequence, writer.shardSequence);
    writer.batch(upgraded, [1, ANN, 2]);
    writer.assertKept(upgraded);
    upgraded.close();
    const again = openLog(directory, { segmentEntries: 50 });
    writer.assertKept(again);
    again.close();
  }
});

test('numbers go on above a floor, over restarts too, and none from below is found (PRIVATELOG-1)', () => {
  const directory = temporaryDirectory();
  const BOB = 1;
  let name = 0;
  const writeTo = (log: PrivateLog, account: number, count = 1): void => {
    for (let i = 0; i < count; i++) writeFrame(log.append(account), 0, ++name, name);
    assert.ok(log.commit());
  };
  const numbers = (log: PrivateLog, account: number, after = 0): number[] =>
    replayed(log, account, after).map(({ userSequence }) => userSequence);
  const first = openLog(directory, { segmentEntries: 50 });
  writeTo(first, ANN, 120);
  first.close();
  for (const floor of [2 ** 50, 2 ** 50 + 2 ** 20]) {
    const raised = openLog(directory, { segmentEntries: 50, floor });
    assert.equal(raised.logged(0).shardSequence, name, 'the floor costs no record');
    for (const account of [ANN, BOB]) {
      assert.deepEqual([raised.last(account), numbers(raised, account)], [floor, []]);
    }
    writeTo(raised, ANN, 70);
    writeTo(raised, BOB);
    raised.close();
    for (let run = 0; run < 2; run++) {
      const log = openLog(directory, { segmentEntries: 50, floor });
      assert.equal(log.logged(0).shardSequence, name, 'no frame is cut off');
      for (const after of [0, 119, floor, floor + 64]) {
        const from = Math.max(after, floor);
        const expected = Array.from({ length: floor + 70 - from }, (_, at) => from + at + 1);
        assert.deepEqual(numbers(log, ANN, after), expected);
      }
      assert.deepEqual(numbers(log, BOB), [floor + 1]);
      log.close();
    }
  }
});
