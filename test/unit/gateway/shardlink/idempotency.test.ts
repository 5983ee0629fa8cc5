/** The store of RULES.md 6.7: the lifetime of answers, and the rows that survive the death of their writer. */
import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { createLogger } from '../../../../gateway/base/log.ts';
import type { KeyedAnswer } from '../../../../gateway/shardlink/answerBatch.ts';
import {
  AnswerReader,
  AnswerWriter,
  createAnswerDb,
  KEPT_EXPIRED_MS,
  RELIABLE_MS,
  UNRESOLVED,
} from '../../../../gateway/shardlink/answerDb.ts';
import { Answers } from '../../../../gateway/shardlink/answers.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { eventually } from '../../../support/eventually.ts';
import type { Scope } from '../../../support/server.ts';

const START_MS = 1_900_000_000_000;
const DAY_MS = 86_400_000;

function pathFor(): string {
  const directory = temporaryDirectory();
  return join(directory, 'idempotency.db');
}

function answer(number: number, changes: Partial<KeyedAnswer> = {}): KeyedAnswer {
  const key = new Uint8Array(16).fill(number);
  const fingerprint = new Uint8Array(16).fill(100 + number);
  return {
    account: 1,
    route: 1,
    key,
    fingerprint,
    status: 200,
    body: `{"n":${number}}`,
    createdMs: START_MS,
    ...changes,
  };
}

function openStore(t: Scope, bounds: { mostRows?: number; mostBytes?: number } = {}, path = pathFor()) {
  const db = createAnswerDb(path);
  const writer = new AnswerWriter(path, 'full', bounds);
  t.after(() => {
    writer.close();
    db.close();
  });
  const reader = new AnswerReader(db);
  const write = (rows: KeyedAnswer[], nowMs = START_MS) => writer.write({ rows, settledMs: nowMs, nowMs });
  return { reader, write, writer };
}

test('a damaged file is set aside and made anew, and a member of a cluster is told to join again', (t) => {
  const whole = pathFor();
  const store = openStore(t, {}, whole);
  for (let number = 1; number < 60; number++) store.write([answer(number)]);
  const path = pathFor();
  const database = new Database(whole);
  const pages = database.serialize();
  database.close();
  let damages = 0;
  for (let page = 0; page < pages.length / 4096; page++) {
    for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true });
    const damaged = Buffer.from(pages).fill(0xa5, page * 4096, (page + 1) * 4096);
    writeFileSync(path, damaged);
    assert.throws(() => createAnswerDb(path), { name: 'StartError', message: /is damaged: set the directory of this/ });
    let aside = '';
    const db = createAnswerDb(path, (name) => {
      aside = name;
    });
    assert.equal(new AnswerReader(db).find(answer(1)), null, `page ${page}`);
    db.close();
    assert.equal(basename(aside), `${basename(path)}.damaged${++damages === 1 ? '' : `-${damages}`}`);
    assert.ok(readFileSync(aside).equals(damaged), 'it can still be read');
  }
});

test('an answer is read for 24 hours, and for 7 days after it has expired, and then deleted', (t) => {
  const { reader, write } = openStore(t);
  write([answer(1)]);
  for (const ageMs of [0, RELIABLE_MS + 1, 7 * DAY_MS, RELIABLE_MS + KEPT_EXPIRED_MS]) {
    assert.equal(write([], START_MS + ageMs), 0);
    assert.equal(reader.find(answer(1))?.body, '{"n":1}');
  }
  assert.equal(RELIABLE_MS + KEPT_EXPIRED_MS, 8 * DAY_MS);
  assert.equal(write([], START_MS + 8 * DAY_MS + 1), 1);
  assert.equal(reader.find(answer(1)), null);
});

test('deleting goes in small steps, faster than writing', (t) => {
  const { write } = openStore(t);
  write(Array.from({ length: 50 }, (_, n) => answer(n)));
  const later = START_MS + 9 * DAY_MS;
  assert.equal(write([answer(60, { createdMs: later }), answer(61, { createdMs: later })], later), 4);
  assert.equal(write([], later), 46);
});

test('an answer takes the place of "not known", and is never forgotten for it', (t) => {
  const { reader, write } = openStore(t);
  const unknown = { status: UNRESOLVED, body: '' };
  write([answer(1, unknown)]);
  assert.equal(reader.find(answer(1))?.status, UNRESOLVED);
  write([answer(1)]);
  write([answer(1, unknown)]);
  assert.equal(reader.find(answer(1))?.body, '{"n":1}');
  assert.equal(reader.find(answer(1, { account: 2 })), null);
  // The fingerprint tells the payload, and with it the route: another one is found too, and is a mismatch.
  const other = answer(1, { fingerprint: new Uint8Array(16), route: 2 });
  assert.deepEqual(reader.find(other)?.fingerprint, Buffer.from(answer(1).fingerprint));
});

