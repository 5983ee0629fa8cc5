/** The mark of the rows that a member has seen held (HELDMARK-1 to HELDMARK-4). */
import assert from 'node:assert/strict';
import { closeSync, copyFileSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { HeldMark, heldMarkDamage, lowerHeldMark, readHeldMark } from '../../../../engine/replication/heldMark.ts';
import { temporaryDirectory } from '../../../support/directory.ts';

const FILE = 'held.mark';
const row = (position: number, lead = 7) => ({ position, epoch: 1, lead, stream: 0, sequence: position });

test('HELDMARK-1: what is held is in the file at once, and the sequence of a stream never goes back', () => {
  const directory = temporaryDirectory();
  assert.equal(readHeldMark(directory), null);
  const mark = new HeldMark(directory, 'one');
  for (const position of [1, 2, 3]) mark.hold([row(position)], [row(position)]);
  mark.hold([{ stream: 0, sequence: 2 }], []);
  mark.hold([row(4, 8), row(5, 9)], [row(4, 8), row(5, 9)]);
  const found = readHeldMark(directory)!;
  assert.deepEqual([found.log, found.held, found.last], ['one', { 0: 5 }, row(5, 9)]);
  assert.deepEqual(
    found.leads.map(({ lead, first }) => [lead, first]),
    [
      [7, 1],
      [8, 4],
      [9, 5],
    ],
  );
  assert.equal(found.isExact, true);
  mark.close();
  assert.throws(() => mark.hold([row(6)], []), /HELDMARK-1/);
});

test('an operator lowers the streams of a mark whose journals were cut, and raises none', () => {
  const directory = temporaryDirectory();
  lowerHeldMark(directory, [{ stream: 0, sequence: 1 }]);
  assert.equal(readHeldMark(directory), null, 'a directory without a mark gets none');
  const mark = new HeldMark(directory, 'one');
  for (const position of [1, 2, 3]) mark.hold([row(position)], [row(position)]);
  mark.close();
  lowerHeldMark(directory, [
    { stream: 0, sequence: 2 },
    { stream: 1, sequence: 9 },
  ]);
  const found = readHeldMark(directory)!;
  assert.deepEqual([found.log, found.held, found.last], ['one', { 0: 2 }, row(3)]);
  lowerHeldMark(directory, [{ stream: 0, sequence: 5 }]);
  assert.deepEqual(readHeldMark(directory)!.held, { 0: 2 });
});

/** Spoils the copy with this text in it. */
function spoil(directory: string, text: string): void {
  const path = join(directory, FILE);
  const at = readFileSync(path).indexOf(text);
  assert.ok(at >= 0, text);
  const fd = openSync(path, 'r+');
  writeSync(fd, 'torn', at);
  closeSync(fd);
}

/** A leader that has seen these positions held. */
function markOf(directory: string, positions: readonly number[]): HeldMark {
  const mark = new HeldMark(directory, 'one');
  mark.follow();
  mark.lead({ epoch: 2, lead: 5 });
  for (const position of positions) mark.hold([row(position)], [row(position)]);
  return mark;
}

test('HELDMARK-2: a torn copy leaves the one before', () => {
  const directory = temporaryDirectory();
  markOf(directory, [1, 2]).close();
  assert.equal(heldMarkDamage(directory), null);
  spoil(directory, '"position":2');
  assert.equal(readHeldMark(directory)!.last!.position, 1);
  assert.match(heldMarkDamage(directory)!, /held\.mark is damaged \(one of the two copies .* not whole\): /);
  writeFileSync(join(directory, FILE), 'nothing of it');
  assert.equal(readHeldMark(directory), null);
  assert.match(heldMarkDamage(directory)!, /no copy in it is whole/);
});

test('HELDMARK-3: beside an unreadable copy a mark proves nothing until the files were compared with the log', () => {
  for (const unreadable of ['"position":1', '"position":2']) {
    const directory = temporaryDirectory();
    markOf(directory, [1, 2]).close();
    assert.equal(readHeldMark(directory)!.isExact, true);
    spoil(directory, unreadable);
    assert.equal(readHeldMark(directory)!.isExact, false, 'the other one may be the older');
    const next = new HeldMark(directory, 'one');
    next.hold([row(3)], [row(3)]);
    assert.deepEqual([readHeldMark(directory)!.isExact, heldMarkDamage(directory)], [false, null]);
    lowerHeldMark(directory, [{ stream: 0, sequence: 1 }]);
    assert.equal(readHeldMark(directory)!.isExact, false, 'an operator has not compared anything either');
    next.follow();
    assert.equal(readHeldMark(directory)!.isExact, true);
    next.close();
  }
  const directory = temporaryDirectory();
  writeFileSync(join(directory, FILE), '');
  const mark = new HeldMark(directory, 'one');
  assert.equal(readHeldMark(directory)!.isExact, false, 'an empty file had something in it');
  mark.close();
});

test('HELDMARK-3: the mark of a new member is exact, and is not where its other copy was lost', () => {
  const directory = temporaryDirectory();
  new HeldMark(directory, 'one').close();
  assert.equal(readHeldMark(directory)!.isExact, true);
  spoil(directory, '"number":1');
  assert.equal(readHeldMark(directory)!.isExact, false);
});

test('HELDMARK-3: a mark of an earlier time that was written over the file is not exact', (t) => {
  const directory = temporaryDirectory();
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() - 3_600_000 });
  markOf(directory, [1, 2]).close();
  t.mock.timers.reset();
  assert.equal(readHeldMark(directory)!.isExact, false);
  const next = new HeldMark(directory, 'one');
  assert.equal(readHeldMark(directory)!.isExact, false, 'nor is what is written after it');
  next.follow();
  assert.equal(readHeldMark(directory)!.isExact, true);
  next.close();
});

