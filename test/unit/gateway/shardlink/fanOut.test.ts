/** The replies of several shards become one, in whatever order they arrive. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  CANCEL_OR_TOMBSTONE,
  COUNT_CANCELLED,
  type FanOut,
  FIND_AND_CANCEL,
  type ReplyMerge,
} from '../../../../gateway/shardlink/fanOut.ts';
import { RecordResult } from '../../../../gateway/shardlink/recordResult.ts';
import { E, OK } from '../../../../shared/base/errors.ts';

type Reply = readonly [code: number, a?: number];

/** The merged code and total, which must not depend on the order. */
function merged(how: ReplyMerge, replies: readonly Reply[], areAllReady = true): [code: number, total: number] {
  const results = orders(replies).map((order) => {
    const code = areAllReady ? how.codeOfAll : how.codeOfSome;
    const fanOut: FanOut = {
      waiting: order.length,
      code,
      total: 0,
      isFound: false,
      merge: how.merge,
      handler: () => undefined,
      context: null,
    };
    for (const [replyCode, a = 0] of order) {
      const result = new RecordResult();
      how.merge({ code: replyCode, a, b: 0, c: 0, shard: 0, shardSequence: 1, result }, fanOut);
    }
    return [fanOut.code, fanOut.total] as [number, number];
  });
  for (const result of results) assert.deepEqual(result, results[0]);
  return results[0];
}

function orders(replies: readonly Reply[]): Reply[][] {
  if (replies.length < 2) return [[...replies]];
  return replies.flatMap((reply, at) => orders(replies.toSpliced(at, 1)).map((rest) => [reply, ...rest]));
}

test('a mass cancel adds up what was cancelled, and is unknown if any part of it is', () => {
  assert.deepEqual(
    merged(COUNT_CANCELLED, [
      [OK, 2],
      [OK, 3],
    ]),
    [OK, 5],
  );
  assert.deepEqual(
    merged(COUNT_CANCELLED, [
      [OK, 2],
      [E.OUTCOME_UNKNOWN, 9],
    ]),
    [E.OUTCOME_UNKNOWN, 2],
  );
  assert.deepEqual(merged(COUNT_CANCELLED, [[OK, 2]], false), [E.OUTCOME_UNKNOWN, 2], 'a shard was left out');
});

test('a cancel of an order somewhere is not found only if no shard knows it', () => {
  const none: Reply = [E.ORDER_NOT_FOUND];
  assert.deepEqual(merged(FIND_AND_CANCEL, [none, none]), [E.ORDER_NOT_FOUND, 0]);
  assert.deepEqual(merged(FIND_AND_CANCEL, [none, [OK], none]), [OK, 0]);
  assert.deepEqual(merged(FIND_AND_CANCEL, [none, [E.ORDER_NOT_CANCELLABLE]]), [E.ORDER_NOT_CANCELLABLE, 0]);
  assert.deepEqual(merged(FIND_AND_CANCEL, [none, [E.OUTCOME_UNKNOWN]]), [E.OUTCOME_UNKNOWN, 0]);
  assert.deepEqual(
    merged(FIND_AND_CANCEL, [none], false),
    [E.ENGINE_BUSY, 0],
    'the shard that was left out may know it',
  );
  assert.deepEqual(merged(FIND_AND_CANCEL, [[OK]], false), [OK, 0]);
});

test('a tombstone holds until the first shard forgets it; a shard that knows the order decides alone (7.11)', () => {
  assert.deepEqual(
    merged(CANCEL_OR_TOMBSTONE, [
      [OK, 70],
      [OK, 50],
      [OK, 60],
    ]),
    [OK, 50],
  );
  assert.deepEqual(
    merged(CANCEL_OR_TOMBSTONE, [
      [OK, 70],
      [OK, 0],
    ]),
    [OK, 0],
    'it was open, and is cancelled',
  );
  assert.deepEqual(merged(CANCEL_OR_TOMBSTONE, [[OK, 70], [E.ORDER_NOT_CANCELLABLE]]), [E.ORDER_NOT_CANCELLABLE, 0]);
  assert.deepEqual(merged(CANCEL_OR_TOMBSTONE, [[OK, 70], [E.ENGINE_BUSY]]), [E.ENGINE_BUSY, 70]);
  assert.deepEqual(merged(CANCEL_OR_TOMBSTONE, [[OK, 0], [E.OUTCOME_UNKNOWN]]), [OK, 0]);
  assert.deepEqual(merged(CANCEL_OR_TOMBSTONE, [[OK, 70]], false), [E.ENGINE_BUSY, 70]);
});
