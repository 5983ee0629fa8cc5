/**
 * The client refuses only orders that the exchange would refuse, and sends every order that the exchange may accept:
 * random prices and sizes of every time in force, on grids of all kinds, sent past the client if it refuses them
 * (RULES.md 1.4).
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SIDE_NAMES, TIME_IN_FORCE_NAMES } from '../../shared/base/codes.ts';
import { draftOrder, type OrderDraft, type OrderIntent, type OrderMarket } from '../../shared/client/order.ts';
import { Random } from '../support/random.ts';
import { seedOr, timesOf } from '../support/seeds.ts';
import { sharedServer } from '../support/server.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';

const SEED = seedOr(2026_11_53);
const ORDERS = timesOf({ suite: 60, soak: 2000 });
const GRIDS = [10, 16, 100, 125, 625, 10_000] as const;
const FORM_ERRORS: readonly unknown[] = ['VALIDATION_ERROR', 'INVALID_TICK', 'INVALID_LOT'];
/** A size below a lot is below the least size of every market too, which the client leaves to the exchange. */
const REFUSALS = [...FORM_ERRORS, 'BELOW_MIN_SIZE'];

const server = await sharedServer();
const trader = await makeTrader(server, { requestsPerSecond: 10_000 });

function intentOf(random: Random, market: OrderMarket): OrderIntent {
  const timeInForce = random.pick(TIME_IN_FORCE_NAMES);
  const ticks = random.pick([0, 1, random.between(1, market.ticks_per_unit), market.ticks_per_unit - 1]);
  const onGrid = String(ticks / market.ticks_per_unit);
  const price = random.chance(60) ? onGrid : random.pick(['0.655', '0.0000001', '1', '1.5', '0.99999', '0.33333']);
  const units = random.pick([0, 1, 15, 1_000_000, 1_000_050, 12_345_678, random.between(1, 2_000_000_000)]);
  const lots = units - (units % market.ticks_per_unit);
  const size = random.pick([units, lots]) / 1_000_000;
  return {
    market,
    outcomeIndex: 0,
    side: random.pick(SIDE_NAMES),
    feeRateBps: 50,
    timeInForce,
    ...(timeInForce === 'GTD' ? { expirationSec: 4_000_000_000 } : {}),
    price,
    size: random.chance(3) ? '2000000000' : size.toFixed(6).replace(/\.?0+$/, ''),
  };
}

/** The same order past the client; null if no whole amounts express it. */
function pastTheClient(intent: OrderIntent): OrderDraft | null {
  const fraction = intent.price.split('.')[1] ?? '';
  const scale = 10n ** BigInt(fraction.length);
  const tokens = BigInt(Math.round(Number(intent.size) * 1_000_000));
  const scaled = BigInt(intent.price.replace('.', '')) * tokens;
  if (scaled % scale !== 0n) return null;
  const [usdc, isBuy] = [String(scaled / scale), intent.side === 'BUY'];
  const { price: _, size: __, ...terms } = intent;
  const valid = draftOrder({ ...terms, priceTicks: 1n, quantityLots: 100_000n });
  return {
    ...valid,
    maker_amount: isBuy ? usdc : String(tokens),
    taker_amount: isBuy ? String(tokens) : usdc,
  };
}

let offGrid = 0;

describe(`orders by price and size, SEED=${SEED}`, () => {
  for (const grid of GRIDS) {
    test(`of ${grid} ticks are refused by the client if and only if the exchange refuses their form`, async () => {
      const market = await makeMarket(server, { ticks_per_unit: grid });
      const random = new Random(SEED + grid);
      const seen = { taken: 0, refused: 0 };
      for (let round = 0; round < ORDERS; round++) {
        const intent = intentOf(random, market);
        const words = `${intent.side} ${intent.size} at ${intent.price}, ${intent.timeInForce}`;
        let draft: OrderDraft | null = null;
        try {
          draft = draftOrder(intent);
        } catch (error) {
          assert.ok(error instanceof RangeError, words);
        }
        const sent = draft ?? pastTheClient(intent);
        if (sent === null) continue;
        const { body } = await trader.post(trader.signer.sign(sent).body);
        if (draft === null) assert.ok(REFUSALS.includes(body.code), `${words}: refused here, there ${body.code}`);
        else assert.ok(!FORM_ERRORS.includes(body.code), `${words}: taken here, there ${body.code}`);
        seen[draft === null ? 'refused' : 'taken']++;
        if (draft !== null && (Number(intent.price) * grid) % 1 !== 0) offGrid++;
        if (body.order_hash !== undefined) await trader.client.cancelAll();
      }
      assert.ok(Math.min(seen.taken, seen.refused) > 0, JSON.stringify(seen));
    });
  }

  test('between the ticks are sent where they do not rest', () => {
    assert.ok(offGrid > GRIDS.length, `${offGrid} were`);
  });
});