test('HELDMARK-4: where one copy is unreadable the other says the same of the role', () => {
  for (const number of [1, 2]) {
    const directory = temporaryDirectory();
    markOf(directory, []).close();
    const numbers = [...readFileSync(join(directory, FILE), 'utf8').matchAll(/"number":\d+/g)].map(([text]) => text);
    spoil(directory, numbers[number - 1]!);
    const { isLeader, own } = readHeldMark(directory)!;
    assert.deepEqual({ isLeader, own }, { isLeader: true, own: { epoch: 2, lead: 5 } });
  }
});

test('HELDMARK-3: a copy of the file is not exact, and stays so until the files were compared with the log', () => {
  const [directory, other] = [temporaryDirectory(), temporaryDirectory()];
  const mark = new HeldMark(directory, 'one');
  mark.lead({ epoch: 2, lead: 5 });
  mark.hold([row(1)], [row(1)]);
  mark.close();
  copyFileSync(join(directory, FILE), join(other, FILE));
  assert.deepEqual([readHeldMark(directory)!.isExact, readHeldMark(other)!.isExact], [true, false]);
  const copied = new HeldMark(other, 'one');
  assert.equal(readHeldMark(other)!.isExact, false, 'the next process has not compared anything yet');
  copied.follow();
  assert.deepEqual([readHeldMark(other)!.isExact, readHeldMark(other)!.isLeader], [true, false]);
  copied.close();
});

test('HELDMARK-4: the role and the server are in the file before anything follows; another log has a new mark', () => {
  const directory = temporaryDirectory();
  const mark = new HeldMark(directory, 'one');
  mark.lead({ epoch: 2, lead: 5 });
  mark.sendTo({ system: '1', timeline: 3, run: '1/3/5', lsn: '0/9' });
  mark.see({ system: '1', timeline: 3, lsn: '0/A' }, ['a', 'b'], true);
  mark.hold([row(1)], [row(1)]);
  const { isLeader, own, place, lsn, members } = readHeldMark(directory)!;
  assert.deepEqual(
    { isLeader, own, place, lsn, members },
    {
      isLeader: true,
      own: { epoch: 2, lead: 5 },
      place: { system: '1', timeline: 3, run: '1/3/5' },
      lsn: '0/A',
      members: ['a', 'b'],
    },
  );
  mark.see(null, ['b'], false);
  assert.deepEqual(readHeldMark(directory)!.members, ['a', 'b'], 'a log that was set back may not know all members');
  mark.see(null, ['b'], true);
  assert.deepEqual(readHeldMark(directory)!.members, ['b'], 'one that left is none any more');
  mark.see(null, ['a', 'b'], true);
  mark.close();
  new HeldMark(directory, 'two').close();
  const next = readHeldMark(directory)!;
  assert.deepEqual([next.log, next.held, next.isLeader, next.members], ['two', {}, false, ['a', 'b']]);
});
