/** When the next snapshot of a shard is due: the larger the last one, the more records share its cost. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rowsDue } from '../../../../shared/wire/snapshotsDue.ts';

const EVERY = 100_000;
const MEGABYTE = 1_000_000;

test('a shard without a snapshot, or with a small one, has the next after SNAPSHOT_EVERY records', () => {
  for (const bytes of [0, 1, 2 * MEGABYTE]) assert.equal(rowsDue(EVERY, bytes, false), EVERY);
});

test('with the default a snapshot of 2 to 50 MB costs 20 bytes a record', () => {
  for (const megabytes of [2, 3, 17, 49.9]) {
    const bytes = megabytes * MEGABYTE;
    assert.ok(bytes / rowsDue(EVERY, bytes, false) <= 20);
    assert.ok(bytes / (rowsDue(EVERY, bytes, false) - 1) > 20);
  }
});

test('no snapshot is so large that a start would replay more than 25 times SNAPSHOT_EVERY', () => {
  for (const megabytes of [50, 51, 5000]) assert.equal(rowsDue(EVERY, megabytes * MEGABYTE, false), 25 * EVERY);
});

test('an exchange that stops makes a snapshot of 1000 records, however large the last one was', () => {
  assert.equal(rowsDue(EVERY, 500 * MEGABYTE, true), 1000);
  assert.equal(rowsDue(10, 500 * MEGABYTE, true), 10);
});
