/** `client.place`: what it signs, when it signs again, what it does without an answer, and what it never shows. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { privateKeyToAccount } from 'viem/accounts';
import {
  AccountSigner,
  AdminClient,
  type ApiError,
  ApiKey,
  ExchangeClient,
  ExchangeStream,
  formatLots,
  formatPrice,
  formatUnits,
  OrderSigner,
  type OrderWallet,
  type PlaceIntent,
  parseLots,
  parsePrice,
  parseUnits,
  RequestSigner,
  UnknownOutcomeError,
} from '../../../../shared/client/index.ts';
import { draftOrder } from '../../../../shared/client/order.ts';
import { answer, lost, type Outcome, refusal } from '../../../support/fetchLine.ts';

const PRIVATE_KEY = `0x${'0'.repeat(63)}1` as const;
const WALLET = '0x7e5f4552091a69125d5dfcb7b8c2659029395bdf';
const SECRETS = { secret: 'c2VjcmV0LXNlY3JldA', passphrase: 'open sesame' };
const CREDENTIALS = { keyId: 'key-1', ...SECRETS };
const ID = '0190a6f0-7b1c-7abc-8def-0123456789ab';
const CONTRACTS = [`0x${'ab'.repeat(20)}`, `0x${'cd'.repeat(20)}`];
const INTENT: PlaceIntent = { marketId: ID, outcomeIndex: 0, side: 'BUY', price: '0.65', size: '100' };

type Body = Record<string, unknown> & { salt: string; signature: string };

/** An exchange with one market, whose fee and contract can change; `placed` says what becomes of each placement. */
class Exchange {
  readonly bodies: Body[] = [];
  readonly headers: Headers[] = [];
  readonly reads: string[] = [];
  feeBps = 50;
  contract = CONTRACTS[0];
  floor: () => Response = () => answer(200, { address: WALLET, nonce_floor: 3 });
  placed: (count: number) => Outcome = () => answer(200, { status: 'open', order_id: 'o' });
  order: () => Response = () => refusal(404, 'NOT_FOUND');
  changed: () => Error = () => lost();
  cancelled: () => Response = () => answer(200, { message: 'done' });

  readonly fetch = (async (url: string, { method, body, headers }: RequestInit) => {
    const { pathname, search } = new URL(url);
    if (method === 'POST') {
      this.bodies.push(JSON.parse(String(body)));
      this.headers.push(new Headers(headers));
      const outcome = this.placed(this.bodies.length);
      if (outcome instanceof Error) throw outcome;
      return outcome;
    }
    if (method === 'PUT') throw this.changed();
    this.reads.push(`${method} ${pathname}${search}`);
    if (method === 'DELETE') return this.cancelled();
    if (pathname.endsWith('/nonce-floor')) return this.floor();
    if (pathname.startsWith('/v1/orders/')) return this.order();
    if (pathname.endsWith('tick-size')) return answer(200, { ticks_per_unit: 100 });
    if (pathname.endsWith('fee-rate')) return answer(200, { maker_fee_bps: this.feeBps });
    if (pathname.startsWith('/v1/markets/')) return answer(200, { id: ID, yes_token_id: '11', no_token_id: '22' });
    assert.equal(pathname, '/v1/platform/config');
    const eip712_domain = { name: 'X', version: '1' };
    return answer(200, { chain_id: 137, exchange_address: this.contract, eip712_domain });
  }) as unknown as typeof fetch;

  client(wallet: OrderWallet | undefined = PRIVATE_KEY): ExchangeClient {
    const retry = { firstPauseMs: 0, mostPauseMs: 0 };
    return new ExchangeClient({
      baseUrl: 'http://exchange',
      credentials: CREDENTIALS,
      wallet,
      fetch: this.fetch,
      retry,
    });
  }
}

test('a private key, an account of viem and a signer sign the same order, and each place is an order', async () => {
  const domain = { name: 'X', version: '1', chainId: 137, verifyingContract: CONTRACTS[0] };
  const account = privateKeyToAccount(PRIVATE_KEY);
  const signatures = new Set<unknown>();
  for (const wallet of [
    PRIVATE_KEY,
    account,
    new OrderSigner(PRIVATE_KEY, domain),
    new AccountSigner(account, domain),
  ]) {
    const exchange = new Exchange();
    const order = await exchange.client(wallet).place(INTENT, { salt: '7' });
    const [body] = exchange.bodies;
    assert.deepEqual([body.maker, body.signer, body.maker_amount], [WALLET, WALLET, '65000000']);
    assert.equal(order.answer?.order_id, 'o');
    signatures.add(`${body.signature} ${order.hash}`);
  }
  assert.equal(signatures.size, 1);
  const exchange = new Exchange();
  const client = exchange.client();
  const [one, other] = [await client.place(INTENT), await client.place(INTENT)];
  assert.notEqual(one.hash, other.hash);
  assert.equal(new Set(exchange.headers.map((headers) => headers.get('idempotency-key'))).size, 2);
  assert.equal(exchange.reads.length, 5, 'the grid, the fee, the domain and the floor are read once');
  assert.equal(exchange.bodies[0].nonce, 3);
});

