/** The numbers of layouts that members of a cluster agree on (shared/base/formats.ts). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  commonTo,
  FILE_LAYOUTS,
  FORMATS,
  formatsOfLead,
  highest,
  knownIn,
  knownText,
  newestOf,
  numbersIn,
  numbersText,
  raisedFrom,
  unreadable,
} from '../../../../shared/base/formats.ts';

const NEXT_CONTROL = FORMATS.control.newest + 1;
const NEXT = {
  ...FORMATS,
  journal: { newest: 4, oldest: 3 },
  control: { newest: NEXT_CONTROL, oldest: NEXT_CONTROL },
};

test('numbers are parsed from their texts, and other texts are left out', () => {
  assert.deepEqual(numbersIn(numbersText(newestOf(FORMATS))), newestOf(FORMATS));
  assert.deepEqual(knownIn(knownText(NEXT)), NEXT);
  assert.deepEqual(
    [numbersIn(''), numbersIn('a=1 b c=x d=2'), knownIn('a=1 b=2-3')],
    [{}, { a: 1, d: 2 }, { b: { oldest: 2, newest: 3 } }],
  );
});

test('FORMATS-1: a lead writes the formats to which the cluster is raised, or the lowest that it can write', () => {
  const raised = newestOf(FORMATS);
  assert.deepEqual(formatsOfLead(raised, FORMATS), raised);
  assert.deepEqual(formatsOfLead(raised, NEXT), { ...raised, control: NEXT_CONTROL });
  assert.deepEqual(formatsOfLead({ ...raised, journal: 4 }, NEXT), { ...raised, journal: 4, control: NEXT_CONTROL });
  assert.deepEqual(formatsOfLead({}, { journal: { newest: 4, oldest: 3 } }), { journal: 3 });
});

test('FORMATS-2: formats that a member does not know are named, even a new layout', () => {
  assert.equal(unreadable(newestOf(FORMATS), NEXT), null);
  assert.equal(unreadable({ journal: 4, books: 1 }, FORMATS), 'journal 4 (3 at most), books 1 (unknown)');
});

test('a cluster is raised to what all of its members know', () => {
  assert.equal(commonTo([FORMATS, NEXT])['journal'], 3);
  assert.deepEqual(commonTo([{ journal: { newest: 4, oldest: 3 } }, {}]), { journal: 0 });
  assert.deepEqual(raisedFrom({ journal: 3 }, { journal: 4, control: 1 }), ['journal 3 to 4', 'control 0 to 1']);
  assert.deepEqual(highest({ a: 1, b: 5 }, { a: 2, c: 1 }), { a: 2, b: 5, c: 1 });
});

test('the numbers of all layouts are in that of the copy that a joining member gets', () => {
  const { files, ...logged } = newestOf(FORMATS);
  const numbers = [...Object.values(logged), ...Object.values(FILE_LAYOUTS)];
  assert.equal(
    files,
    numbers.reduce((sum, number) => sum + number, 0),
  );
});
