/** Orders that the official clients of Polymarket have signed, under both structs. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { checkedOrder } from '../../../../../gateway/programs/polymarket/signedOrder.ts';

type Vector = {
  readonly version: 1 | 2;
  readonly chainId: number;
  readonly address: string;
  readonly order: Readonly<Record<string, unknown>>;
};
const VECTORS: readonly Vector[] = JSON.parse(
  readFileSync(new URL('../../../../vectors/polymarketOrders.json', import.meta.url), 'utf8'),
);
const OTHER_CHAIN: Readonly<Record<number, number>> = { 137: 80002, 80002: 137 };
/** A signature covers each of them; that of the second struct leaves the expiration out, as their contract does. */
const SIGNED = {
  1: ['salt', 'maker', 'tokenId', 'makerAmount', 'takerAmount', 'expiration', 'nonce', 'feeRateBps'],
  2: ['salt', 'maker', 'tokenId', 'makerAmount', 'takerAmount', 'timestamp', 'metadata', 'builder'],
} as const;

function changed(value: unknown): unknown {
  if (typeof value === 'number') return value + 1;
  const text = String(value);
  return text.startsWith('0x') ? `${text.slice(0, -1)}${text.endsWith('1') ? '2' : '1'}` : String(BigInt(text) + 1n);
}

test("an order of an official client is its signer's, under either struct and on either chain", async () => {
  assert.equal(VECTORS.length, 24);
  const ids = new Set<string>();
  for (const { version, chainId, address, order } of VECTORS) {
    const checked = await checkedOrder(order, chainId);
    assert.deepEqual(
      [checked.version, checked.signer, checked.side, checked.signatureType, String(checked.makerAmount)],
      [version, address.toLowerCase(), order['side'], order['signatureType'], order['makerAmount']],
    );
    ids.add(checked.id);
  }
  assert.equal(ids.size, VECTORS.length);
});

test('an order is of no signer if a part that was signed differs, or the chain', async () => {
  for (const { version, chainId, order } of VECTORS) {
    for (const name of SIGNED[version]) {
      const other = checkedOrder({ ...order, [name]: changed(order[name]) }, chainId);
      await assert.rejects(other, /invalid signature/, name);
    }
    const side = order['side'] === 'BUY' ? 'SELL' : 'BUY';
    await assert.rejects(checkedOrder({ ...order, side }, chainId), /invalid signature/);
    await assert.rejects(checkedOrder(order, OTHER_CHAIN[chainId]!), /invalid signature/);
  }
});
