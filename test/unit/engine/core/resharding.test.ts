/** Shards that are divided anew have together what they had, and refuse what they refused. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MOVEMENT } from '../../../../shared/base/codes.ts';
import { E, OK } from '../../../../shared/base/errors.ts';
import { ACCOUNTS, ReshardedRigs } from '../../../support/reshardedRigs.ts';

const SEED = Number(process.env['SEED'] ?? 41);
const COUNTS = [2, 3, 1, 4, 2];

describe('shards that are divided anew', () => {
  for (const seed of [SEED, SEED + 1, SEED + 2]) {
    it(`hold every order with its id and place, every token and micro-USDC as before (seed ${seed})`, () => {
      const x = new ReshardedRigs(COUNTS[0], seed);
      for (const shards of COUNTS.slice(1)) {
        x.trade(150);
        const before = x.held();
        assert.ok(
          before.some((line) => line.startsWith('order ')),
          'some orders are open',
        );
        x.reshard(shards);
        assert.deepEqual(x.held(), before);
      }
      x.trade(150);
    });

    it(`refuse an order that any of them had accepted, and a deposit that any had made (seed ${seed})`, () => {
      const x = new ReshardedRigs(COUNTS[0], seed);
      for (const shards of COUNTS.slice(1)) {
        x.trade(60);
        x.reshard(shards);
        for (const order of x.accepted) {
          const { code } = x.of(order.market).place(order).reply;
          const isOver = order.expirationSec !== 0 && code === E.ORDER_EXPIRED;
          assert.ok(code === E.DUPLICATE_ORDER || isOver, `order ${order.salt}: ${code}`);
        }
        const before = x.held();
        for (const account of ACCOUNTS) {
          for (let reference = 1; reference <= x.references; reference++)
            assert.equal(x.fund(account, 1_000_000, MOVEMENT.DEPOSIT, reference).reply.code, OK);
        }
        assert.deepEqual(x.held(), before);
      }
    });
  }

  it('know the highest number that any of them had given out, and go on above it', () => {
    const x = new ReshardedRigs(2, SEED);
    x.trade(100);
    const highest = Math.max(...x.rigs.map(({ engine }) => engine.state.orderSequence));
    x.reshard(3);
    assert.deepEqual(x.lastKnown, [highest, highest, highest]);
    for (const { engine } of x.rigs) {
      assert.ok(engine.state.orderSequence >= 2 ** 20);
      assert.ok(engine.state.matcher.tradeSequence >= 2 ** 20);
    }
  });
});
