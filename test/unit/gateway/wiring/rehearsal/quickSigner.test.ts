import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nobleVerifier } from '../../../../../engine/verify/noble.ts';
import { QuickSigner } from '../../../../../gateway/wiring/rehearsal/quickSigner.ts';
import { draftOrder } from '../../../../../shared/client/order.ts';
import { DOMAIN_NAME, DOMAIN_VERSION, hasherFor, ZERO_ADDRESS } from '../../../../../shared/crypto/eip712.ts';
import { keccak256 } from '../../../../../shared/crypto/keccak.ts';

const DOMAIN = { name: DOMAIN_NAME, version: DOMAIN_VERSION, chainId: 137, verifyingContract: ZERO_ADDRESS };
const MARKET = { id: 'any', yes_token_id: '7', no_token_id: '8', ticks_per_unit: 100 };
/** Each nonce twice. */
const ORDERS = 128;

test('the signatures of a rehearsal are right, and all different', () => {
  const signer = new QuickSigner(0x5eed, hasherFor(DOMAIN, keccak256));
  const verifier = nobleVerifier(keccak256);
  const draft = draftOrder({ market: MARKET, outcomeIndex: 0, side: 'BUY', price: '0.40', size: '10', feeRateBps: 50 });
  const bytesOf = (hex: string): Uint8Array => Buffer.from(hex.slice(2), 'hex');
  const seen = new Set<string>();
  for (let order = 0; order < ORDERS; order++) {
    const { body, orderHash } = signer.sign(draft);
    seen.add(body.signature);
    const [digest, signature, address] = [orderHash, body.signature, body.signer].map(bytesOf);
    assert.ok(verifier.verify(digest!, 0, signature!, 0, address!, 0), `order ${order}`);
  }
  assert.equal(seen.size, ORDERS);
});