test('a wallet that gives no signature of a key is not believed, and a client without a wallet says so', async () => {
  const odd = { address: WALLET, signTypedData: async () => '0x1234' };
  await assert.rejects(new Exchange().client(odd).place(INTENT), /signature of 65 bytes/);
  const exchange = new Exchange();
  const none = new ExchangeClient({ baseUrl: 'http://exchange', credentials: CREDENTIALS, fetch: exchange.fetch });
  await assert.rejects(none.place(INTENT), /no `wallet`/);
  assert.deepEqual(exchange.bodies, []);
});

test('an order that is refused for a changed fee or contract is signed anew, unless it names its fee', async () => {
  for (const [code, change] of [
    ['FEE_RATE_MISMATCH', (exchange: Exchange) => (exchange.feeBps = 70)],
    ['INVALID_SIGNATURE', (exchange: Exchange) => (exchange.contract = CONTRACTS[1])],
  ] as const) {
    const exchange = new Exchange();
    const client = exchange.client();
    await client.signOrder(INTENT);
    exchange.placed = (count) => (count === 1 ? refusal(422, code) : answer(200, { status: 'open' }));
    change(exchange);
    await client.place(INTENT, { salt: '7' });
    const [first, second] = exchange.bodies;
    assert.deepEqual([exchange.bodies.length, first.salt === second.salt], [2, true]);
    assert.notEqual(first.signature, second.signature);
    assert.equal(second.fee_rate_bps, exchange.feeBps);
    exchange.placed = () => refusal(422, code);
    await assert.rejects(client.place(INTENT), { code });
    assert.equal(exchange.bodies.length, 3, 'nothing has changed, so nothing would');
  }
  const exchange = new Exchange();
  exchange.placed = () => refusal(422, 'FEE_RATE_MISMATCH');
  const client = exchange.client();
  await assert.rejects(client.place({ ...INTENT, feeRateBps: 40 }), { code: 'FEE_RATE_MISMATCH' });
  assert.deepEqual(
    exchange.bodies.map(({ fee_rate_bps }) => fee_rate_bps),
    [40],
  );
});

test('a fault of the exchange, or of a proxy that answers in JSON, leaves open whether the order stands', async () => {
  const proxied = { error: { message: 'no upstream' }, code: 502 };
  for (const [placed, code] of [
    [() => refusal(500, 'INTERNAL_ERROR'), 'INTERNAL_ERROR'],
    [() => answer(502, proxied), 'UNKNOWN'],
  ] as const) {
    const exchange = new Exchange();
    exchange.placed = placed;
    const error: unknown = await exchange
      .client()
      .place(INTENT)
      .catch((caught: unknown) => caught);
    assert.ok(error instanceof UnknownOutcomeError);
    assert.equal((error.cause as ApiError).code, code);
    assert.doesNotMatch(String(error.cause), /object Object/);
  }
});

test('when no answer comes the error has the order: to look at, to send again, to rule out', async () => {
  const exchange = new Exchange();
  const client = exchange.client();
  exchange.placed = () => lost();
  const error: unknown = await client.place(INTENT).catch((caught: unknown) => caught);
  assert.ok(error instanceof UnknownOutcomeError);
  assert.equal(exchange.bodies.length, 4);
  const { order } = error;
  assert.match(error.message, new RegExp(order.hash));
  assert.equal(order.answer, null);
  await assert.rejects(order.record(), { status: 404 });

  exchange.placed = () => answer(200, { status: 'open' });
  await client.placeOrder(order.body);
  assert.equal(new Set(exchange.bodies.map(({ signature }) => signature)).size, 1);
  assert.equal(new Set(exchange.headers.map((headers) => headers.get('idempotency-key'))).size, 1);

  const done = order.done;
  exchange.cancelled = () => answer(200, { message: 'no order', tombstone_until: '2030-01-01T00:00:00.000Z' });
  await order.cancel();
  assert.ok(exchange.reads.includes(`DELETE /v1/orders/${order.hash}?tombstone=1`));
  assert.equal((await done).status, 'rejected');
  client.close();
});

