/** A client reads this of a shard's refusal (RULES.md 6.1). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RecordResult } from '../../../../gateway/shardlink/recordResult.ts';
import { refusalOf } from '../../../../gateway/shardlink/refusal.ts';
import { E, ERRORS } from '../../../../shared/base/errors.ts';

const reply = (code: number) => ({ code, shard: 0, shardSequence: 0, a: 7, b: 5, c: 3, result: new RecordResult() });

test('every refusal of a shard is kept with an idempotency key as it is, the numbers of its reply included', () => {
  assert.deepEqual(refusalOf(reply(E.FEE_RATE_MISMATCH), 'USDC'), {
    row: ERRORS.FEE_RATE_MISMATCH,
    message: `${ERRORS.FEE_RATE_MISMATCH.message}: expected 7`,
    isOfShard: true,
  });
  assert.deepEqual(refusalOf(reply(E.INSUFFICIENT_BALANCE), 'TOKEN'), {
    row: ERRORS.INSUFFICIENT_BALANCE,
    details: { asset: 'TOKEN', required: '7', available: '5', reserved: '3' },
    isOfShard: true,
  });
  assert.deepEqual(refusalOf(reply(E.INVALID_TICK), 'USDC'), { row: ERRORS.INVALID_TICK, isOfShard: true });
});
