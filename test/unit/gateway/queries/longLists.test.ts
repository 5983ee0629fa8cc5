import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LongLists } from '../../../../gateway/queries/longLists.ts';
import { MAX_COUNTED } from '../../../../gateway/queries/page.ts';

test('a list without filters is counted until it is long, one with filters always', () => {
  const lists = new LongLists();
  let rows = MAX_COUNTED;
  let counts = 0;
  const counted = (account: number, isWhole: boolean): [number, number] => {
    counts = 0;
    const found = lists.counted(account, isWhole, () => {
      counts++;
      return rows;
    });
    return [found, counts];
  };
  assert.deepEqual(counted(1, true), [MAX_COUNTED, 1]);
  assert.deepEqual(counted(1, true), [MAX_COUNTED, 1]);
  rows++;
  assert.deepEqual(counted(1, false), [MAX_COUNTED + 1, 1]);
  assert.deepEqual(counted(1, true), [MAX_COUNTED + 1, 1]);
  assert.deepEqual(counted(1, true), [MAX_COUNTED + 1, 0]);
  rows = 3;
  assert.deepEqual(counted(2, true), [3, 1], 'of another account');
  assert.deepEqual(counted(1, false), [3, 1], 'under filters');
});
