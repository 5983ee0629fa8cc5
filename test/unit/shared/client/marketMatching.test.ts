/**
 * The preview of an order at the market is exactly what the engine does: in random books of every grid, for either
 * outcome and side, in dollars and in tokens. `pmx buy` and the page's ticket use the same rule (atMarket.ts).
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { OUTCOME, type Outcome, SIDE, TICKS_PER_UNIT, TIME_IN_FORCE } from '../../../../shared/base/codes.ts';
import { E, OK } from '../../../../shared/base/errors.ts';
import { tickToPrice } from '../../../../shared/base/units.ts';
import { atMarket } from '../../../../shared/client/atMarket.ts';
import {
  type MarketBuy,
  type MarketPreview,
  type MarketSell,
  marketPreview,
} from '../../../../shared/client/marketOrder.ts';
import { draftOrder } from '../../../../shared/client/order.ts';
import type { Levels, Side } from '../../../../shared/client/sweep.ts';
import { EngineRig, fillsOf } from '../../../support/engineRig.ts';
import { Random } from '../../../support/random.ts';
import { seedOr, timesOf } from '../../../support/seeds.ts';

const SEED = seedOr(20261153);
const BOOKS = timesOf({ suite: 60, soak: 3000 });
const MAKER = 1;
const TAKER = 2;
const RICH_MICRO = 1_000_000_000_000;
const FEES = [0, 50, 137, 1000];

type Market = { readonly rig: EngineRig; readonly grid: number; readonly feeRateBps: number };
type Given = { readonly side: Side; readonly outcome: Outcome; readonly order: MarketBuy | MarketSell };

/** A market whose maker has quoted both outcomes, to buy and to sell. */
function marketOf(random: Random, grid: number): Market {
  const rig = new EngineRig();
  const feeRateBps = random.pick(FEES);
  rig.market(0, { ticksPerUnit: grid, feeBps: feeRateBps, minOrderAtomic: grid });
  for (const account of [MAKER, TAKER]) {
    rig.fund(account, RICH_MICRO);
    rig.convert(account, 0, RICH_MICRO / 10);
  }
  const middle = random.between(2, grid - 2);
  for (let index = random.between(1, 16); index > 0; index--) {
    const isBid = random.chance(50);
    const ticks = isBid ? random.between(1, middle) : random.between(middle + 1, grid - 1);
    const asNo = random.chance(50);
    rig.place({
      account: MAKER,
      feeBps: feeRateBps,
      side: isBid === asNo ? SIDE.SELL : SIDE.BUY,
      outcome: asNo ? OUTCOME.NO : OUTCOME.YES,
      ticks: asNo ? grid - ticks : ticks,
      lots: random.between(1, random.pick([10, 1000, 1_000_000])),
    });
  }
  return { rig, grid, feeRateBps };
}

/** The levels of an outcome, as an answer or a verified book has them. */
function levelsOf({ rig, grid }: Market, outcome: Outcome): Levels {
  const side = (rows: readonly string[], isMirrored: boolean): Levels['bids'] =>
    rows.map((row) => {
      const [ticks, lots] = row.split(' x ').map(Number) as [number, number];
      return {
        price: tickToPrice(isMirrored ? grid - ticks : ticks, grid),
        token_quantity_atomic: String(lots * grid),
      };
    });
  const { bids, asks } = rig.book();
  return outcome === OUTCOME.YES
    ? { bids: side(bids, false), asks: side(asks, false) }
    : { bids: side(asks, true), asks: side(bids, true) };
}

function orderOf(random: Random, grid: number): Given {
  const outcome = random.pick([OUTCOME.YES, OUTCOME.NO]);
  const units = BigInt(random.between(1, random.pick([grid * 10, grid * 10_000, 2_000_000_000])));
  const maxSlippage = BigInt(random.below(random.pick([2, 100_000, 1_000_001])));
  const text = `0.${String(maxSlippage).padStart(6, '0')}`;
  const terms = { outcomeIndex: outcome, maxSlippage: maxSlippage >= 1_000_000n ? '1' : text };
  if (random.chance(50)) return { side: 'BUY', outcome, order: { ...terms, usd: units } };
  return {
    side: random.pick(['BUY', 'SELL'] as const),
    outcome,
    order: { ...terms, size: units - (units % BigInt(grid)) },
  };
}

