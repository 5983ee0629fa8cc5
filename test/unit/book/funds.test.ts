/** Deposits, withdrawals, full sets and reservations of orders, to the micro-dollar (RULES.md 3, 9.3). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkInvariants } from '../../../engine/core/invariants.ts';
import { MARKET_STATUS, MAX_ORDER_AMOUNT, MOVEMENT, OUTCOME, SIDE } from '../../../shared/base/codes.ts';
import { E, OK } from '../../../shared/base/errors.ts';
import { MAX_SAFE } from '../../../shared/base/int.ts';
import { Balances, createBalances } from '../../../shared/wire/balances.ts';
import { EVENT } from '../../../shared/wire/events.ts';
import { stateOf } from '../../support/engine.ts';
import { EngineRig, fillsOf } from '../../support/engineRig.ts';
import { ALICE, BOB, FEES, Scenario } from '../../support/scenario.ts';

const { MERGE, SPLIT, WITHDRAWAL, DEPOSIT } = MOVEMENT;

describe('reserving', () => {
  it('exactly enough succeeds; one micro-dollar less is refused, and the refusal names what is missing', () => {
    const rig = new EngineRig();
    rig.market(0);
    rig.fund(1, 500_000);
    rig.fund(2, 499_999);
    assert.equal(rig.place({ account: 1 }).reply.code, OK);
    assert.deepEqual(rig.usdc(1), { available: 0, reserved: 500_000 });
    const { reply } = rig.place({ account: 2 });
    assert.deepEqual(reply, { code: E.INSUFFICIENT_BALANCE, sequence: 0, a: 500_000, b: 499_999, c: 0 });
    assert.deepEqual(rig.usdc(2), { available: 499_999, reserved: 0 });
  });

  it('exactly all tokens succeeds; one atomic less is refused', () => {
    const rig = new EngineRig();
    rig.market(0);
    for (const account of [1, 2]) rig.fund(account, 2_000_000);
    rig.convert(1, 0, 1_000_000);
    rig.convert(2, 0, 1_999_900);
    assert.equal(rig.place({ side: SIDE.SELL }).reply.code, OK);
    assert.deepEqual(rig.tokens(1, OUTCOME.YES), { available: 0, reserved: 1_000_000 });
    const { reply } = rig.place({ account: 2, side: SIDE.SELL, lots: 20_000 });
    assert.deepEqual([reply.code, reply.a, reply.b, reply.c], [E.INSUFFICIENT_BALANCE, 2_000_000, 1_999_900, 0]);
  });

  it('counts what other orders hold already, and gets it back when they go', () => {
    const rig = new EngineRig();
    rig.market(0);
    rig.fund(1, 800_000);
    const { hash } = rig.place({});
    const { reply } = rig.place({});
    assert.deepEqual([reply.code, reply.a, reply.b, reply.c], [E.INSUFFICIENT_BALANCE, 500_000, 300_000, 500_000]);
    rig.cancel(1, hash);
    assert.equal(rig.place({}).reply.code, OK);
  });

  it('a price improvement can be spent by the very next order', () => {
    const rig = new EngineRig();
    rig.market(0, { feeBps: 0 });
    rig.fund(1, 900_000);
    rig.fund(2, 1_000_000);
    rig.convert(2, 0, 1_000_000);
    rig.place({ account: 2, side: SIDE.SELL, ticks: 40, feeBps: 0 });
    rig.place({ ticks: 90, feeBps: 0 });
    assert.deepEqual(rig.usdc(1), { available: 500_000, reserved: 0 });
    assert.equal(rig.place({ ticks: 50, feeBps: 0 }).reply.code, OK);
  });

  it('if another shard spends first, between check and debit, the refusal names the rest', (t) => {
    const cells = createBalances(2);
    const [here, elsewhere] = [new Balances(cells, 0), new Balances(cells, 1)];
    const rig = new EngineRig({ balances: here });
    rig.market(0);
    rig.fund(1, 600_000);
    rig.commit();
    const { sequence } = rig.engine;
    const tryDebit = here.tryDebit.bind(here);
    let takenMicro = 0;
    t.mock.method(here, 'tryDebit', (account: number, micro: number) => {
      assert.ok(elsewhere.tryDebit(account, takenMicro));
      return tryDebit(account, micro);
    });
    takenMicro = 200_000;
    const { reply, types } = rig.place({});
    assert.deepEqual([reply.code, reply.sequence], [E.INSUFFICIENT_BALANCE, 0]);
    assert.deepEqual([reply.a, reply.b], [500_000, 400_000]);
    assert.deepEqual([rig.engine.sequence, types], [sequence, [EVENT.REPLY.TYPE]], 'nothing is journaled');
    takenMicro = 300_000;
    assert.equal(rig.convert(1, 0, 200_000).reply.code, E.INSUFFICIENT_BALANCE);
    takenMicro = 0;
    assert.equal(rig.convert(1, 0, 100_000).reply.code, OK);
    assert.equal(rig.engine.sequence, sequence + 1);
  });

  it('orders of 10^15 are exact', () => {
    const rig = new EngineRig();
    rig.market(0, { ticksPerUnit: 10_000, feeBps: 9_999 });
    for (const account of [1, 2]) rig.fund(account, MAX_ORDER_AMOUNT);
    const lots = MAX_ORDER_AMOUNT / 10_000;
    rig.place({ account: 1, ticks: 9_999, lots, feeBps: 9_999 });
    assert.deepEqual(rig.usdc(1), { available: 100_000_000_000, reserved: 999_900_000_000_000 });
    const outcome = rig.place({ account: 2, outcome: OUTCOME.NO, ticks: 1, lots, feeBps: 9_999 });
    assert.equal(fillsOf(outcome)[0].makerFee, 999_900_000_000_000);
    assert.deepEqual(rig.tokens(1, OUTCOME.YES), { available: 100_000_000_000, reserved: 0 });
    assert.deepEqual(rig.tokens(0, OUTCOME.NO), { available: 999_900_000_000_000, reserved: 0 });
    assert.equal(rig.engine.state.markets.peek(0)!.collateralMicro, MAX_ORDER_AMOUNT);
  });
});

describe('full sets', () => {
  it('split turns USDC into as many of both tokens, merge turns them back', () => {
    const x = new Scenario();
    assert.equal(x.convert(ALICE, 0, 700, SPLIT).reply.code, OK);
    assert.equal(x.moved(ALICE), 'usdc -700, yes +700, no +700');
    assert.equal(x.minted(), 700);
    assert.equal(x.convert(ALICE, 0, 500, MERGE).reply.code, OK);
    assert.equal(x.moved(ALICE), 'usdc -200, yes +200, no +200');
    assert.equal(x.minted(), 200);
  });

  it('are split in whole lots, at least one, and merged in any number', () => {
    const x = new Scenario();
    for (const amount of [0, 1, 99, 101]) {
      assert.deepEqual(x.tell(x.convert(ALICE, 0, amount, SPLIT)), ['refused INVALID_LOT']);
    }
    assert.deepEqual(x.tell(x.convert(ALICE, 0, 0, MERGE)), ['refused INVALID_LOT']);
    assert.equal(x.moved(ALICE), 'nothing');
    for (const amount of [1, 99, 101]) assert.deepEqual(x.tell(x.convert(ALICE, 0, amount, MERGE)), []);
    assert.match(x.moved(ALICE), /201/);
  });

  it('need all of it unreserved: the USDC of a split, both tokens of a merge', () => {
    const x = new Scenario();
    const split = x.convert(ALICE, 0, 1_000_000_100, SPLIT);
    assert.deepEqual(x.tell(split), ['refused INSUFFICIENT_BALANCE']);
    assert.deepEqual([split.reply.a, split.reply.b, split.reply.c], [1_000_000_100, 1_000_000_000, 0]);
    x.order(ALICE, 'SELL No 1 @ 60');
    const merge = x.convert(ALICE, 0, 1_000_000_000, MERGE);
    assert.deepEqual(x.tell(merge), ['refused INSUFFICIENT_BALANCE']);
    assert.deepEqual([merge.reply.a, merge.reply.b, merge.reply.c], [1_000_000_000, 999_999_900, 100]);
    assert.deepEqual(x.tell(x.convert(ALICE, 0, 999_999_900, MERGE)), []);
  });
});

describe('deposits and withdrawals', () => {
  it('a reference is used once: a repeat is answered and changes nothing', () => {
    const x = new Scenario();
    assert.equal(x.fund(ALICE, 100, DEPOSIT, 77).reply.code, OK);
    const rows = x.journal.rows.length;
    assert.deepEqual(x.fund(ALICE, 100, DEPOSIT, 77).reply, { code: OK, sequence: 0, a: 0, b: 0, c: 0 });
    assert.equal(x.fund(BOB, 900, WITHDRAWAL, 77).reply.code, OK);
    assert.equal(x.moved(ALICE), 'usdc +100');
    assert.equal(x.moved(BOB), 'nothing');
    assert.equal(x.journal.rows.length, rows);
  });

  it('a repeated withdrawal is answered even if the money is gone', () => {
    const rig = new EngineRig();
    rig.fund(1, 100);
    assert.equal(rig.fund(1, 100, WITHDRAWAL, 5).reply.code, OK);
    assert.equal(rig.fund(1, 100, WITHDRAWAL, 5).reply.code, OK);
    assert.deepEqual(rig.usdc(1), { available: 0, reserved: 0 });
  });

  it('a refused withdrawal does not use up its reference', () => {
    const rig = new EngineRig();
    assert.equal(rig.fund(1, 100, WITHDRAWAL, 5).reply.code, E.INSUFFICIENT_BALANCE);
    rig.fund(1, 100);
    assert.equal(rig.fund(1, 100, WITHDRAWAL, 5).reply.code, OK);
    assert.deepEqual(rig.usdc(1), { available: 0, reserved: 0 });
  });

  it('a withdrawal takes available USDC, not the USDC that orders hold', () => {
    const rig = new EngineRig();
    rig.market(0);
    rig.fund(1, 600_000);
    rig.place({});
    const { reply } = rig.fund(1, 100_001, WITHDRAWAL);
    assert.deepEqual([reply.code, reply.a, reply.b, reply.c], [E.INSUFFICIENT_BALANCE, 100_001, 100_000, 500_000]);
    assert.equal(rig.fund(1, 100_000, WITHDRAWAL).reply.code, OK);
    assert.deepEqual(rig.usdc(1), { available: 0, reserved: 500_000 });
  });

  it('deposits end at 2^53 - 1, where sums would stop being exact', () => {
    const rig = new EngineRig();
    assert.equal(rig.fund(1, MAX_SAFE - 1).reply.code, OK);
    assert.equal(rig.fund(2, 2).reply.code, E.VALIDATION_ERROR);
    assert.equal(rig.fund(2, 1).reply.code, OK);
    assert.equal(rig.usdc(1).available, MAX_SAFE - 1);
  });
});

/** Without collateral, with the largest possible order in lots of its market. */
function withoutCollateral(balances?: Balances): { rig: EngineRig; lots: number } {
  const rig = new EngineRig({ collateralCheck: false, balances });
  rig.market(0, { ticksPerUnit: 10 });
  return { rig, lots: MAX_ORDER_AMOUNT / 10 };
}

