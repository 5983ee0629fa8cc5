/** One order gives way to another, or stays as it was (RULES.md 7.10). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SELF_TRADE, SIDE, TIME_IN_FORCE } from '../../../shared/base/codes.ts';
import { OK } from '../../../shared/base/errors.ts';
import { Balances, createBalances } from '../../../shared/wire/balances.ts';
import { REPLACE_ELSEWHERE, REPLACE_MODE } from '../../../shared/wire/commands.ts';
import { EVENT } from '../../../shared/wire/events.ts';
import { errorKey, stateOf } from '../../support/engine.ts';
import { type CommandResult, EngineRig, type PlaceOptions } from '../../support/engineRig.ts';
import { ALICE, BOB, CAROL, Scenario } from '../../support/scenario.ts';

const { AMEND, CANCEL_REPLACE } = REPLACE_MODE;

/** A Yes bid of alice for 10 lots at 40 between an older one of bob and a newer one of carol. */
function queued(): { x: Scenario; old: Uint32Array } {
  const x = new Scenario();
  x.order(BOB, 'BUY Yes 5 @ 40');
  x.order(ALICE, 'BUY Yes 10 @ 40');
  const old = x.lastHash;
  x.order(CAROL, 'BUY Yes 5 @ 40');
  return { x, old };
}

/** Refused, and nothing is different: not the state, not the journal. */
function refused(x: EngineRig, expected: string, run: () => CommandResult): void {
  const before = stateOf(x.engine);
  const rows = x.journal.rows.length;
  const { reply, types } = run();
  assert.equal(errorKey(reply.code), expected);
  assert.deepEqual(types, [EVENT.REPLY.TYPE]);
  assert.equal(x.journal.rows.length, rows);
  assert.deepEqual(stateOf(x.engine), before);
}

describe('a replacement', () => {
  it('is one record: the old order closed by its user, then the new one as if just placed', () => {
    const { x, old } = queued();
    const rows = x.journal.rows.length;
    const outcome = x.replace(old, { account: ALICE, lots: 7, ticks: 41 });
    assert.deepEqual(x.tell(outcome), ['alice user 10 left', 'alice rests 7']);
    assert.equal(x.journal.rows.length, rows + 1);
    assert.deepEqual(x.drawn(), ['bid 41  alice 7 Yes', 'bid 40  bob 5 Yes, carol 5 Yes']);
    assert.equal(x.moved(ALICE), 'usdc -287 (reserved 287)');
    assert.deepEqual([outcome.reply.a, outcome.reply.b], [0, 1]);
    assert.equal(errorKey(x.cancel(ALICE, old).reply.code), 'ORDER_NOT_CANCELLABLE');
  });

  it('of the same price goes to the end of the queue unless it is an amend', () => {
    const { x, old } = queued();
    const { reply } = x.replace(old, { account: ALICE, lots: 10, ticks: 40 });
    assert.deepEqual(x.drawn(), ['bid 40  bob 5 Yes, carol 5 Yes, alice 10 Yes']);
    assert.deepEqual([reply.a, reply.b], [0, 0]);
  });

  it('may trade at once, also for the other outcome and side', () => {
    const { x, old } = queued();
    x.order(BOB, 'SELL Yes 4 @ 45');
    const outcome = x.replace(old, { account: ALICE, lots: 6, ticks: 45 });
    assert.deepEqual(x.tell(outcome).slice(0, 2), ['alice user 10 left', 'standard 4 @ 45: bob fee 0, alice fee 2']);
    const other = x.replace(outcome.hash, { account: ALICE, side: SIDE.SELL, outcome: 1, lots: 3, ticks: 70 });
    assert.equal(other.reply.code, OK);
    assert.deepEqual(x.drawn(), ['bid 40  bob 5 Yes, carol 5 Yes', 'bid 30  alice 3 No']);
  });

  it('does not meet the order it replaces', () => {
    const x = new Scenario();
    x.order(ALICE, 'SELL Yes 10 @ 50');
    const outcome = x.replace(x.lastHash, { account: ALICE, lots: 10, ticks: 55, postOnly: true });
    assert.deepEqual(x.tell(outcome), ['alice user 10 left', 'alice rests 10']);
    x.order(BOB, 'SELL Yes 5 @ 60');
    x.order(ALICE, 'SELL Yes 10 @ 58');
    refused(x, 'FOK_NOT_FILLED', () => {
      return x.replace(x.lastHash, { account: ALICE, lots: 10, ticks: 60, timeInForce: TIME_IN_FORCE.FOK });
    });
    const newest = { account: ALICE, lots: 5, ticks: 60, selfTrade: SELF_TRADE.CANCEL_NEWEST };
    assert.deepEqual(x.tell(x.replace(x.lastHash, newest)).slice(0, 2), [
      'alice user 10 left',
      'standard 5 @ 60: bob fee 1, alice fee 2',
    ]);
  });

  it('of a dormant order is possible, and does not keep its place', () => {
    const { x, old } = queued();
    x.patch(0, { feeBps: 40 });
    const { reply } = x.amend(old, { account: ALICE, lots: 10, ticks: 40, feeBps: 40 });
    assert.deepEqual([reply.code, reply.a], [OK, 0]);
    assert.deepEqual(x.drawn(), ['bid 40  alice 10 Yes']);
    x.patch(0, { feeBps: 50 });
    assert.deepEqual(x.drawn(), ['bid 40  bob 5 Yes, carol 5 Yes']);
  });

  it('carries its own client order id, which the old one gives up', () => {
    const x = new Scenario();
    const first = x.place({ account: ALICE, lots: 10, clientId: 'same' });
    const second = x.amend(first.hash, { account: ALICE, lots: 10, clientId: 'same' });
    assert.deepEqual(second.types.slice(0, 5), [
      EVENT.RECORD.TYPE,
      EVENT.CLOSED.TYPE,
      EVENT.ORDER.TYPE,
      EVENT.ORDER_TAG.TYPE,
      EVENT.REST.TYPE,
    ]);
    assert.equal(x.engine.state.orders.tags.count, 1);
  });
});

