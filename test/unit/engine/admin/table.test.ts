import assert from 'node:assert/strict';
import { test } from 'node:test';
import { table } from '../../../../engine/admin/table.ts';

test('columns are as wide as their widest cell, and no line ends with spaces', () => {
  assert.deepEqual(table([['a', 'bb']]), ['a  bb']);
  assert.deepEqual(
    table([
      ['shard', 'x', 'last'],
      ['0', 'long cell', ''],
    ]),
    ['shard  x          last', '0      long cell'],
  );
});
