/** The end of a market: it is decided, holders are paid, and not a millionth of a micro is lost (RULES.md 3.4, 9.6). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MARKET_STATUS, MARKET_STATUS_NAMES, MOVEMENT, OUTCOME, SIDE } from '../../../shared/base/codes.ts';
import { OK } from '../../../shared/base/errors.ts';
import { PPM } from '../../../shared/base/payout.ts';
import { errorKey, stateOf } from '../../support/engine.ts';
import { type CommandResult, EngineRig } from '../../support/engineRig.ts';
import { Random } from '../../support/random.ts';
import { ALICE, BOB, CAROL, FEES, Scenario } from '../../support/scenario.ts';

const { DRAFT, PENDING, ACTIVE, LOCKED, RESOLVING, RESOLVED, SETTLED, CANCELLED } = MARKET_STATUS;
const STATUSES = [DRAFT, PENDING, ACTIVE, LOCKED, RESOLVING, RESOLVED, SETTLED, CANCELLED];
const NOW = 1_800_000_000_000;

const codeOf = ({ reply }: CommandResult): string => errorKey(reply.code);

/** A market without fees or tokens, and three accounts with ten USDC each. */
function emptyMarket(options: { feeBps?: number; collateralCheck?: boolean } = {}): EngineRig {
  const rig = new EngineRig({ collateralCheck: options.collateralCheck });
  rig.market(0, { feeBps: options.feeBps ?? 0, minOrderAtomic: 100 });
  for (const account of [ALICE, BOB, CAROL]) rig.fund(account, 10_000_000);
  return rig;
}

function marketOf(rig: EngineRig, index = 0) {
  const market = rig.engine.state.markets.peek(index);
  assert.ok(market !== undefined);
  return market;
}

/** Brings a market there by the ways there are. */
function moveTo(rig: EngineRig, index: number, status: number): void {
  if (status === RESOLVED || status === SETTLED) rig.resolve(index, PPM);
  else if (status === CANCELLED) rig.resolve(index, PPM, CANCELLED);
  else if (status === LOCKED || status === RESOLVING) rig.patch(index, { status: LOCKED });
  if (status === SETTLED) rig.settle(index);
  if (status === RESOLVING) rig.patch(index, { status: RESOLVING });
  assert.equal(marketOf(rig, index).status, status);
}