/** @returns the engine's result, in the form of the preview. */
function taken({ rig, grid, feeRateBps }: Market, { side, outcome }: Given, preview: MarketPreview): object {
  const tokens = { id: 'm', yes_token_id: '1', no_token_id: '2', ticks_per_unit: grid };
  const { marketId: _id, ...terms } = preview.intent;
  const draft = draftOrder({ ...terms, market: tokens, feeRateBps } as Parameters<typeof draftOrder>[0]);
  const result = rig.place({
    account: TAKER,
    side: SIDE[side],
    outcome,
    feeBps: feeRateBps,
    timeInForce: TIME_IN_FORCE.FAK,
    makerAmount: Number(draft.maker_amount),
    takerAmount: Number(draft.taker_amount),
  });
  const fills = fillsOf(result);
  const ticksOf = (ticks: number): number => (outcome === OUTCOME.YES ? ticks : grid - ticks);
  const sum = (of: (fill: (typeof fills)[number]) => number): bigint =>
    fills.reduce((before, fill) => before + BigInt(of(fill)), 0n);
  assert.ok([OK, E.FAK_NO_FILL].includes(result.reply.code as never), `code ${result.reply.code}`);
  return {
    filledAtomic: sum(({ lots }) => lots * grid),
    notionalMicro: sum(({ lots, ticks }) => lots * ticksOf(ticks)),
    feeAtomic: sum(({ takerFee }) => takerFee),
  };
}

describe(`an order at the market, SEED=${SEED}`, () => {
  for (const grid of TICKS_PER_UNIT) {
    test(`of ${grid} ticks takes exactly the tokens of its preview, and costs no more than the sum`, () => {
      const random = new Random(SEED + grid);
      let filled = 0;
      for (let round = 0; round < BOOKS; round++) {
        const market = marketOf(random, grid);
        const given = orderOf(random, grid);
        const { side, outcome, order } = given;
        const tokens = { id: 'm', yes_token_id: '1', no_token_id: '2', ticks_per_unit: grid };
        let preview: MarketPreview;
        try {
          preview = marketPreview(
            side,
            { market: tokens, feeRateBps: market.feeRateBps },
            levelsOf(market, outcome),
            order,
          );
        } catch (error) {
          assert.match(
            String(error),
            /^RangeError: (?:nothing is (?:offered|bid for)|the amount pays for no lot|.* is no whole number)/,
          );
          continue;
        }
        const { filledAtomic, notionalMicro, feeAtomic, limitMicro } = preview;
        const before = market.rig.usdc(TAKER).available;
        assert.deepEqual(taken(market, given, preview), { filledAtomic, notionalMicro, feeAtomic });
        const paid = BigInt(before - market.rig.usdc(TAKER).available);
        assert.equal(paid, side === 'BUY' ? notionalMicro : feeAtomic - notionalMicro);
        if ('usd' in order) assert.ok(limitMicro <= (order.usd as bigint), 'the worst that the book may become');
        if (filledAtomic > 0n) filled++;
      }
      assert.ok(filled > BOOKS / 4, `${filled} orders found something`);
    });
  }

  test('beyond the last price that is reached, a ticket of the page leaves room for the book to move', () => {
    const level = (price: string, tokens: number) => ({ price, token_quantity_atomic: String(tokens * 1_000_000) });
    const book: Levels = { bids: [level('0.38', 5)], asks: [level('0.40', 10), level('0.42', 5), level('0.50', 100)] };
    const amount = { usdMicro: 5_000_000n };
    const limitOf = (ticks: bigint, from: 'best' | 'reached') => atMarket(book, 'BUY', 100, amount, { ticks, from });
    assert.deepEqual([limitOf(1n, 'best')?.limitTicks, limitOf(1n, 'reached')?.limitTicks], [41, 43]);
    assert.equal(limitOf(1n, 'reached')?.lots, 5_000_000n / 43n);
    assert.equal(atMarket({ bids: [], asks: [] }, 'BUY', 100, amount, { ticks: 1n, from: 'best' }), null);
  });
});