describe('an amend', () => {
  it('that only shrinks keeps its place in the queue, again and again', () => {
    const { x, old } = queued();
    const first = x.amend(old, { account: ALICE, lots: 10, ticks: 40 });
    assert.deepEqual([first.reply.a, first.reply.b], [1, 0]);
    const second = x.amend(first.hash, { account: ALICE, lots: 3, ticks: 40 });
    assert.equal(second.reply.a, 1);
    assert.deepEqual(x.drawn(), ['bid 40  bob 5 Yes, alice 3 Yes, carol 5 Yes']);
    assert.deepEqual(stateOf(x.replayed()), stateOf(x.engine));
    x.order(BOB, 'SELL Yes 6 @ 40');
    assert.deepEqual(x.drawn(), ['bid 40  alice 2 Yes, carol 5 Yes']);
  });

  it('at the head, in the middle and at the end of a queue stays exactly there', () => {
    for (const at of [0, 1, 2]) {
      const x = new Scenario();
      const hashes = [BOB, ALICE, CAROL].map((account) => x.place({ account, lots: 5, ticks: 40 }).hash);
      x.amend(hashes[at], { account: [BOB, ALICE, CAROL][at], lots: 4, ticks: 40 });
      const names = ['bob 5 Yes', 'alice 5 Yes', 'carol 5 Yes'].with(at, `${['bob', 'alice', 'carol'][at]} 4 Yes`);
      assert.deepEqual(x.drawn(), [`bid 40  ${names.join(', ')}`]);
    }
  });

  it('that grows by a lot, or moves by a tick, goes to the end', () => {
    for (const change of [
      { lots: 11, ticks: 40 },
      { lots: 10, ticks: 39 },
    ]) {
      const { x, old } = queued();
      const { reply, events } = x.amend(old, { account: ALICE, ...change });
      assert.deepEqual([reply.a, reply.b], [0, change.ticks === 40 ? 0 : 1]);
      const { order } = events.at(-1)! as { order: number };
      const last = x.amend(x.hashOf(order), { account: ALICE, lots: change.lots, ticks: 40 });
      assert.equal(last.reply.a, change.ticks === 40 ? 1 : 0, 'and its place at the end is its own');
      const lots = change.lots;
      assert.deepEqual(x.drawn(), [`bid 40  bob 5 Yes, carol 5 Yes, alice ${lots} Yes`]);
    }
  });

  it('is measured against the remainder of the old order', () => {
    const x = new Scenario();
    x.order(ALICE, 'BUY Yes 10 @ 40');
    const old = x.lastHash;
    x.order(CAROL, 'BUY Yes 5 @ 40');
    x.order(BOB, 'SELL Yes 6 @ 40');
    assert.equal(x.amend(old, { account: ALICE, lots: 5, ticks: 40 }).reply.a, 0);
    assert.deepEqual(x.drawn(), ['bid 40  carol 5 Yes, alice 5 Yes']);
  });

  it('keeps the place of its priority through sleep and snapshot order', () => {
    const { x, old } = queued();
    x.amend(old, { account: ALICE, lots: 9, ticks: 40 });
    x.patch(0, { feeBps: 40 });
    x.order(BOB, 'BUY Yes 1 @ 40');
    x.patch(0, { feeBps: 50 });
    assert.deepEqual(x.drawn(), ['bid 40  bob 5 Yes, alice 9 Yes, carol 5 Yes']);
    assert.deepEqual(stateOf(x.replayed()), stateOf(x.engine));
  });

  it('of another outcome, side or market is refused', () => {
    const { x, old } = queued();
    const second = x.open();
    x.endow(second);
    const order = { account: ALICE, lots: 1, ticks: 30 };
    for (const mode of [AMEND, CANCEL_REPLACE]) {
      refused(x, 'REPLACES_ANOTHER_MARKET', () => x.replace(old, { ...order, market: second }, mode));
      refused(x, 'REPLACES_ANOTHER_MARKET', () => x.replace(old, order, mode | REPLACE_ELSEWHERE));
    }
    refused(x, 'REPLACES_ANOTHER_MARKET', () => x.amend(old, { ...order, outcome: 1 }));
    refused(x, 'REPLACES_ANOTHER_MARKET', () => x.amend(old, { ...order, side: SIDE.SELL }));
  });
});

