/** PUBLICHISTORY-2: how many files of the public history are read at a time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PublicHistory } from '../../../../gateway/markets/publicHistory.ts';

test('13.15 a sender has four files at a time, or one while half of all are taken, so that others come in', () => {
  const history = new PublicHistory('/nowhere');
  const take = (sender: string): (() => void)[] => {
    const ends: (() => void)[] = [];
    for (let end = history.begin(sender); end !== null; end = history.begin(sender)) ends.push(end);
    return ends;
  };
  const first = ['a', 'b', 'c', 'd'].flatMap(take);
  assert.equal(first.length, 16);
  for (let sender = 0; sender < 16; sender++) assert.equal(take(`late ${sender}`).length, 1);
  assert.equal(history.begin('one more'), null);
  first[0]!();
  assert.equal(history.begin('a'), null, 'it has three still');
  assert.notEqual(history.begin('one more'), null);
});
