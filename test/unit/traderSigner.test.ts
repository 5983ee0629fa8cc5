/** The signer of the tests' traders is as good as the client's. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { draftOrder } from '../../shared/client/order.ts';
import { OrderSigner } from '../../shared/client/orderSigner.ts';
import { Random } from '../support/random.ts';
import { traderSigner } from '../support/traderSigner.ts';

const SEED = 20_261_130;
const DOMAIN = { name: 'an exchange', version: '1', chainId: 137, verifyingContract: `0x${'1e'.repeat(20)}` };
const MARKET = {
  id: 'd02e8e42-5f3a-4d13-95d5-5ae78bb29b02',
  yes_token_id: '71',
  no_token_id: '72',
  ticks_per_unit: 100,
};

test(`traders of the tests sign orders byte for byte as the client does (seed ${SEED})`, () => {
  const random = new Random(SEED);
  for (let key = 1; key <= 20; key++) {
    const privateKey = `0x${key.toString(16).padStart(64, '0')}`;
    const [quick, own] = [traderSigner(privateKey, DOMAIN), new OrderSigner(privateKey, DOMAIN)];
    for (const domain of [DOMAIN, { ...DOMAIN, chainId: 1 }]) {
      assert.equal(quick.useDomain(domain), own.useDomain(domain));
      const price = `0.${10 + random.below(80)}`;
      const size = String(10 + random.below(90));
      const draft = draftOrder({ market: MARKET, outcomeIndex: 0, side: 'BUY', price, size, feeRateBps: 50 });
      const salt = String(random.below(1_000_000));
      assert.deepEqual(quick.sign(draft, { salt }), own.sign(draft, { salt }));
    }
  }
});
