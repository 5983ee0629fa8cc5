/** A fill that the chain refuses is undone in the ledger (RULES.md 17.40). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Accounting } from '../../../../engine/admin/accounting.ts';
import { checkInvariants } from '../../../../engine/core/invariants.ts';
import { FEE_ACCOUNT, OUTCOME, SIDE } from '../../../../shared/base/codes.ts';
import { E, OK } from '../../../../shared/base/errors.ts';
import { bpsFloor } from '../../../../shared/base/int.ts';
import { PPM } from '../../../../shared/base/payout.ts';
import { decodeEvents } from '../../../../shared/wire/events.ts';
import { EngineRig } from '../../../support/engineRig.ts';
import { Random } from '../../../support/random.ts';
import { seedOr, timesOf } from '../../../support/seeds.ts';
import { fillsOf, receivedBy, type UnwindableFill, unwind } from '../../../support/unwinding.ts';

const ACCOUNTS = [1, 2, 3];
const FEE_BPS = 50;
const TICKS_PER_UNIT = 100;
const START = 10_000_000_000;

class Rig {
  readonly engine = new EngineRig();

  constructor() {
    this.engine.market(0, { minOrderAtomic: TICKS_PER_UNIT });
    for (const account of ACCOUNTS) {
      this.engine.fund(account, START);
      this.engine.convert(account, 0, 1_000_000_000);
    }
  }

  get fills(): UnwindableFill[] {
    return fillsOf(this.engine);
  }

  unwind(fill: UnwindableFill): number {
    return unwind(this.engine, fill);
  }

  balances(): number[][] {
    return [FEE_ACCOUNT, ...ACCOUNTS].map((account) => {
      const { available, reserved } = this.engine.usdc(account);
      const tokens = [OUTCOME.YES, OUTCOME.NO].map((outcome) => this.engine.tokens(account, outcome));
      return [available + reserved, ...tokens.map((held) => held.available + held.reserved)];
    });
  }

  /** Fees of all orders, as if the fills that were undone had never been: USDC, Yes, No. */
  fees(): number[] {
    const { fills } = this;
    const orders = new Map(fills.flatMap(({ maker, taker }) => [maker, taker]).map((party) => [party.order, party]));
    const fees = [0, 0, 0];
    for (const [order, { side, outcome }] of orders) {
      fees[side === SIDE.SELL ? 0 : 1 + outcome]! += bpsFloor(receivedBy(order, fills), FEE_BPS);
    }
    return fees;
  }

  collateral(): number {
    return this.engine.engine.state.markets.peek(0)!.collateralMicro;
  }
}

const seed = seedOr(5);
const FILLS = timesOf({ suite: 60, soak: 600 });

