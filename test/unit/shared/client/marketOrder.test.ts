/** Orders at the market: the previews of clients in all languages for a book (test/vectors/marketOrder.json). */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { marketPreview } from '../../../../shared/client/marketOrder.ts';
import type { Json } from '../../../support/server.ts';

const { vectors } = JSON.parse(
  readFileSync(new URL('../../../vectors/marketOrder.json', import.meta.url), 'utf8'),
) as Json;

test("previews of orders at the market equal the vectors, which Python's previews equal too", () => {
  assert.ok(vectors.length > 10);
  for (const vector of vectors) {
    const { about, side, ticks_per_unit, fee_rate_bps: feeRateBps, bids, asks, usd, size, max_slippage } = vector;
    const market = { id: 'm', yes_token_id: '1', no_token_id: '2', ticks_per_unit };
    const order: Json = { maxSlippage: max_slippage, ...(usd === undefined ? { size } : { usd }) };
    const preview = (): Json => marketPreview(side, { market, feeRateBps }, { bids, asks }, order as never);
    if (vector.refused !== undefined) {
      assert.throws(preview, { name: 'RangeError', message: vector.refused }, about);
      continue;
    }
    const { intent, ...given } = preview();
    const shown = {
      limit_price: given.limitPrice,
      price_ticks: String(intent.priceTicks),
      quantity_lots: String(intent.quantityLots),
      size_atomic: String(given.sizeAtomic),
      limit_micro: String(given.limitMicro),
      filled_atomic: String(given.filledAtomic),
      notional_micro: String(given.notionalMicro),
      fee: String(given.feeAtomic),
      received: String(given.receivedAtomic),
      average_price: given.averagePrice,
    };
    assert.deepEqual(shown, vector.gives, `${side}: ${about}`);
    // SWEEP-1.
    if (usd !== undefined) assert.ok(given.limitMicro <= BigInt(Math.round(Number(usd) * 1e6)), about);
  }
});