describe('a decision', () => {
  it('ends every open order, the dormant ones too, and releases what they held', () => {
    const x = new Scenario({ feeBps: 0 });
    x.order(ALICE, 'BUY Yes 1 @ 60');
    x.order(BOB, 'SELL No 2 @ 45');
    x.patch(0, { feeBps: 10 });
    x.order(CAROL, 'SELL Yes 3 @ 70');
    x.order(ALICE, 'BUY No 4 @ 20');
    assert.deepEqual(x.tell(x.resolve(0, PPM)), [
      'carol market_closed 3 left',
      'alice market_closed 4 left',
      'alice market_closed 1 left',
      'bob market_closed 2 left',
    ]);
    assert.deepEqual(x.drawn(), []);
    for (const account of [ALICE, BOB, CAROL]) assert.equal(x.moved(account), 'nothing');
  });

  it('resolves what has traded and cancels what is not decided yet, once', () => {
    for (const from of STATUSES) {
      for (const to of [RESOLVED, CANCELLED]) {
        const rig = emptyMarket();
        const opening = from === DRAFT || from === PENDING ? from : ACTIVE;
        rig.market(1, { status: opening, startMs: NOW + 1000, feeBps: 0 });
        moveTo(rig, 1, from);
        const isAllowed = from < RESOLVED && (to === CANCELLED || from >= ACTIVE);
        const name = `${MARKET_STATUS_NAMES[from]} to ${MARKET_STATUS_NAMES[to]}`;
        assert.equal(codeOf(rig.resolve(1, 250_000, to)), isAllowed ? 'OK' : 'INVALID_TRANSITION', name);
        assert.equal(marketOf(rig, 1).status, isAllowed ? to : from, name);
      }
    }
  });

  it('is the end of trading: no order, no split, no merge, no way back, no transition by time', () => {
    for (const status of [RESOLVED, CANCELLED]) {
      const rig = emptyMarket();
      rig.convert(ALICE, 0, 1_000_000);
      rig.resolve(0, PPM, status);
      assert.equal(codeOf(rig.place({ account: ALICE, feeBps: 0 })), 'MARKET_NOT_ACTIVE');
      assert.equal(codeOf(rig.convert(ALICE, 0, 100, MOVEMENT.SPLIT)), 'MARKET_NOT_ACTIVE');
      assert.equal(codeOf(rig.convert(ALICE, 0, 100, MOVEMENT.MERGE)), 'MARKET_NOT_ACTIVE');
      for (const to of STATUSES) {
        assert.equal(codeOf(rig.patch(0, { status: to })), to === status ? 'OK' : 'INVALID_TRANSITION');
      }
      rig.nowMs += 100_000_000;
      rig.tick();
      assert.equal(marketOf(rig).status, status);
    }
  });

  it('of an unknown market, or its payment, is refused', () => {
    const rig = emptyMarket();
    for (const outcome of [rig.resolve(9, 0), rig.claim(ALICE, 9), rig.settle(9)]) {
      assert.equal(codeOf(outcome), 'MARKET_NOT_FOUND');
    }
  });

  it('may be announced by resolving, which closes the book for good', () => {
    const x = new Scenario({ feeBps: 0 });
    x.order(ALICE, 'BUY Yes 1 @ 60');
    x.patch(0, { status: LOCKED });
    assert.deepEqual(x.tell(x.patch(0, { status: RESOLVING })), ['alice market_closed 1 left']);
    assert.deepEqual(x.tell(x.patch(0, { status: ACTIVE })), ['refused INVALID_TRANSITION']);
    assert.equal(codeOf(x.resolve(0, 0)), 'OK');
  });
});

describe('a claim', () => {
  it('pays one USDC per token that won and takes all of them', () => {
    const x = new Scenario({ feeBps: 0 });
    x.order(ALICE, 'SELL Yes 3 @ 60');
    x.order(BOB, 'BUY Yes 3 @ 60');
    x.resolve(0, PPM);
    assert.equal(codeOf(x.claim(BOB)), 'OK');
    assert.equal(x.moved(BOB), 'usdc +1000000120, yes -1000000000, no -1000000000');
    assert.equal(x.claim(ALICE).reply.code, OK);
    assert.equal(x.moved(ALICE), 'usdc +999999880, yes -1000000000, no -1000000000');
  });

  it('is refused before the decision, where nothing is paid, and the second time', () => {
    const rig = emptyMarket();
    rig.place({ account: ALICE, lots: 10_000, ticks: 40, feeBps: 0 });
    rig.place({ account: BOB, outcome: OUTCOME.NO, lots: 10_000, ticks: 60, feeBps: 0 });
    for (const status of [ACTIVE, LOCKED, RESOLVING]) {
      if (status !== ACTIVE) rig.patch(0, { status });
      assert.equal(codeOf(rig.claim(ALICE)), 'INVALID_TRANSITION');
    }
    rig.resolve(0, 0);
    const rows = rig.journal.rows.length;
    assert.equal(codeOf(rig.claim(ALICE)), 'NOTHING_TO_CLAIM', 'lost');
    assert.equal(codeOf(rig.claim(CAROL)), 'NOTHING_TO_CLAIM', 'never held any');
    assert.equal(rig.journal.rows.length, rows, 'refusals leave nothing behind');
    assert.equal(codeOf(rig.claim(BOB)), 'OK');
    assert.equal(codeOf(rig.claim(BOB)), 'NOTHING_TO_CLAIM', 'a second time');
    assert.equal(rig.usdc(BOB).available, 10_000_000 - 600_000 + 1_000_000);
  });

  it('with a share for both outcomes is rounded down to the micro, a full set never', () => {
    const rig = emptyMarket();
    rig.convert(ALICE, 0, 700);
    rig.place({ account: BOB, lots: 5, ticks: 40, feeBps: 0 });
    rig.place({ account: CAROL, outcome: OUTCOME.NO, lots: 5, ticks: 60, feeBps: 0 });
    rig.resolve(0, 333_333);
    for (const account of [ALICE, BOB, CAROL]) rig.claim(account);
    assert.equal(rig.usdc(ALICE).available, 10_000_000);
    assert.equal(rig.usdc(BOB).available, 10_000_000 - 200 + 166); // 500 x 0.333333 = 166.6665
    assert.equal(rig.usdc(CAROL).available, 10_000_000 - 300 + 333); // 500 x 0.666667 = 333.3335
    assert.equal(marketOf(rig).collateralMicro, 1);
    assert.equal(marketOf(rig).roundingPpm, PPM);
  });

  it('can be spent by the very next order, in another market of the shard', () => {
    const rig = emptyMarket();
    rig.market(1, { feeBps: 0 });
    rig.convert(ALICE, 0, 10_000_000);
    rig.resolve(0, PPM);
    assert.equal(codeOf(rig.place({ account: ALICE, market: 1, feeBps: 0 })), 'INSUFFICIENT_BALANCE');
    rig.commitsAtOnce = false;
    rig.claim(ALICE);
    assert.equal(codeOf(rig.place({ account: ALICE, market: 1, feeBps: 0 })), 'OK');
  });
});