test('an account keeps a number of rows and bytes: its oldest go first, and nobody else loses any', (t) => {
  const { reader, write, writer } = openStore(t, { mostRows: 5, mostBytes: 2000 });
  const has = (...numbers: number[]) => numbers.map((n) => reader.find(answer(n)) !== null);
  write([answer(100, { account: 2 })]);
  write([1, 2, 3, 4, 5, 6, 7].map((n) => answer(n)));
  assert.deepEqual(has(1, 2, 3, 4, 5, 6, 7), [false, false, true, true, true, true, true]);
  // 128 bytes stand for each row: this one leaves room for two of the small ones.
  write([answer(8, { body: 'x'.repeat(1500) })]);
  assert.deepEqual(has(3, 4, 5, 6, 7, 8), [false, false, false, true, true, true]);
  assert.deepEqual(writer.kept(START_MS), { rows: 4, bytes: 4 * 128 + 1500 + 2 * 7 + 9 });
  write([answer(9, { body: 'y'.repeat(1800) })]);
  assert.deepEqual(has(6, 7, 8, 9), [false, false, false, true]);
  assert.notEqual(reader.find(answer(100, { account: 2 })), null);
  // A row that is deleted for its age, or gets another body, is counted too.
  write([], START_MS + 9 * DAY_MS);
  assert.deepEqual(writer.kept(START_MS + 9 * DAY_MS), { rows: 0, bytes: 0 });
  write([answer(1, { status: UNRESOLVED, body: '' })]);
  write([answer(1)]);
  assert.deepEqual(writer.kept(START_MS + 10 * DAY_MS), { rows: 1, bytes: 128 + 7 });
});

test('a store of version 1, which no release wrote, is refused', (t) => {
  const path = pathFor();
  const old = new Database(path);
  old.pragma('user_version = 1');
  old.close();
  assert.throws(() => openStore(t, {}, path), /has layout 1, and the first is 2$/);
});

test('no key is admitted before the last process is caught up with; kept answers are there', async (t) => {
  const path = pathFor();
  const inFlight = { oldestMs: () => START_MS - 5 };
  const clock = { nowMs: () => START_MS };
  const answers = new Answers({ path, sync: 'full', inFlight, clock, log: createLogger('silent') });
  t.after(() => answers.stop());
  await answers.note([answer(1)]);
  assert.equal(answers.isOpen, false);
  answers.caughtUp();
  await eventually('an open store', async () => answers.isOpen);
  const kept = await Promise.all(
    [2, 3, 4].map(
      (n) => new Promise((resolve) => answers.keep(answer(n), (is) => resolve(is && answers.find(answer(n))))),
    ),
  );
  assert.deepEqual(
    kept.map((row) => (row as { body: string }).body),
    ['{"n":2}', '{"n":3}', '{"n":4}'],
  );
  assert.equal(answers.find(answer(1))?.status, UNRESOLVED);
  await answers.note([answer(5)]);
  assert.equal(answers.find(answer(5))?.status, UNRESOLVED, 'what was noted has its row');
  answers.tick();
  await eventually('what is settled', async () => answers.settledMs() === START_MS - 5);
});

test('an answer in the hands of a writer that dies is stored by the next one (ANSWERS-3)', async (t) => {
  const path = pathFor();
  const inFlight = { oldestMs: () => START_MS };
  const answers = new Answers({
    path,
    sync: 'full',
    inFlight,
    clock: { nowMs: () => START_MS },
    log: createLogger('silent'),
  });
  const other = new Database(path);
  t.after(async () => {
    other.close();
    await answers.stop();
  });
  answers.caughtUp();
  await eventually('an open store', async () => answers.isOpen);
  other.exec('ALTER TABLE answers RENAME TO elsewhere');
  const results: boolean[] = [];
  answers.keep(answer(1), (isKept) => results.push(isKept));
  await eventually('what became of it', async () => results.length > 0);
  assert.deepEqual(results, [false], 'whether it is stored is unknown');
  assert.equal(answers.isDiskFull, false, 'another error is not taken for a full disk');
  assert.equal(answers.isOpen, false, 'no key is let in before it is stored');
  other.exec('ALTER TABLE elsewhere RENAME TO answers');
  await eventually('a writer that stores it', async () => answers.isOpen);
  assert.equal(answers.find(answer(1))?.body, '{"n":1}');
  assert.equal(results.length, 1, 'its sender was called once');
});

test('one answer that came while another was being written is the next batch (ANSWERS-2)', async (t) => {
  const inFlight = { oldestMs: () => START_MS };
  const clock = { nowMs: () => START_MS };
  const answers = new Answers({ path: pathFor(), sync: 'full', inFlight, clock, log: createLogger('silent') });
  t.after(() => answers.stop());
  answers.caughtUp();
  await eventually('an open store', async () => answers.isOpen);
  const kept: number[] = [];
  const keep = (number: number): void => answers.keep(answer(number), (isKept) => isKept && kept.push(number));
  keep(1);
  // Behind the turn that sends the first: the writer has it.
  setImmediate(() => keep(2));
  await eventually('both, without a tick', async () => kept.length === 2);
  assert.deepEqual(kept, [1, 2]);
});

