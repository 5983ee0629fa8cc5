/** The mark of what a member has seen held (HELDMARK-1 to HELDMARK-4). */
import assert from 'node:assert/strict';
import { copyFileSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { HeldMark, lowerHeldMark, readHeldMark } from '../../../../engine/replication/heldMark.ts';
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

test('HELDMARK-2: a torn copy leaves the one before', () => {
  const directory = temporaryDirectory();
  const mark = new HeldMark(directory, 'one');
  for (const position of [1, 2]) mark.hold([row(position)], [row(position)]);
  mark.close();
  const fd = openSync(join(directory, FILE), 'r+');
  const newest = readFileSync(join(directory, FILE)).lastIndexOf('"position":2');
  writeSync(fd, 'torn', newest);
  assert.equal(readHeldMark(directory)!.last!.position, 1);
  writeFileSync(join(directory, FILE), 'nothing of it');
  assert.equal(readHeldMark(directory), null);
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