describe('a settlement', () => {
  it('pays everybody who is left, the fee account too, once', () => {
    const rig = emptyMarket({ feeBps: 100 });
    rig.convert(ALICE, 0, 4_000_000);
    rig.place({ account: ALICE, side: SIDE.SELL, lots: 40_000, ticks: 50, feeBps: 100 });
    rig.place({ account: BOB, lots: 40_000, ticks: 50, feeBps: 100 });
    assert.deepEqual(rig.tokens(FEES, OUTCOME.YES), { available: 40_000, reserved: 0 });
    rig.resolve(0, PPM);
    rig.claim(BOB);
    assert.equal(codeOf(rig.settle()), 'OK');
    assert.equal(rig.usdc(ALICE).available, 10_000_000 - 4_000_000 + 1_980_000);
    assert.equal(rig.usdc(BOB).available, 10_000_000 - 2_000_000 + 3_960_000);
    assert.equal(rig.usdc(FEES).available, 20_000 + 40_000);
    assert.equal(marketOf(rig).status, SETTLED);
    assert.equal(marketOf(rig).collateralMicro, 0);
    assert.equal(codeOf(rig.settle()), 'INVALID_TRANSITION');
    assert.equal(codeOf(rig.claim(ALICE)), 'NOTHING_TO_CLAIM');
  });

  it('gives the fee account the micros that rounding kept back', () => {
    const rig = emptyMarket();
    for (const account of [ALICE, BOB]) {
      rig.place({ account, lots: 5, ticks: 40, feeBps: 0 });
      rig.place({ account: CAROL, outcome: OUTCOME.NO, lots: 5, ticks: 60, feeBps: 0 });
    }
    rig.resolve(0, 333_333);
    rig.claim(ALICE);
    rig.settle();
    // 166.6665 twice and 666.667 are paid as 166, 166 and 666: 998 of 1,000.
    assert.equal(rig.usdc(ALICE).available, 10_000_000 - 200 + 166);
    assert.equal(rig.usdc(BOB).available, 10_000_000 - 200 + 166);
    assert.equal(rig.usdc(CAROL).available, 10_000_000 - 600 + 666);
    assert.equal(rig.usdc(FEES).available, 2);
  });

  it('needs a decision; a cancelled market is paid as well and stays cancelled', () => {
    const rig = emptyMarket();
    rig.convert(ALICE, 0, 500);
    for (const status of [ACTIVE, LOCKED, RESOLVING]) {
      if (status !== ACTIVE) rig.patch(0, { status });
      assert.equal(codeOf(rig.settle()), 'INVALID_TRANSITION');
    }
    rig.resolve(0, PPM / 2, CANCELLED);
    rig.nowMs += 1;
    assert.equal(codeOf(rig.settle()), 'OK');
    const { status, resolvedMs, settledMs } = marketOf(rig);
    assert.deepEqual([status, resolvedMs, settledMs], [CANCELLED, NOW, NOW + 1]);
    assert.equal(rig.usdc(ALICE).available, 10_000_000);
    assert.equal(codeOf(rig.settle()), 'INVALID_TRANSITION');
  });

  it('of a market that nobody holds is allowed and moves nothing', () => {
    const rig = emptyMarket();
    rig.resolve(0, 1);
    rig.settle();
    assert.equal(marketOf(rig).status, SETTLED);
    assert.equal(rig.usdc(FEES).available, 0);
  });

  it('after trading without collateral, collects from those who sold what they never had', () => {
    const rig = emptyMarket({ collateralCheck: false });
    rig.place({ account: ALICE, side: SIDE.SELL, lots: 10_000, ticks: 50, feeBps: 0 });
    rig.place({ account: BOB, lots: 10_000, ticks: 50, feeBps: 0 });
    rig.resolve(0, PPM);
    assert.equal(codeOf(rig.claim(ALICE)), 'NOTHING_TO_CLAIM');
    rig.claim(BOB);
    assert.equal(marketOf(rig).collateralMicro, -1_000_000);
    rig.settle();
    assert.equal(rig.usdc(ALICE).available, 10_000_000 + 500_000 - 1_000_000);
    assert.equal(rig.usdc(BOB).available, 10_000_000 - 500_000 + 1_000_000);
  });
});

