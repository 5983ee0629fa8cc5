import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DirtyRows } from '../../../../engine/base/dirtyRows.ts';

test('a row is listed once however often it is marked, also where the memory has to grow for it', () => {
  const dirty = new DirtyRows();
  const marked: number[] = [];
  for (const row of [0, 1023, 1024, 1025, 2048, 5, 100_000]) {
    for (let times = 0; times < 3; times++) dirty.mark(row);
    marked.push(row);
    assert.deepEqual([...dirty.rows.subarray(0, dirty.count)], marked);
  }
  dirty.clear();
  assert.equal(dirty.count, 0);
  for (const row of marked) dirty.mark(row);
  assert.deepEqual([...dirty.rows.subarray(0, dirty.count)], marked, 'a row may be marked again after a clear');
});

test('as many rows are listed as there are', () => {
  const dirty = new DirtyRows();
  for (let row = 0; row < 5000; row++) dirty.mark(row);
  assert.equal(dirty.count, 5000);
  assert.equal(dirty.rows[4999], 4999);
});
