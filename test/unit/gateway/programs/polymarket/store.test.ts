/** The file of `npm run polymarket` stays bounded. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PolymarketStore } from '../../../../../gateway/programs/polymarket/store.ts';

test('POLYSTORE-2: of each account the newest orders stay, whichever accounts place beside it', () => {
  const store = new PolymarketStore(':memory:');
  const [one, other] = ['0x01', '0x02'];
  for (const address of [one!, other!]) {
    store.putAccount({ address, user_id: '', key_id: '', secret: '', passphrase: '', is_funded: 1 });
  }
  const add = (address: string, count: number): number =>
    store.addOrder({
      ...{ id: `${address}/${count}`, address, owner: '', maker: '', market_id: '', outcome_index: 0 },
      ...{ side: 'BUY', kind: 'GTC', maker_amount: '1', taker_amount: '1', expiration_sec: 0, created_sec: 0 },
    });
  for (let count = 0; count < 10_300; count++) for (const address of [one!, other!]) add(address, count);
  for (const address of [one, other]) {
    assert.equal(store.order(`${address}/199`), undefined, 'the oldest are gone');
    assert.equal(store.order(`${address}/300`)?.id, `${address}/300`, 'the newest 10,000 are there');
  }
  store.close();
});