// The rig compares collateral, tokens and rounding exactly (MARKET-1 to MARKET-3) after each of these commands.
it('holders of anything, claiming in any order, are paid exactly and at every step replay to the same state', () => {
  for (let seed = 1; seed <= 20; seed++) {
    const random = new Random(seed);
    const rig = emptyMarket({ feeBps: 37 });
    for (let i = 0; i < 30; i++) {
      const outcome = random.below(2);
      const ticks = outcome === OUTCOME.YES ? random.between(45, 60) : random.between(40, 55);
      rig.place({ account: random.between(ALICE, CAROL), outcome, ticks, lots: random.between(1, 999), feeBps: 37 });
      if (random.chance(20)) rig.convert(random.between(ALICE, CAROL), 0, 100 * random.between(1, 9));
    }
    const payoutYes = random.below(PPM + 1);
    rig.resolve(0, payoutYes, random.chance(30) ? CANCELLED : RESOLVED);
    for (let i = 0; i < 3; i++) {
      const account = random.between(ALICE, CAROL);
      const [yes, no] = [OUTCOME.YES, OUTCOME.NO].map((outcome) => BigInt(rig.tokens(account, outcome).available));
      const expected = (yes! * BigInt(payoutYes) + no! * BigInt(PPM - payoutYes)) / BigInt(PPM);
      const before = rig.usdc(account).available;
      assert.equal(codeOf(rig.claim(account)), expected > 0n ? 'OK' : 'NOTHING_TO_CLAIM', `seed ${seed}`);
      assert.equal(BigInt(rig.usdc(account).available - before), expected, `seed ${seed}`);
      assert.deepEqual(stateOf(rig.replayed()), stateOf(rig.engine), `seed ${seed}`);
    }
    rig.settle();
    assert.deepEqual(stateOf(rig.replayed()), stateOf(rig.engine), `seed ${seed}`);
    const everybody = [FEES, ALICE, BOB, CAROL].map((account) => rig.usdc(account).available);
    assert.equal(
      everybody.reduce((sum, micro) => sum + micro),
      30_000_000,
      `seed ${seed}`,
    );
  }
});