describe('without the collateral check', () => {
  it('orders may overdraw, and everything still adds up', () => {
    const rig = new EngineRig({ collateralCheck: false });
    rig.market(0);
    rig.place({ account: 1, ticks: 60 });
    rig.place({ account: 2, side: SIDE.SELL, ticks: 60 });
    assert.deepEqual(rig.usdc(1), { available: -600_000, reserved: 0 });
    assert.deepEqual(rig.tokens(2, OUTCOME.YES), { available: -1_000_000, reserved: 0 });
    assert.deepEqual(rig.usdc(FEES).available + rig.usdc(2).available, 600_000);
  });

  it('withdrawals and full sets may not', () => {
    const rig = new EngineRig({ collateralCheck: false });
    rig.market(0);
    assert.equal(rig.fund(1, 1, WITHDRAWAL).reply.code, E.INSUFFICIENT_BALANCE);
    assert.equal(rig.convert(1, 0, 1_000_000, SPLIT).reply.code, E.INSUFFICIENT_BALANCE);
    assert.equal(rig.convert(1, 0, 1_000_000, MERGE).reply.code, E.INSUFFICIENT_BALANCE);
  });

  it('orders are stopped before the sums stop being exact', () => {
    const { rig, lots } = withoutCollateral();
    const codes = [1, 2, 3, 4].map(() => rig.place({ ticks: 9, lots }).reply.code);
    assert.deepEqual(codes, [OK, OK, OK, E.INSUFFICIENT_BALANCE]);
    const { reply } = rig.place({ ticks: 9, lots });
    assert.deepEqual([reply.a, reply.b, reply.c], [4 * MAX_ORDER_AMOUNT, 3.6e15, 2.7e15]);
  });

  for (const [name, maker, taker] of [
    ['what one account buys from many', { side: SIDE.SELL, ticks: 1 }, { side: SIDE.BUY, ticks: 1 }],
    ['what one account is paid by many', { side: SIDE.BUY, ticks: 9 }, { side: SIDE.SELL, ticks: 9 }],
    ['the collateral of a market', { side: SIDE.BUY, ticks: 9 }, { side: SIDE.BUY, outcome: OUTCOME.NO, ticks: 1 }],
    ['a collateral below zero', { side: SIDE.SELL, ticks: 9 }, { side: SIDE.SELL, outcome: OUTCOME.NO, ticks: 1 }],
  ] as const) {
    it(`${name} stays exact, up to the payout`, () => {
      const { rig, lots } = withoutCollateral();
      let refusals = 0;
      for (let seller = 10; seller < 30; seller++) {
        for (const order of [
          { ...maker, account: seller },
          { ...taker, account: 1 },
        ]) {
          const { code } = rig.place({ ...order, lots }).reply;
          if (code === E.INSUFFICIENT_BALANCE) refusals++;
          else assert.equal(code, OK);
        }
      }
      assert.ok(refusals > 0 && refusals < 39, `${refusals} of 40 orders are too much`);
      assert.equal(rig.resolve(0, 1_000_000).reply.code, OK);
      assert.equal(rig.settle().reply.code, OK);
      assert.deepEqual(stateOf(rig.replayed(false)), stateOf(rig.engine));
    });
  }

  it('a full exchange has room again once something is bought back', () => {
    const { rig, lots } = withoutCollateral();
    const hashes = [1, 2, 3].map(() => rig.place({ ticks: 9, lots }).hash);
    assert.equal(rig.fund(2, 3.7e15).reply.code, E.INSUFFICIENT_BALANCE);
    assert.equal(rig.cancel(1, hashes[0]).reply.code, OK);
    assert.equal(rig.fund(2, 3.7e15).reply.code, OK);
  });

  it('a full exchange merges and pays out', () => {
    const { rig } = withoutCollateral();
    assert.equal(rig.fund(1, 3e15).reply.code, OK);
    assert.equal(rig.convert(1, 0, 2e15, SPLIT).reply.code, OK);
    assert.equal(rig.fund(2, 4e15).reply.code, OK);
    assert.equal(rig.engine.state.exactBound!.room, 0);
    assert.equal(rig.convert(1, 0, 1e15, MERGE).reply.code, OK);
    assert.equal(rig.fund(2, 1e15).reply.code, OK);
    assert.equal(rig.resolve(0, 1_000_000).reply.code, OK);
    assert.equal(rig.claim(1).reply.code, OK);
    assert.equal(rig.engine.state.exactBound!.room, 1e15);
  });

  it('may begin with more than the bound, and then takes nothing more', () => {
    const rig = new EngineRig();
    rig.market(0);
    assert.equal(rig.fund(1, 8e15).reply.code, OK);
    assert.equal(rig.convert(1, 0, 8e15, SPLIT).reply.code, OK);
    const { state } = rig.replayed(false);
    checkInvariants(state);
    assert.equal(state.exactBound!.room, 0);
  });

  it('each shard has its share of the bound', () => {
    const { rig, lots } = withoutCollateral(new Balances(createBalances(2)));
    assert.equal(rig.place({ ticks: 9, lots }).reply.code, OK);
    assert.equal(rig.place({ ticks: 9, lots }).reply.code, E.INSUFFICIENT_BALANCE);
  });
});

it('a market that is no longer active keeps what its accounts hold', () => {
  const x = new Scenario();
  x.patch(0, { status: MARKET_STATUS.LOCKED });
  assert.deepEqual(x.tell(x.convert(ALICE, 0, 1_000_000_000, MERGE)), []);
  assert.equal(x.moved(ALICE), 'usdc +1000000000, yes -1000000000, no -1000000000');
});
