/** Ways of the class of CCXT that no method of the live suite takes, against a real exchange. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { addressOf } from '../../shared/client/privateKey.ts';
import { loadCcxt, NO_CCXT } from '../support/ccxtPeer.ts';
import { eventually, within } from '../support/eventually.ts';
import { type Json, ROOT, sharedServer } from '../support/server.ts';
import { delegateOnChain, makeMarket, makeTrader } from '../support/traders.ts';
import { makeOwner, newPrivateKey, pmxOf } from './ccxtWorld.ts';

const server = await sharedServer();
const options = { skip: NO_CCXT, timeout: 120_000 };
const opened: Json[] = [];
after(() => Promise.all(opened.map((exchange) => exchange.close())));

async function makeScene(more: Json = {}) {
  const owner = await makeOwner(server);
  const market = await makeMarket(server, { title: `Paths ${opened.length}` });
  const exchange = await pmxOf(server, owner, more);
  opened.push(exchange);
  const { outcome: yes } = await exchange.fetchOutcome(await handleOf(exchange, market.id));
  return { owner, market, exchange, yes };
}

async function handleOf(exchange: Json, id: string): Promise<string> {
  const rows: Json[] = await exchange.fetchMarkets({ query: 'Paths' });
  return rows.find((row) => row.id === id).outcomes[0].outcome;
}

test('an order with an expiration is GTD, here and in what the exchange keeps', options, async () => {
  const { exchange, yes } = await makeScene();
  const expiration = Math.floor(Date.now() / 1000) + 3600;
  const placed = await exchange.createOrder(yes, 'limit', 'buy', 5, 0.3, { expiration });
  assert.deepEqual([placed.status, placed.timeInForce], ['open', 'GTD']);
  assert.equal((await exchange.fetchOrder(placed.id)).timeInForce, 'GTD');
  const over = { expiration: 1_700_000_000 };
  const { ccxt } = await loadCcxt();
  await assert.rejects(exchange.createOrder(yes, 'limit', 'buy', 5, 0.3, over), ccxt.InvalidOrder);
});

test('more than fifteen orders at once are refused, and none is placed', options, async () => {
  const { exchange, yes } = await makeScene();
  const { ccxt } = await loadCcxt();
  const row = { outcome: yes, type: 'limit', side: 'buy', amount: 2, price: 0.1 };
  const rows = (count: number): Json[] => Array.from({ length: count }, () => row);
  await assert.rejects(exchange.createOrders(rows(16)), ccxt.BadRequest);
  assert.deepEqual(await exchange.fetchOpenOrders(yes), []);
  assert.equal((await exchange.createOrders(rows(15))).length, 15);
  assert.equal((await exchange.fetchOpenOrders(yes)).length, 15);
});

test('a delegate signs for the wallet that pays: walletAddress', options, async () => {
  const { owner, market } = await makeScene();
  const privateKey = newPrivateKey();
  const wallet = owner.trader.address;
  await delegateOnChain(server, wallet, addressOf(privateKey));
  await server.admin.addDelegate(owner.trader.userId, wallet, addressOf(privateKey));
  const exchange = await pmxOf(server, { ...owner, privateKey }, { walletAddress: wallet });
  opened.push(exchange);
  const yes = await handleOf(exchange, market.id);
  const { id, status } = await exchange.createOrder(yes, 'limit', 'buy', 5, 0.3);
  assert.equal(status, 'open');
  assert.deepEqual(
    (await owner.trader.client.userOrders()).orders.map(({ order_hash }) => order_hash),
    [id],
  );
});

test('a frame that is missing, and a checksum that differs, reject; the next call reads anew', options, async () => {
  const { exchange, market, yes } = await makeScene();
  const { ccxt } = await loadCcxt();
  const other = await makeTrader(server);
  const client = (): Json => Object.values(exchange.clients)[0];
  const first = await exchange.watchOrderBook(yes);
  const level = { side: 'BUY', price: '0.10000000', token_quantity_atomic: '5000000' };
  const frame = { channel: 'book_delta', market_id: market.id, timestamp: Date.now() };
  for (const [sequence, data] of [
    [first.nonce + 2, { level }],
    [first.nonce + 1, { level, checksum: 1 }],
  ] as const) {
    const next = assert.rejects(exchange.watchOrderBook(yes), ccxt.ChecksumError);
    // The call has to wait before the frame comes.
    await eventually('the call waits', async () => `orderbook::${yes}` in client().futures);
    exchange.handleMessage(client(), { ...frame, sequence, data });
    await within('the rejection', next);
    assert.equal((await exchange.watchOrderBook(yes)).nonce, first.nonce);
  }
  const changed = exchange.watchOrderBook(yes);
  await eventually('the call waits', async () => `orderbook::${yes}` in client().futures);
  await other.place(market, { price: '0.20', size: '5' });
  assert.deepEqual([...(await changed).bids], [[0.2, 5]]);
});

test('a private socket that was lost continues after the last frame that was seen', options, async () => {
  const { exchange, owner, yes } = await makeScene();
  const { ccxt } = await loadCcxt();
  const client = (): Json => Object.values(exchange.clients)[0];
  const waiting = exchange.watchOrders(yes);
  await eventually('the private socket is open', async () => client()?.isConnected === true);
  const { id } = await exchange.createOrder(yes, 'limit', 'buy', 5, 0.3);
  assert.deepEqual(
    (await waiting).map(({ status }: Json) => status),
    ['open'],
  );
  const lost = assert.rejects(exchange.watchOrders(yes), ccxt.NetworkError);
  await eventually('the call waits', async () => `orders::${yes}` in client().futures);
  const before = client();
  before.connection.terminate();
  await within('the loss', lost);
  // In the meantime: by another program of the same account.
  await owner.trader.client.cancelOrders([id]);
  const [order]: Json[] = await within<Json[]>('the order that has ended', exchange.watchOrders(yes));
  assert.deepEqual([order.id, order.status], [id, 'canceled']);
  assert.notEqual(client(), before);
});

test('the program of the guide runs, and its table names every method that `has` claims', options, async () => {
  const guide = readFileSync(`${ROOT}data/docs/ccxt.md`, 'utf8');
  const [, code] = /```ts [^\n]*\nimport pmx from '[^']*';\n([\s\S]*?)```/.exec(guide)!;
  const { pmx } = await loadCcxt();
  const owner = await makeOwner(server);
  await makeMarket(server, { title: 'Will there be rain in Ulm?' });
  const { keyId, secret, passphrase } = owner.trader.credentials;
  const printed: Json[] = [];
  const Program = Object.getPrototypeOf(async () => {}).constructor;
  const names = ['pmx', 'apiKey', 'secret', 'password', 'privateKey', 'console', 'opened'];
  const text = `${code!.replaceAll('https://exchange.example', server.baseUrl)}\nopened.push(exchange);`;
  const log = { log: (...values: Json[]) => void printed.push(...values) };
  await new Program(...names, text)(pmx, keyId, secret, passphrase, owner.privateKey, log, opened);
  const [order, book] = printed;
  assert.deepEqual([order.status, order.price, order.postOnly], ['open', 0.55, true]);
  assert.deepEqual(book.bids[0], [0.55, 10]);

  const table = guide.slice(guide.indexOf('## Methods'), guide.indexOf('## Errors'));
  const named = [...table.matchAll(/^\|((?: `\w+`,?)+) \|/gm)].flatMap(([, cell]) => cell!.match(/\w+/g)!);
  const claimed = Object.keys(new pmx({}).capabilities()).filter((name) => !NOT_METHODS.has(name));
  assert.deepEqual(named.sort(), claimed.sort());
});

/** Flags, and names for kinds of createOrder. */
const NOT_METHODS: ReadonlySet<string> = new Set(['createLimitOrder', 'createMarketOrder', 'prediction', 'ws']);
