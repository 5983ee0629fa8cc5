import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LongLists } from '../../../../gateway/queries/longLists.ts';
import { MAX_COUNTED } from '../../../../gateway/queries/page.ts';

test('a list that only grows is counted until it is long, one that may get shorter always', () => {
  const lists = new LongLists();
  let rows = MAX_COUNTED;
  let counts = 0;
  const counted = (list: string | null): [number, number] => {
    counts = 0;
    const found = lists.counted(list, () => {
      counts++;
      return rows;
    });
    return [found, counts];
  };
  assert.deepEqual(counted('1/filled'), [MAX_COUNTED, 1]);
  assert.deepEqual(counted('1/filled'), [MAX_COUNTED, 1]);
  rows++;
  assert.deepEqual(counted(null), [MAX_COUNTED + 1, 1]);
  assert.deepEqual(counted('1/filled'), [MAX_COUNTED + 1, 1]);
  assert.deepEqual(counted('1/filled'), [MAX_COUNTED + 1, 0]);
  rows = 3;
  assert.deepEqual(counted('2/filled'), [3, 1], 'of another account');
  assert.deepEqual(counted('1/expired'), [3, 1], 'under other filters');
  assert.deepEqual(counted(null), [3, 1]);
});