describe('a refused replacement leaves the old order where it was', () => {
  it('whatever the reason', () => {
    const { x, old } = queued();
    x.order(BOB, 'SELL Yes 3 @ 45');
    const order = { account: ALICE, lots: 10, ticks: 40 };
    const reasons: [string, PlaceOptions][] = [
      ['INVALID_TICK', { ticks: 0 }],
      ['FORBIDDEN', { authorized: false }],
      ['FEE_RATE_MISMATCH', { feeBps: 1 }],
      ['POST_ONLY_WOULD_CROSS', { ticks: 45, postOnly: true }],
      ['FOK_NOT_FILLED', { ticks: 45, timeInForce: TIME_IN_FORCE.FOK }],
      ['FAK_NO_FILL', { timeInForce: TIME_IN_FORCE.FAK }],
      ['INSUFFICIENT_BALANCE', { lots: 30_000_000 }],
      ['ORDER_EXPIRED', { expirationSec: 1 }],
    ];
    for (const [expected, change] of reasons) {
      for (const mode of [AMEND, CANCEL_REPLACE])
        refused(x, expected, () => x.replace(old, { ...order, ...change }, mode));
    }
    assert.deepEqual(x.drawn(), ['ask 45  bob 3 Yes', 'bid 40  bob 5 Yes, alice 10 Yes, carol 5 Yes']);
  });

  it('alone at the best price as well', () => {
    const x = new Scenario();
    x.order(ALICE, 'SELL Yes 10 @ 50');
    x.order(BOB, 'SELL Yes 10 @ 52');
    refused(x, 'POST_ONLY_WOULD_CROSS', () => x.replace(x.lastHash, { account: BOB, ticks: 50, postOnly: true }));
    assert.deepEqual(x.drawn(), ['ask 50  alice 10 Yes', 'ask 52  bob 10 Yes']);
  });

  it('and tells a stranger nothing', () => {
    const { x, old } = queued();
    const order = { account: BOB, lots: 1, ticks: 30 };
    refused(x, 'ORDER_NOT_FOUND', () => x.replace(old, order));
    refused(x, 'ORDER_NOT_FOUND', () => x.replace(new Uint32Array(8).fill(9), order));
    x.cancel(ALICE, old);
    refused(x, 'ORDER_NOT_FOUND', () => x.replace(old, order));
    refused(x, 'ORDER_NOT_CANCELLABLE', () => x.replace(old, { ...order, account: ALICE }));
  });
});