describe('an unwinding', () => {
  it(`leaves the balances as if the fill had never been, whichever fills are undone, seed ${seed}`, () => {
    const random = new Random(seed);
    const rig = new Rig();
    const { engine } = rig;
    const refused = new Set<number>();
    let undone = 0;
    for (let turn = 0; undone < FILLS; turn++) {
      assert.ok(turn < FILLS * 40, `${undone} fills are undone after ${turn} orders`);
      const [account, side, outcome] = [random.pick(ACCOUNTS), random.below(2), random.below(2)];
      const [ticks, lots] = [random.between(45, 55), random.between(1, 3000)];
      engine.place({ account, side, outcome, ticks, lots, selfTrade: 0 });
      if (!random.chance(40)) continue;
      if (random.chance(20)) engine.cancelMany(account);
      // Later fills of an order that goes on pay fees that depend on all earlier fills.
      const fills = rig.fills.filter(({ maker, taker }) => !maker.isOpen && !taker.isOpen);
      if (fills.length === 0) continue;
      const before = [rig.balances(), rig.collateral()];
      const code = rig.unwind(random.pick(fills));
      if (code === OK) undone++;
      if (code === OK) continue;
      refused.add(code);
      assert.deepEqual([rig.balances(), rig.collateral()], before, 'a refusal changes nothing');
    }
    assert.deepEqual(
      [...refused].filter((code) => code !== E.INSUFFICIENT_BALANCE),
      [],
    );
    assert.deepEqual(rig.balances()[0], rig.fees());
    const sums = rig.balances().reduce((sum, [usdc]) => sum + usdc!, 0);
    assert.equal(sums + rig.collateral(), START * ACCOUNTS.length, 'no USDC is made or lost');
    const differences: string[] = [];
    const accounting = new Accounting((difference) => differences.push(difference));
    for (const row of engine.journal.rows) accounting.record(row);
    assert.deepEqual(differences, [], 'another bookkeeping comes to the same');
    checkInvariants(engine.replayed().state);
  });

  it('takes over a split of the chain as well, as one movement of its account', () => {
    const { engine } = new Rig();
    const before = [engine.usdc(1).available, engine.tokens(1, OUTCOME.NO).available];
    const none = [0, 0, 0] as const;
    const changes = { maker: [-700, 700, 700], taker: none, fee: none } as const;
    const { reply } = engine.unwind({ market: 0, account: 1, takerAccount: 1, reference: 9 }, changes);
    assert.equal(reply.code, OK);
    const { events } = engine.journal.rows.at(-1)!;
    assert.deepEqual(
      [...decodeEvents(events.words, events.word, events.end)].flatMap((event) => {
        return event.name === 'UNWOUND' ? [event.account] : [];
      }),
      [1],
    );
    assert.deepEqual(
      [engine.usdc(1).available, engine.tokens(1, OUTCOME.NO).available],
      [before[0]! - 700, before[1]! + 700],
    );
    checkInvariants(engine.replayed().state);
  });

  it('is done once, and answered again', () => {
    const rig = new Rig();
    rig.engine.place({ account: 1, side: SIDE.SELL, outcome: OUTCOME.YES, ticks: 60, lots: 1000 });
    rig.engine.place({ account: 2, side: SIDE.BUY, outcome: OUTCOME.YES, ticks: 60, lots: 1000 });
    const before = new Rig().balances();
    const [fill] = rig.fills;
    assert.equal(rig.unwind(fill!), OK);
    assert.deepEqual(rig.balances(), before);
    assert.equal(rig.unwind(fill!), OK);
    assert.deepEqual(rig.balances(), before);
  });

  it('is refused where an account has spent what it received, with what is missing', () => {
    const rig = new Rig();
    rig.engine.place({ account: 1, side: SIDE.SELL, outcome: OUTCOME.YES, ticks: 60, lots: 1000 });
    rig.engine.place({ account: 2, side: SIDE.BUY, outcome: OUTCOME.YES, ticks: 60, lots: 1000 });
    const held = rig.engine.tokens(2, OUTCOME.YES).available;
    rig.engine.place({ account: 2, side: SIDE.SELL, outcome: OUTCOME.YES, ticks: 99, lots: Math.floor(held / 100) });
    const [fill] = rig.fills;
    assert.equal(rig.unwind(fill!), E.INSUFFICIENT_BALANCE);
    rig.engine.cancelMany(2);
    assert.equal(rig.unwind(fill!), OK);
  });

  it('is refused where it does not add up, in a market that is not there, and in one whose holders were paid', () => {
    const rig = new Rig();
    const of = { market: 0, account: 1, takerAccount: 2, reference: 9 };
    const nothing = [0, 0, 0] as const;
    const code = (changes: Parameters<EngineRig['unwind']>[1], where = of) =>
      rig.engine.unwind(where, changes).reply.code;
    assert.equal(code({ maker: [1, 0, 0], taker: nothing, fee: nothing }), E.VALIDATION_ERROR);
    assert.equal(code({ maker: nothing, taker: [0, 1, 0], fee: nothing }), E.VALIDATION_ERROR);
    assert.equal(code({ maker: [-2, 1, 1], taker: nothing, fee: nothing }), E.VALIDATION_ERROR);
    assert.equal(code({ maker: [2 ** 51, 0, 0], taker: [-(2 ** 51), 0, 0], fee: nothing }), E.VALIDATION_ERROR);
    const even = { maker: [5, -5, 0], taker: [-5, 5, 0], fee: nothing } as const;
    assert.equal(code(even, { ...of, market: 7 }), E.MARKET_NOT_FOUND);
    rig.engine.resolve(0, PPM);
    assert.equal(code(even), OK, 'of a market that is decided the tokens are still there');
    rig.engine.settle(0);
    assert.equal(code(even, { ...of, reference: 10 }), E.MARKET_NOT_ACTIVE);
  });
});
