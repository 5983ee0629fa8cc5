import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync, truncateSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { type PrivateLog, REPLAY_PRIVATE } from '../../../gateway/stream/privateLog.ts';
import { ENTRY_BYTES, ENTRY_FRAME, ENTRY_WORDS } from '../../../gateway/stream/privateSegment.ts';
import { crc32c } from '../../../shared/crc32c.ts';
import { seededRandom } from '../../support/flow.ts';
import { openLog, privateDirectory, replayed, writeFrame } from '../../support/privateFrames.ts';

const SEED = Number(process.env['SEED'] ?? 20_261_121);
const ACCOUNTS = 5;
const ANN = 3;

/** Batches of frames as one shard would tell them, and what each account was told, kept apart from the log. */
class Teller {
  readonly told: number[][] = Array.from({ length: ACCOUNTS }, () => []);
  shardSequence = 0;
  #names = 0;

  batch(log: PrivateLog, accounts: readonly number[]): boolean {
    this.shardSequence++;
    const before = this.#names;
    for (const account of accounts) writeFrame(log.append(account), 0, this.shardSequence, ++this.#names);
    if (!log.commit()) return false;
    for (const [at, account] of accounts.entries()) this.told[account]!.push(before + at + 1);
    return true;
  }

  assertKept(log: PrivateLog): void {
    for (const [account, names] of this.told.entries()) {
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

test(`user_sequence goes on over restarts and files, and any frame is found again (U1, U3; SEED=${SEED})`, (t) => {
  const directory = privateDirectory(t);
  const random = seededRandom(SEED);
  const teller = new Teller();
  for (let run = 0; run < 12; run++) {
    const log = openLog(directory, { segmentEntries: 100 });
    teller.assertKept(log);
    assert.deepEqual(log.mark(0).shardSequence, teller.shardSequence);
    for (let i = Math.floor(random() * 20); i >= 0; i--) {
      const accounts = Array.from({ length: 1 + Math.floor(random() * 30) }, () => Math.floor(random() * ACCOUNTS));
      assert.ok(teller.batch(log, accounts));
      assert.deepEqual(log.mark(0), { shardSequence: teller.shardSequence, frames: accounts.length });
    }
    teller.assertKept(log);
    log.close();
  }
  assert.ok(filesIn(directory).length > 5);
});

test('a torn end is cut where it is torn, and what comes then has its numbers and place (U4)', (t) => {
  const directory = privateDirectory(t);
  const log = openLog(directory);
  const teller = new Teller();
  for (let i = 0; i < 4; i++) teller.batch(log, [ANN, ANN]);
  log.close();
  const path = newestIn(directory);
  const whole = readFileSync(path);
  const headBytes = whole.length - 8 * ENTRY_BYTES;
  for (let length = headBytes; length < whole.length; length += 37) {
    writeFileSync(path, whole);
    truncateSync(path, length);
    assertCutTo(directory, Math.floor((length - headBytes) / ENTRY_BYTES));
  }
  for (let at = headBytes; at < whole.length; at += 29) {
    const flipped = Buffer.from(whole);
    flipped[at]! ^= 1 << (at % 8);
    writeFileSync(path, flipped);
    assertCutTo(directory, Math.floor((at - headBytes) / ENTRY_BYTES));
  }
});

/** Opens it twice: what is appended behind the cut must not make anything behind it whole again. */
function assertCutTo(directory: string, frames: number): void {
  const cut = openLog(directory);
  assert.equal(cut.last(ANN), frames);
  const mark = { shardSequence: Math.ceil(frames / 2), frames: frames === 0 ? 0 : 2 - (frames % 2) };
  assert.deepEqual(cut.mark(0), mark, 'the mark says from where to tell again');
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

test('a file whose head is damaged stops the start: numbers would be given twice', (t) => {
  const directory = privateDirectory(t);
  openLog(directory).close();
  const path = newestIn(directory);
  const whole = readFileSync(path);
  for (let at = 0; at < whole.length; at++) {
    const flipped = Buffer.from(whole);
    flipped[at]! ^= 1;
    writeFileSync(path, flipped);
    assert.throws(() => openLog(directory), /the newest file in .* is damaged/);
  }
});

test(`a batch that cannot be written is not numbered, whatever of it was written (U2; SEED=${SEED})`, (t) => {
  const directory = privateDirectory(t);
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
  const teller = new Teller();
  for (let i = 0; i < 300; i++) {
    isFull = random() < 0.4;
    const accounts = Array.from({ length: 1 + Math.floor(random() * 90) }, () => Math.floor(random() * ACCOUNTS));
    const before = log.mark(0).shardSequence;
    assert.equal(teller.batch(log, accounts), !isFull);
    if (isFull) assert.equal(log.mark(0).shardSequence, before);
  }
  teller.assertKept(log);
  log.close();
  const again = openLog(directory);
  teller.assertKept(again);
  again.close();
});

test('files are bounded; what went with the oldest is a gap in the numbers, not an error (U5)', (t) => {
  const directory = privateDirectory(t);
  const log = openLog(directory, { segmentEntries: 64, keepSegments: 3 });
  const teller = new Teller();
  teller.batch(log, [1]);
  for (let i = 0; i < 200; i++) teller.batch(log, [ANN, ANN, ANN]);
  assert.equal(filesIn(directory).length, 4);
  const bytes = filesIn(directory).reduce((sum, name) => sum + statSync(join(directory, 'log', name)).size, 0);
  assert.ok(bytes < 4 * (66 * ENTRY_BYTES + 1000), `${bytes}`);
  assert.deepEqual(replayed(log, 1), []);
  const frames = replayed(log, ANN);
  assert.ok(frames.length >= 3 * 64, `${frames.length}`);
  assert.equal(frames.at(-1)!.userSequence, 600);
  assert.equal(frames.at(-1)!.userSequence - frames[0]!.userSequence + 1, frames.length, 'no gap inside');
  log.close();
  const again = openLog(directory, { segmentEntries: 64, keepSegments: 3 });
  assert.equal(again.last(1), 1, 'the number of an account outlives its frames');
  assert.deepEqual(replayed(again, ANN), frames);
  again.close();
});

test(`the last ${REPLAY_PRIVATE} frames of an account can be asked for again after a restart (RULES.md 8.9)`, (t) => {
  const directory = privateDirectory(t);
  const log = openLog(directory, { segmentEntries: 3000 });
  const teller = new Teller();
  const batch = [ANN, 0, ANN, 1, ANN];
  while (log.last(ANN) < REPLAY_PRIVATE + 500) teller.batch(log, batch);
  log.close();
  const again = openLog(directory, { segmentEntries: 3000 });
  const frames = replayed(again, ANN);
  assert.equal(frames.length, REPLAY_PRIVATE);
  assert.deepEqual(
    frames.map(({ name }) => name),
    teller.told[ANN]!.slice(-REPLAY_PRIVATE),
  );
  again.close();
});

test('a mark that is set stands for the record as a whole, and is numbered for nobody', (t) => {
  const directory = privateDirectory(t);
  const log = openLog(directory);
  const teller = new Teller();
  for (let i = 0; i < 5; i++) teller.batch(log, [ANN]);
  assert.ok(log.setMark(0, 2));
  log.close();
  const again = openLog(directory);
  assert.equal(again.mark(0).shardSequence, 2);
  assert.ok(again.mark(0).frames > 1_000_000);
  assert.deepEqual(again.mark(1), { shardSequence: 0, frames: 0 });
  teller.assertKept(again);
  again.close();
});

/** The file as version 1 wrote it: entries of 40 words, whose frames are the first 34 words of today's. */
function toVersion1(path: string): void {
  const words = new Uint32Array(new Uint8Array(readFileSync(path)).buffer);
  const headWords = words[2]! / 4;
  const first = words[4]!;
  const entries = (words.length - headWords) / ENTRY_WORDS;
  const old = new Uint32Array(headWords + entries * 40);
  const memory = { words: old, bytes: new Uint8Array(old.buffer) };
  old.set(words.subarray(0, headWords));
  old[1] = 1;
  for (let at = 0; at < entries; at++) {
    const from = headWords + at * ENTRY_WORDS;
    const to = headWords + at * 40;
    old.set(words.subarray(from, from + 5), to);
    old.set(words.subarray(from + ENTRY_FRAME, from + ENTRY_FRAME + 34), to + 6);
    old[to] = crc32c(memory, (to + 1) * 4, (to + 40) * 4, first + at);
  }
  writeFileSync(path, memory.bytes);
}

test('files of version 1 are read, a torn end is cut, and numbers go on in a new file (U1, U4)', (t) => {
  for (const batches of [0, 1, 25, 130]) {
    const directory = privateDirectory(t);
    const log = openLog(directory, { segmentEntries: 50 });
    const teller = new Teller();
    for (let i = 0; i < batches; i++) teller.batch(log, [ANN, 1]);
    log.close();
    for (const name of filesIn(directory)) toVersion1(join(directory, 'log', name));
    const path = newestIn(directory);
    if (batches === 130) {
      truncateSync(path, statSync(path).size - 37);
      teller.told[1]!.pop();
    }
    const upgraded = openLog(directory, { segmentEntries: 50 });
    teller.assertKept(upgraded);
    assert.equal(upgraded.mark(0).shardSequence, teller.shardSequence);
    teller.batch(upgraded, [1, ANN, 2]);
    teller.assertKept(upgraded);
    upgraded.close();
    const again = openLog(directory, { segmentEntries: 50 });
    teller.assertKept(again);
    again.close();
  }
});
