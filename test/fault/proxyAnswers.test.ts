/**
 * A proxy before the exchange answers in its place, status by status, after the exchange has carried out the request:
 * nobody may take that for a refusal. The client and the command line ask again, with the same key, and when no answer
 * of the exchange comes at all they say that the outcome is open.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ExchangeClient } from '../../shared/client/client.ts';
import { ApiError } from '../../shared/client/http.ts';
import { type PlacedOrder, UnknownOutcomeError } from '../../shared/client/placedOrder.ts';
import { fileScope } from '../support/fileScope.ts';
import { Pmx } from '../support/pmx.ts';
import { sharedServer } from '../support/server.ts';
import { type Spoiled, SpoilingProxy } from '../support/spoilingProxy.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';
import { makeWallet } from '../support/wallet.ts';

const server = await sharedServer();
const proxy = await SpoilingProxy.start(fileScope, server.baseUrl);
const market = await makeMarket(server);
const wallet = makeWallet();
const trader = await makeTrader(server, { privateKey: wallet.privateKey });
const { keyId, secret, passphrase } = trader.credentials as { keyId: string; secret: string; passphrase: string };
const client = new ExchangeClient({
  baseUrl: proxy.baseUrl,
  credentials: trader.credentials,
  wallet: trader.signer,
  retry: { firstPauseMs: 0, mostPauseMs: 0 },
});
const pmx = new Pmx({
  BASE_URL: proxy.baseUrl,
  API_KEY: keyId,
  API_SECRET: secret,
  API_PASSPHRASE: passphrase,
  PRIVATE_KEY: wallet.privateKey,
});

const HTML = '<html><title>Just a moment</title></html>';
const ofProxy = JSON.stringify({ error: 'blocked', code: 'WAF_BLOCKED' });
const ERRORS = [400, 401, 403, 404, 408, 409, 413, 429, 431, 499, 500, 502, 503, 504, 505, 511];
const CLOUD = [520, 521, 522, 523, 524, 525, 526, 527, 530];
const CASES: readonly (readonly [string, Spoiled])[] = [
  ...[...ERRORS, ...CLOUD].map((status): [string, Spoiled] => [`${status} with HTML`, { status, body: HTML }]),
  ['403 with a code of its own', { status: 403, body: ofProxy }],
  ['502 with a code of the exchange', { status: 502, body: JSON.stringify({ error: 'no', code: 'NOT_FOUND' }) }],
  ['200 with HTML', { status: 200, body: HTML }],
  ['200 with nothing', { status: 200, body: '' }],
  ['204', { status: 204, body: '' }],
  ['200 with a number', { status: 200, body: '1' }],
  ['200 with null', { status: 200, body: 'null' }],
  ['a cut body', { cutAfter: 20 }],
];
const BID = { marketId: market.id, outcomeIndex: 0, side: 'BUY', price: '0.40', size: '1' } as const;
const isOrder = ({ method }: { method: string }): boolean => method === 'POST';
const isCancel = ({ method }: { method: string }): boolean => method === 'DELETE';

async function openHashes(): Promise<string[]> {
  return (await trader.client.openOrders(market.id)).map(({ order_hash }) => order_hash);
}

/** Spoils the answers of the first requests of a kind, or of all of them. */
function spoil(kind: typeof isOrder, spoiled: Spoiled, times: number): void {
  proxy.passed.length = 0;
  let left = times;
  proxy.spoil = (passed) => (kind(passed) && left-- > 0 ? spoiled : null);
}

async function unknown(call: Promise<unknown>): Promise<UnknownOutcomeError> {
  const error: unknown = await call.then(
    () => null,
    (caught: unknown) => caught,
  );
  assert.ok(error instanceof UnknownOutcomeError, String(error));
  assert.match(error.message, /by a proxy before it \(HTTP \d+\): it may have been/);
  return error;
}

for (const [name, spoiled] of CASES) {
  test(`${name}: an order is asked for again with its key and placed once, or its outcome is open`, async () => {
    spoil(isOrder, spoiled, 2);
    const placed = await client.place(BID);
    assert.equal(placed.answer?.order_hash, placed.hash);
    const sent = proxy.passed.filter(isOrder);
    assert.deepEqual([sent.length, new Set(sent.map(({ key }) => key)).size], [3, 1]);
    assert.deepEqual(await openHashes(), [placed.hash]);

    spoil(isOrder, spoiled, Number.POSITIVE_INFINITY);
    const { order, cause } = await unknown(client.place(BID));
    assert.ok(cause instanceof ApiError);
    assert.ok((await openHashes()).includes((order as PlacedOrder).hash), 'it is live all the same');
    await unknown(client.placeOrder((order as PlacedOrder).body));
    await unknown(client.split(market.id, 1_000_000n));

    spoil(isCancel, spoiled, 1);
    await assert.rejects(client.cancelOrder(placed.hash), { code: 'ORDER_NOT_CANCELLABLE' });
    assert.equal(proxy.passed.filter(isCancel).length, 2, 'a cancel is repeated, and the first one has worked');
    spoil(isCancel, spoiled, Number.POSITIVE_INFINITY);
    await unknown(client.cancelAll());
    assert.deepEqual(await openHashes(), []);
  });
}

for (const [name, spoiled] of CASES.filter(([name]) => /^(?:408|520|200 with HTML|a cut)/.test(name))) {
  test(`${name}: the command line says that the order may have been placed, and how to look`, async () => {
    const args = ['place', market.id, '--side', 'buy', '--outcome', 'yes', '--price', '0.30', '--size', '1'];
    spoil(isOrder, spoiled, 1);
    const { order_hash } = await pmx.json(...args);
    assert.deepEqual(await openHashes(), [order_hash]);

    spoil(isOrder, spoiled, Number.POSITIVE_INFINITY);
    const failed = await pmx.failure(3, ...args);
    const [hash] = (failed.details as { order_hashes: string[] }).order_hashes;
    assert.deepEqual([failed.code, failed.hint], ['NO_ANSWER', `\`pmx order ${hash}\` finds out`]);
    assert.match(failed.error, /the order may have been placed/);
    assert.ok((await openHashes()).includes(hash));

    spoil(isCancel, spoiled, Number.POSITIVE_INFINITY);
    const cancel = await pmx.failure(3, 'cancel', hash);
    assert.equal(cancel.code, 'NO_ANSWER');
    assert.match(cancel.error, /it may have been carried out/);
    await trader.client.cancelAll();
  });
}

test("a read answered by a proxy is repeated, and its failure names the proxy's answer", async () => {
  let left = 2;
  proxy.spoil = () => (left-- > 0 ? { status: 520, body: HTML } : null);
  await client.balances();
  proxy.spoil = () => ({ status: 520, body: HTML });
  await assert.rejects(client.balances(), { name: 'ApiError', status: 520, code: 'UNKNOWN' });
  const failed = await pmx.failure(3, 'balances');
  assert.equal(failed.status, 520);
});

test('a refusal by the exchange through the proxy stays one, after one attempt', async () => {
  spoil(isOrder, { status: 520, body: '' }, 0);
  await assert.rejects(client.place({ ...BID, size: '100000000' }), { code: 'INSUFFICIENT_BALANCE' });
  assert.equal(proxy.passed.filter(isOrder).length, 1);
});