test('a store that is stopped before its writer has begun ends without a failure, and disowns its rows', async () => {
  const inFlight = { oldestMs: () => START_MS };
  const clock = { nowMs: () => START_MS };
  const failures: unknown[] = [];
  const log = createLogger('error', { write: (line) => failures.push(line) });
  const answers = new Answers({ path: pathFor(), sync: 'full', inFlight, clock, log });
  const results: boolean[] = [];
  answers.keep(answer(1), (isKept) => results.push(isKept));
  await answers.stop();
  assert.deepEqual([failures, results], [[], [false]]);
});

test('a standby that has no room keeps 64 MiB of records waiting, and ends with the cause at more', async (t) => {
  const inFlight = { oldestMs: () => START_MS };
  const clock = { nowMs: () => START_MS };
  const refused: string[] = [];
  const onRefused = (why: string): void => void refused.push(why);
  const answers = new Answers({
    path: pathFor(),
    sync: 'full',
    inFlight,
    clock,
    log: createLogger('silent'),
    onRefused,
  });
  t.mock.method(Worker.prototype, 'postMessage', function (this: Worker, message: unknown) {
    if (message === 'stop') void this.terminate();
    else if (typeof message === 'object' && 'apply' in message!) this.emit('message', 'waits');
  });
  t.after(() => answers.stop());
  const bytes = new Uint8Array(32 << 20);
  for (const sequence of [1, 2]) answers.apply({ sequence, bytes });
  await eventually('a standby that says so', async () => answers.isDiskFull);
  assert.deepEqual(refused, []);
  answers.apply({ sequence: 3, bytes });
  assert.match(refused.join('\n'), /^there is no room to keep the answers of the leader/);
});

test('in a cluster a batch without room is written again with the record that the log has (ANSWERS-3)', async (t) => {
  const inFlight = { oldestMs: () => START_MS };
  const clock = { nowMs: () => START_MS };
  const log = createLogger('silent');
  const answers = new Answers({ path: pathFor(), sync: 'full', inFlight, clock, log, onRefused: assert.fail });
  const records: number[] = [];
  const put = (sequence: number): void => void records.push(sequence);
  answers.lead({ put, held: () => records.at(-1) ?? 0, whenHeld: async () => {} });
  let [isFull, refusals] = [false, 0];
  t.after(() => {
    isFull = false;
    return answers.stop();
  });
  answers.caughtUp();
  await eventually('an open store', async () => answers.isOpen);
  isFull = true;
  const { postMessage } = Worker.prototype;
  t.mock.method(Worker.prototype, 'postMessage', function (this: Worker, message: unknown) {
    if (!isFull) return postMessage.call(this, message);
    refusals++;
    setImmediate(() => this.emit('message', 'full'));
  });
  const before = records.length;
  answers.keep(answer(1), () => {});
  for (let tries = 1; tries <= 3; tries++) {
    await eventually('a full disk', async () => refusals >= tries);
    assert.equal(records.length, before + 1, 'the log has it once');
    answers.keep(answer(1 + tries), () => {});
    answers.tick();
  }
  isFull = false;
  await eventually('a store that has it', async () => answers.isOpen);
  for (const number of [1, 2, 3, 4]) assert.equal(answers.find(answer(number))?.status, 200, `answer ${number}`);
});

test('a full disk lets no key in until the batch that it refused is stored (ANSWERS-3)', async (t) => {
  const inFlight = { oldestMs: () => START_MS };
  const clock = { nowMs: () => START_MS };
  const answers = new Answers({ path: pathFor(), sync: 'full', inFlight, clock, log: createLogger('silent') });
  let isFull = false;
  t.after(() => {
    isFull = false;
    return answers.stop();
  });
  answers.caughtUp();
  await eventually('an open store', async () => answers.isOpen);
  isFull = true;
  const { postMessage } = Worker.prototype;
  t.mock.method(Worker.prototype, 'postMessage', function (this: Worker, message: unknown) {
    if (isFull) setImmediate(() => this.emit('message', 'full'));
    else postMessage.call(this, message);
  });
  const results: boolean[] = [];
  answers.keep(answer(1), (isKept) => results.push(isKept));
  await eventually('what became of it', async () => results.length > 0);
  assert.deepEqual([results, answers.isDiskFull, answers.isOpen], [[false], true, false]);
  isFull = false;
  answers.tick();
  await eventually('a store that has it', async () => answers.isOpen);
  assert.equal(answers.isDiskFull, false);
  assert.equal(answers.find(answer(1))?.body, '{"n":1}');
});
