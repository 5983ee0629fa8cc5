/** The requests of a rehearsal (RULES.md 10.25): V8 compiles well only what it has seen often and in all its kinds. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MarketEntry } from '../../../../../gateway/store/catalog.ts';
import { Flow, type Trader } from '../../../../../gateway/wiring/rehearsal/flow.ts';
import { QuickSigner } from '../../../../../gateway/wiring/rehearsal/quickSigner.ts';
import { RequestSigner } from '../../../../../shared/client/requestSigner.ts';
import { DOMAIN_NAME, DOMAIN_VERSION, hasherFor, ZERO_ADDRESS } from '../../../../../shared/crypto/eip712.ts';
import { keccak256 } from '../../../../../shared/crypto/keccak.ts';

const DOMAIN = { name: DOMAIN_NAME, version: DOMAIN_VERSION, chainId: 137, verifyingContract: ZERO_ADDRESS };
const MARKET = { id: 'any', yesTokenId: '7', noTokenId: '8', ticksPerUnit: 100, opening: { feeBps: 50 } };

function traderOf(privateKey: number): Trader {
  const requests = new RequestSigner({ keyId: 'key', secret: 'c2VjcmV0', passphrase: 'passphrase' });
  return { id: 'any', orders: new QuickSigner(privateKey, hasherFor(DOMAIN, keccak256)), requests };
}

type Sent = { readonly method: string; readonly path: string; readonly body: Record<string, unknown> };

function sent(request: Buffer): Sent {
  const text = request.toString();
  const [method, path] = text.split(' ', 2) as [string, string];
  const body = text.slice(text.indexOf('\r\n\r\n') + 4);
  return { method, path, body: body === '' ? {} : JSON.parse(body) };
}

test('10.25: each turn of a rehearsal but the first has orders of each kind, and ends orders of the one before', () => {
  const [maker, taker] = [traderOf(1), traderOf(2)];
  const flow = new Flow(maker, taker, [MARKET as MarketEntry]);
  const countsOf = (): Record<string, number> => {
    const counts: Record<string, number> = {};
    for (const { method, path, body } of flow.turn().requests.map(sent)) {
      const meets = body['maker'] === taker.orders.address ? ' meets' : '';
      const name = `${method} ${path.replace(/0x.*|\?.*/, '')}${meets}`;
      counts[name] = (counts[name] ?? 0) + 1;
    }
    return counts;
  };
  const first = countsOf();
  assert.equal(first['DELETE /v1/orders/'], undefined);
  const next = countsOf();
  const kinds = ['POST /v1/orders', 'POST /v1/orders meets', 'POST /v1/orders/batch', 'POST /v1/orders/cancel-replace'];
  for (const name of [...kinds, 'DELETE /v1/orders/', 'GET /v1/orders/book/any', 'GET /v1/market-data/any/bbo']) {
    assert.ok((next[name] ?? 0) > 0, name);
  }
  const ended = (next['DELETE /v1/orders/'] ?? 0) + (next['POST /v1/orders/cancel-replace'] ?? 0);
  assert.equal(ended, first['POST /v1/orders'], 'all that rested');
});