test('an amend whose answer is lost has the new order; with a size nothing is read before it', async () => {
  const exchange = new Exchange();
  const client = exchange.client();
  const order = await client.place(INTENT);
  const reads = exchange.reads.length;
  exchange.changed = () => lost();
  const error: unknown = await order.amend({ price: '0.64', size: '5' }).catch((caught: unknown) => caught);
  assert.ok(error instanceof UnknownOutcomeError);
  assert.deepEqual([error.order.body.maker_amount, error.order.body.taker_amount], ['3200000', '5000000']);
  assert.notEqual(error.order.hash, order.hash);
  assert.equal(exchange.reads.length, reads);
  assert.match(inspect(error.order), /^PlacedOrder \{\s+hash: '0x\w{64}',\s+status: null/);
});

test('a signal that ends a placement leaves its order too, and ends what waits for the order', async () => {
  const exchange = new Exchange();
  const reason = new Error('too late');
  const during = new AbortController();
  exchange.placed = () => {
    during.abort(reason);
    return lost();
  };
  const client = exchange.client();
  await client.signOrder(INTENT);
  const error = await client
    .with({ signal: during.signal })
    .place(INTENT)
    .catch((caught) => caught);
  assert.ok(error instanceof UnknownOutcomeError);
  assert.equal(error.cause, reason);
  await assert.rejects(error.order.done, reason);

  const later = new AbortController();
  exchange.placed = () => answer(200, { status: 'open' });
  exchange.order = () => answer(200, { status: 'open' });
  const order = await client.with({ signal: later.signal }).place(INTENT);
  const done = order.done;
  later.abort(reason);
  await assert.rejects(done, reason);
  client.close();
});

test('cancelling an order that is closed already is no error, and every other refusal is one', async () => {
  const exchange = new Exchange();
  const order = await exchange.client().place(INTENT);
  exchange.cancelled = () => refusal(409, 'ORDER_NOT_CANCELLABLE');
  await order.cancel();
  exchange.cancelled = () => refusal(403, 'INSUFFICIENT_SCOPE');
  await assert.rejects(order.cancel(), { code: 'INSUFFICIENT_SCOPE' });
});

test('amounts go from decimals to integers and back, and a number of JavaScript is refused', async () => {
  assert.deepEqual(
    [parseUnits('12.5'), parseUnits('0.000001'), parseUnits('9007199254740993')],
    [12_500_000n, 1n, 9_007_199_254_740_993_000_000n],
  );
  for (const units of [0n, 1n, 1_000_000n, -1_250_000n, 2n ** 70n]) {
    assert.equal(formatUnits(units), formatUnits(String(units)));
    if (units >= 0n) assert.equal(parseUnits(formatUnits(units)), units);
  }
  assert.deepEqual([formatUnits(-1_250_000n), formatUnits(1n), formatUnits(0n)], ['-1.25', '0.000001', '0']);
  assert.deepEqual([parsePrice('0.65', 100), formatPrice(65n, 100)], [65n, '0.65']);
  assert.deepEqual([parseLots('12.5', 100), formatLots(125_000n, 100)], [125_000n, '12.5']);
  for (const text of ['', '1.', '.5', '1e3', '-1', '1.0000001', '01', ' 1'])
    assert.throws(() => parseUnits(text), RangeError);
  for (const call of [
    parseUnits,
    (value: string) => parsePrice(value, 100),
    (value: string) => parseLots(value, 100),
  ]) {
    assert.throws(() => call(0.5 as never), TypeError);
  }
  const client = new Exchange().client();
  await assert.rejects(client.place({ ...INTENT, price: 0.65 } as never), TypeError);
  await assert.rejects(client.place({ ...INTENT, size: 100 } as never), TypeError);
  const exact = { marketId: ID, outcomeIndex: 0, side: 'BUY', priceTicks: 65n, quantityLots: 1_000_000n } as const;
  const { body } = await client.signOrder(exact, { salt: '7' });
  assert.deepEqual(body, (await client.signOrder(INTENT, { salt: '7' })).body);
  for (const off of [{ priceTicks: 0n }, { priceTicks: 100n }, { quantityLots: 0n }, { quantityLots: 10n ** 14n }]) {
    await assert.rejects(client.signOrder({ ...exact, ...off }), RangeError);
  }
  await assert.rejects(client.signOrder({ ...exact, priceTicks: 65 } as never), TypeError);
});

test('no inspection, JSON or text of clients, signers, options and errors shows a secret', async () => {
  const exchange = new Exchange();
  const apiKey = new ApiKey(CREDENTIALS);
  const client = new ExchangeClient({
    baseUrl: 'http://exchange',
    credentials: apiKey,
    wallet: PRIVATE_KEY,
    fetch: exchange.fetch,
    retry: false,
  });
  const errors: unknown[] = [];
  const caught = (error: unknown): unknown => errors.push(error);
  exchange.placed = () => lost();
  await client.place(INTENT).catch(caught);
  exchange.placed = () => refusal(400, 'VALIDATION_ERROR');
  await client.place(INTENT).catch(caught);
  exchange.placed = () => new Response('', { status: 307, headers: { location: 'http://other' } });
  await client.place(INTENT).catch(caught);
  await client.getOrder('0x1').catch(caught);
  assert.throws(
    () => new OrderSigner(`${PRIVATE_KEY}0`, {} as never),
    (error) => caught(error) !== 0,
  );
  assert.equal(errors.length, 5);
  const domain = await client.signingDomain();
  const { marketId: _id, ...terms } = INTENT;
  const draft = draftOrder({ ...terms, feeRateBps: 50, market: await client.orderMarket(ID) } as never);
  const shownTo = [
    client,
    client.with({ timeoutMs: 1 }),
    new AdminClient({ baseUrl: 'http://exchange', token: 'admin-token-1234' }),
    new RequestSigner(apiKey),
    new OrderSigner(PRIVATE_KEY, domain),
    new AccountSigner(privateKeyToAccount(PRIVATE_KEY), domain),
    { baseUrl: 'http://exchange', credentials: apiKey },
    draft,
    ...errors,
  ];
  const [{ secret, passphrase }] = [SECRETS];
  const hidden = [secret, passphrase, PRIVATE_KEY.slice(2), 'admin-token', ...exchange.headers.map(signatureOf)];
  for (const value of shownTo) {
    const shown = inspect(value, { depth: 12, showHidden: true }) + JSON.stringify(value, texts) + String(value);
    for (const text of hidden) assert.ok(!shown.includes(text), `${shown}\n shows ${text}`);
  }
});

function signatureOf(headers: Headers): string {
  const signature = headers.get('x-svc-signature');
  assert.ok(signature !== null);
  return signature;
}

function texts(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}

test('an address that cannot be opened is named without its ticket', async () => {
  const stream = new ExchangeStream({
    baseUrl: 'http://exchange',
    session: { ticket: async () => 'secret-ticket' },
    openSocket: (url) => {
      throw new SyntaxError(`The URL '${url}' is invalid`);
    },
  });
  await assert.rejects(stream.openUser().ready(), { message: "The URL 'ws://exchange/v1/ws?ticket=…' is invalid" });
});

test('the maker’s floor is signed as nonce; if the exchange names a higher one, that is signed at once', async () => {
  const exchange = new Exchange();
  const below = () => answer(400, { error: 'below', code: 'NONCE_BELOW_FLOOR', details: { nonce_floor: 8 } });
  exchange.placed = (count) => (count === 1 ? below() : answer(200, { status: 'open' }));
  const client = exchange.client();
  await client.place(INTENT);
  await client.place(INTENT);
  assert.deepEqual(
    exchange.bodies.map(({ nonce }) => nonce),
    [3, 8, 8],
  );
  exchange.placed = () => below();
  await assert.rejects(client.place({ ...INTENT, nonce: 5 }), { code: 'NONCE_BELOW_FLOOR' });
  assert.equal(exchange.bodies.length, 4, 'a nonce that the caller names is never another one');
});

test('an order for another account’s wallet is signed with nonce 0, and the exchange names the error', async () => {
  const exchange = new Exchange();
  exchange.floor = () => refusal(404, 'NOT_FOUND');
  await exchange.client().place(INTENT, { maker: `0x${'ab'.repeat(20)}` });
  assert.equal(exchange.bodies[0].nonce, 0);
});

test('one call cancels everything that a wallet has ever signed: the floor and one more', async () => {
  const exchange = new Exchange();
  exchange.placed = () => answer(200, { address: WALLET, nonce_floor: 4, orders_cancelled: 2, is_complete: true });
  const raised = await exchange.client().wallets.cancelEverSigned(WALLET);
  assert.deepEqual([raised.orders_cancelled, exchange.bodies], [2, [{ nonce_floor: 4 }]]);
});
