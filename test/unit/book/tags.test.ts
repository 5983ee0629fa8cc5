/** Fields that only some orders have: client order id, order group (RULES.md 7.7). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { WORD_SHIFT } from '../../../engine/book/orders.ts';
import { NO_TAG } from '../../../engine/book/tags.ts';
import { MAX_ORDER_AMOUNT } from '../../../shared/base/codes.ts';
import { OK } from '../../../shared/base/errors.ts';
import { COMMAND_BYTES, EXTENDED_PLACE } from '../../../shared/wire/commands.ts';
import { EVENT } from '../../../shared/wire/events.ts';
import { errorKey, stateOf } from '../../support/engine.ts';
import { Random } from '../../support/random.ts';
import { ALICE, BOB, Scenario } from '../../support/scenario.ts';

const LONGEST = 'x'.repeat(64);

/** Alice's order groups 1 to 4, and Bob's 7, far from their maximum. */
function withGroups(): Scenario {
  const x = new Scenario();
  for (const group of [1, 2, 3, 4]) x.groupSet(ALICE, group, 60, MAX_ORDER_AMOUNT);
  x.groupSet(BOB, 7, 60, MAX_ORDER_AMOUNT);
  return x;
}

describe('an order with a client order id or a group', () => {
  it('is reported by an ORDER_TAG right after its ORDER', () => {
    const x = withGroups();
    for (const tag of [{ clientId: 'a' }, { clientId: LONGEST }, { group: 3 }, { clientId: 'b', group: 4 }]) {
      const { types } = x.place({ account: ALICE, ...tag });
      assert.deepEqual(types.slice(0, 4), [EVENT.RECORD.TYPE, EVENT.ORDER.TYPE, EVENT.ORDER_TAG.TYPE, EVENT.REST.TYPE]);
    }
    assert.equal(x.engine.state.orders.tags.count, 4);
  });

  it('keeps it until it closes, in whatever way, and the row is used again', () => {
    const x = new Scenario();
    const first = x.place({ account: ALICE, ticks: 40, clientId: 'mine' });
    const { orders } = x.engine.state;
    const row = orders.tag[x.slotOf(first.hash) << WORD_SHIFT];
    x.cancel(ALICE, first.hash);
    assert.equal(orders.tags.count, 0);
    const second = x.place({ account: ALICE, ticks: 40, clientId: 'mine again' });
    assert.equal(orders.tag[x.slotOf(second.hash) << WORD_SHIFT], row);
    x.order(BOB, 'SELL Yes 10000 @ 40');
    assert.equal(orders.tags.count, 0, 'filled');
    x.order(BOB, 'SELL Yes 10 @ 40 FAK', { clientId: 'nothing to take' });
    assert.equal(orders.tags.count, 0, 'refused');
  });

  it('takes its turn in the queue like one without', () => {
    const x = withGroups();
    x.order(ALICE, 'BUY Yes 5 @ 40', { clientId: 'first' });
    x.order(BOB, 'BUY Yes 5 @ 40');
    assert.deepEqual(x.drawn(), ['bid 40  alice 5 Yes, bob 5 Yes']);
    x.order(BOB, 'SELL Yes 5 @ 40', { group: 7 });
    assert.deepEqual(x.drawn(), ['bid 40  bob 5 Yes']);
  });

  it('is there again after a replay and in what recovery tells', () => {
    const x = withGroups();
    const random = new Random(11);
    for (let i = 0; i < 300; i++) {
      const tag = random.chance(50) ? { clientId: `order ${i}`, group: random.below(3) } : {};
      const { hash } = x.place({ account: ALICE, lots: 10, ticks: random.between(10, 20), ...tag });
      if (random.chance(40)) x.cancel(ALICE, hash);
    }
    assert.ok(x.engine.state.orders.tags.count > 64, 'the rows have grown');
    assert.deepEqual(stateOf(x.replayed()), stateOf(x.engine));
  });

  it('changes the digest with every part of its tag', () => {
    const digests = [{}, { clientId: 'a' }, { clientId: 'b' }, { group: 1 }, { group: 2 }].map((tag) => {
      const x = withGroups();
      x.place({ account: ALICE, ...tag });
      return x.engine.state.digest.low;
    });
    assert.equal(new Set(digests).size, digests.length);
  });
});

describe('an extended command', () => {
  it('that says nothing of its order leaves no tag', () => {
    const x = new Scenario();
    const { types, hash } = x.place({ account: ALICE, deadlineMs: 0 });
    assert.ok(!types.includes(EVENT.ORDER_TAG.TYPE));
    assert.equal(x.engine.state.orders.tag[x.slotOf(hash) << WORD_SHIFT], NO_TAG);
  });

  it('is journaled whole, a plain one as short as ever', () => {
    const x = new Scenario();
    x.order(ALICE, 'BUY Yes 5 @ 40');
    x.order(ALICE, 'BUY Yes 5 @ 40', { clientId: 'a' });
    const lengths = x.journal.rows.slice(-2).map(({ command }) => command.bytes);
    assert.deepEqual(lengths, [COMMAND_BYTES[1], EXTENDED_PLACE.BYTES]);
  });

  it('is refused when the gateway saw its client order id in use, but a repeat still learns that it is one', () => {
    const x = new Scenario();
    const order = { account: ALICE, clientId: 'a', salt: 77 };
    assert.equal(x.place(order).reply.code, OK);
    assert.equal(errorKey(x.place({ ...order, clientIdTaken: true }).reply.code), 'DUPLICATE_ORDER');
    const other = { ...order, salt: 78, clientIdTaken: true, market: 99 };
    assert.equal(errorKey(x.place(other).reply.code), 'DUPLICATE_CLIENT_ORDER_ID');
  });
});
