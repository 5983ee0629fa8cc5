/** Shards that are divided anew have together what they had, and refuse what they refused. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CLOSE_REASON, MOVEMENT, SIDE } from '../../../../shared/base/codes.ts';
import { E, OK } from '../../../../shared/base/errors.ts';
import { ACCOUNTS, ReshardedRigs } from '../../../support/reshardedRigs.ts';

const SEED = Number(process.env['SEED'] ?? 41);
const COUNTS = [2, 3, 1, 4, 2];
const WALLET = 11;
const BURIED = CLOSE_REASON.USER | 0x100;

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
        assert.ok(!before.includes('set 7 of 7,8,9: 0'), 'the set has converted');
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

  it('refuse, in the new shard of each market, orders that were cancelled before they came', () => {
    const x = new ReshardedRigs(2, SEED);
    const twin = new ReshardedRigs(2, SEED);
    const [account] = ACCOUNTS;
    const orders = Array.from({ length: 7 }, (_, market) => {
      return { account, market, salt: 9000 + market, ticks: 30, lots: 10_000, side: SIDE.BUY };
    });
    for (const order of orders) {
      const rig = twin.of(order.market);
      assert.equal(rig.place(order).reply.code, OK);
      const hash = rig.hashOf(rig.engine.state.orderSequence);
      assert.equal(x.of(order.market).cancel(account, hash, BURIED).reply.code, OK);
    }
    for (const shards of [3, 1]) {
      x.reshard(shards);
      for (const order of orders) assert.equal(x.of(order.market).place(order).reply.code, E.ORDER_TOMBSTONED);
    }
  });

  it('have the floors of nonces and the fills of a group that the old ones had', () => {
    const x = new ReshardedRigs(2, SEED);
    const [account] = ACCOUNTS;
    for (const rig of x.rigs) assert.equal(rig.nonceFloor(account, WALLET, 5).reply.code, OK);
    x.trade(150);
    const most = ACCOUNTS.map((each) => Math.max(...x.filledInGroupOf(each)));
    assert.ok(
      most.some((atomic) => atomic > 0),
      'groups had fills',
    );
    x.reshard(3);
    for (const [at, each] of ACCOUNTS.entries())
      assert.deepEqual(x.filledInGroupOf(each), [most[at], most[at], most[at]]);
    for (let market = 0; market < 7; market++) {
      const order = { account, market, ticks: 30, lots: 10_000, wallet: WALLET, nonce: 4 };
      assert.equal(x.of(market).place(order).reply.code, E.NONCE_BELOW_FLOOR);
    }
  });

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