describe('the reservation of the old order', () => {
  it('pays for the new one, to the last micro', () => {
    const x = new EngineRig();
    x.market(0, { minOrderAtomic: 100 });
    x.fund(1, 1000);
    const { hash } = x.place({ lots: 10, ticks: 50 });
    const larger = x.replace(hash, { lots: 20, ticks: 50 });
    assert.equal(larger.reply.code, OK);
    assert.deepEqual(x.usdc(1), { available: 0, reserved: 1000 });
    const short = x.replace(larger.hash, { lots: 20, ticks: 51 });
    assert.equal(errorKey(short.reply.code), 'INSUFFICIENT_BALANCE');
    assert.deepEqual([short.reply.a, short.reply.b, short.reply.c], [1020, 1000, 0]);
    assert.equal(x.replace(larger.hash, { lots: 1, ticks: 50 }).reply.code, OK);
    assert.deepEqual(x.usdc(1), { available: 950, reserved: 50 });
  });

  it('counts in tokens for a sale of the same outcome, and not for another asset', () => {
    const x = new EngineRig();
    x.market(0, { minOrderAtomic: 100 });
    x.fund(1, 1000);
    x.convert(1, 0, 1000);
    const { hash } = x.place({ side: SIDE.SELL, lots: 10, ticks: 50 });
    assert.equal(errorKey(x.replace(hash, { lots: 1, ticks: 50 }).reply.code), 'INSUFFICIENT_BALANCE');
    const again = x.replace(hash, { side: SIDE.SELL, lots: 10, ticks: 60 });
    assert.equal(again.reply.code, OK);
    assert.deepEqual(x.tokens(1, 0), { available: 0, reserved: 1000 });
    assert.equal(x.replace(again.hash, { side: SIDE.SELL, outcome: 1, lots: 10, ticks: 60 }).reply.code, OK);
    assert.deepEqual(x.tokens(1, 0), { available: 1000, reserved: 0 });
    assert.deepEqual(x.tokens(1, 1), { available: 0, reserved: 1000 });
  });

  it('is still there when another shard wins the rest in between', () => {
    /** Looks full, and loses every race. */
    class Beaten extends Balances {
      isBeaten = false;
      override tryDebit(account: number, micro: number): boolean {
        return !this.isBeaten && super.tryDebit(account, micro);
      }
    }
    const balances = new Beaten(createBalances());
    const x = new EngineRig({ balances });
    x.market(0, { minOrderAtomic: 100 });
    x.fund(1, 1000);
    const { hash } = x.place({ lots: 10, ticks: 50 });
    balances.isBeaten = true;
    refused(x, 'INSUFFICIENT_BALANCE', () => x.replace(hash, { lots: 11, ticks: 50 }));
    assert.equal(x.replace(hash, { lots: 10, ticks: 50 }).reply.code, OK, 'without a need of more nobody is asked');
  });

  it('is not seen by other shards before the commit', () => {
    const balances = new Balances(createBalances());
    const x = new EngineRig({ balances });
    x.market(0, { minOrderAtomic: 100 });
    x.fund(1, 1000);
    const { hash } = x.place({ lots: 10, ticks: 50 });
    x.commitsAtOnce = false;
    x.replace(hash, { lots: 2, ticks: 50 });
    assert.equal(balances.availableMicro(1), 500);
    x.commit();
    assert.equal(balances.availableMicro(1), 900);
  });
});
