/**
 * Addresses in answers have their check sum, and are taken in whatever case (RULES.md 6.14). Every answer of every test
 * against a server is checked against the document, with the format of EIP-55 (test/support/contract.ts); here each
 * operation with an address in its answer is called, or says which test calls it.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ExchangeClient } from '../../shared/client/client.ts';
import { checksumAddress } from '../../shared/crypto/checksumAddress.ts';
import { eventually } from '../support/eventually.ts';
import { fileScope } from '../support/fileScope.ts';
import { type Answer, type Json, startServer } from '../support/server.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';
import { bearer, makeWallet, signIn } from '../support/wallet.ts';

const CASH = 'test/api/fiat.test.ts';
const CHAIN = 'test/unit/gateway/chain/chainFundsRoutes.test.ts';
const SIGN_IN = 'test/api/providers.test.ts';
const FACTORY = `0x${'fa'.repeat(20)}`;

const server = await startServer(fileScope, { SHARDS: '1', MARKET_FACTORY_ADDRESS: FACTORY });
const wallet = makeWallet();
const session = (await signIn(server, wallet)).body;
const trader = await makeTrader(server);
const event = await server.admin.createEvent({ title: 'Rain' });
const market = await makeMarket(server, { event_id: event.id });
const other = await makeMarket(server, { event_id: event.id });
await trader.send('POST', `/v1/markets/${market.id}/deploy`);
await trader.send('POST', `/v1/markets/${other.id}/deploy`);

const open = (path: string): Promise<Answer> => server.request('GET', path);
const own = (method: string, path: string, body?: unknown): Promise<Answer> =>
  server.request(method, path, body, bearer(session));
const admin = (method: string, path: string, body?: unknown): Promise<Answer> =>
  server.adminRequest(method, path, body);
const users = `/admin/users/${session.user.id}`;
const [first, second, third] = [makeWallet(), makeWallet(), makeWallet()].map(({ address }) => address) as [
  string,
  string,
  string,
];

async function signed(offered: string, by: ReturnType<typeof makeWallet>, method: string, path: string, more = {}) {
  const { message } = (await own('GET', offered)).body;
  return own(method, path, { message, signature: await by.signMessage({ message }), ...more });
}

function delegating(method: 'POST' | 'DELETE'): Promise<Answer> {
  const path = `/v1/wallets/${wallet.address}/delegates`;
  const act = method === 'POST' ? 'add' : 'remove';
  return signed(`${path}/nonce?signer=${third}&act=${act}`, wallet, method, path, { signer: third });
}

const linked = makeWallet();

/** In this order. A text is the test that has the answer. */
const CALLS: Readonly<Record<string, string | (() => Promise<Answer>)>> = {
  'get /v1/platform/config': () => open('/v1/platform/config'),
  'get /v1/markets': () => open('/v1/markets'),
  'get /v1/markets/{id}': () => open(`/v1/markets/${market.id}`),
  'get /v1/events/browse': () => open('/v1/events/browse'),
  'get /v1/events/{slug}/view': () => open(`/v1/events/${event.slug}/view`),
  'get /v1/markets/{id}/related': () => open(`/v1/markets/${market.id}/related`),
  'get /v1/user/profile': () => own('GET', '/v1/user/profile'),
  'get /v1/markets/{id}/split-params': () => trader.send('GET', `/v1/markets/${market.id}/split-params`),
  'post /v1/auth/wallet': () => signIn(server, wallet),
  'post /v1/wallets/link': () =>
    signed(`/v1/wallets/link/nonce?address=${linked.address}`, linked, 'POST', '/v1/wallets/link'),
  'get /v1/wallets/{address}/delegates': () => own('GET', `/v1/wallets/${wallet.address}/delegates`),
  'post /v1/wallets/{address}/delegates': () => delegating('POST'),
  'delete /v1/wallets/{address}/delegates': () => delegating('DELETE'),
  'get /v1/wallets/{address}/nonce-floor': () => own('GET', `/v1/wallets/${wallet.address}/nonce-floor`),
  'post /v1/wallets/{address}/nonce-floor': () =>
    own('POST', `/v1/wallets/${wallet.address}/nonce-floor`, { nonce_floor: 1 }),
  'delete /v1/wallets/{address}': () => own('DELETE', `/v1/wallets/${linked.address}`),
  'post /admin/users': () => admin('POST', '/admin/users', { wallet_address: makeWallet().address }),
  'get /admin/users': () => admin('GET', '/admin/users'),
  'get /admin/users/{id}': () => admin('GET', users),
  'post /admin/users/{id}/wallets': () => admin('POST', `${users}/wallets`, { address: first }),
  'get /admin/users/{id}/wallets': () => admin('GET', `${users}/wallets`),
  'post /admin/users/{id}/delegates': () => admin('POST', `${users}/delegates`, { maker: first, signer: second }),
  'get /admin/users/{id}/delegates': () => admin('GET', `${users}/delegates`),
  'put /admin/users/{id}/state': () => admin('PUT', `${users}/state`, { state: 'active' }),
  'delete /admin/users/{id}/delegates/{maker}/{signer}': () => admin('DELETE', `${users}/delegates/${first}/${second}`),
  'delete /admin/users/{id}/wallets/{address}': () => admin('DELETE', `${users}/wallets/${first}`),
  'patch /admin/markets/{id}': () => admin('PATCH', `/admin/markets/${market.id}`, { category: 'Rain' }),
  'post /admin/markets/{id}/stage': () => admin('POST', `/admin/markets/${market.id}/stage`, { stage: 'post_only' }),
  'post /admin/markets/{id}/resolve': () => admin('POST', `/admin/markets/${market.id}/resolve`, { outcome_index: 0 }),
  'post /admin/markets/{id}/cancel': () => admin('POST', `/admin/markets/${other.id}/cancel`),
  'post /admin/markets/{id}/settle': () => admin('POST', `/admin/markets/${market.id}/settle`),
  'post /admin/event-sets': 'test/api/eventSets.test.ts',
  'post /admin/event-sets/{id}/resolve': 'test/api/eventSets.test.ts',
  'post /admin/event-sets/{id}/cancel': 'test/api/eventSets.test.ts',
  'post /admin/event-sets/{id}/settle': 'test/api/eventSets.test.ts',
  'get /admin/platform': () => admin('GET', '/admin/platform'),
  'post /admin/platform/contracts': () => admin('POST', '/admin/platform/contracts', { exchange_address: third }),
  'post /v1/auth/refresh': 'test/api/sessions.test.ts',
  'post /v1/auth/privy': SIGN_IN,
  'post /v1/auth/callback': SIGN_IN,
  // A market is made before it is deployed: the answer has no contract yet.
  'post /admin/markets': 'test/api/markets.test.ts',
  'get /v1/user/fiat/sessions': CASH,
  'get /v1/user/fiat/sessions/{id}': CASH,
  'post /v1/user/fiat/onramp/sessions': CASH,
  'post /v1/user/fiat/offramp/sessions': CASH,
  'post /v1/user/fiat/onramp/sessions/{id}/complete': CASH,
  'post /v1/user/fiat/offramp/sessions/{id}/cancel': CASH,
  'get /v1/user/fiat/offramp/sessions/{id}/transfer': CASH,
  'get /v1/user/fiat/offramp/sessions/{id}/transaction': CASH,
  'post /v1/user/fiat/offramp/sessions/{id}/transfer/authorization': CASH,
  'post /v1/user/fiat/offramp/sessions/{id}/transfer/submit': CASH,
  'get /v1/fiat/rail': CASH,
  'get /v1/fiat/rail/transfers': CASH,
  'get /admin/fiat/sessions': CASH,
  'get /admin/fiat/sessions/{id}': CASH,
  'post /v1/user/deposit-authorizations': CHAIN,
  'get /admin/settlement/money': 'test/unit/gateway/chain/adminChainMoneyRoutes.test.ts',
  'get /admin/operations': 'test/chain/rotation.test.ts',
};

/** The operations of the document with an address in an answer. */
function withAddresses(document: Json): string[] {
  const found: string[] = [];
  for (const [path, methods] of Object.entries<Json>(document['paths'])) {
    for (const [method, { responses }] of Object.entries<Json>(methods)) {
      if (hasAddress(responses, document, new Set())) found.push(`${method} ${path}`);
    }
  }
  return found;
}

function hasAddress(value: unknown, document: Json, seen: Set<unknown>): boolean {
  if (typeof value !== 'object' || value === null || seen.has(value)) return false;
  seen.add(value);
  const { $ref, format } = value as { $ref?: string; format?: unknown };
  if (format === 'address') return true;
  const target = $ref
    ?.split('/')
    .slice(1)
    .reduce((at, key) => at[key], document as Json);
  return hasAddress(target, document, seen) || Object.values(value).some((each) => hasAddress(each, document, seen));
}

function addressesIn(text: string): string[] {
  return text.match(/(?<![0-9a-zA-Z])0x[0-9a-fA-F]{40}(?![0-9a-fA-F])/g) ?? [];
}

function assertShown(addresses: readonly string[], where: string): void {
  for (const address of addresses) assert.equal(address, checksumAddress(address.toLowerCase()), where);
}

/** A spelling with a wrong check sum, which almost every one is, has no meaning: only digits count. */
function spellings(address: string): string[] {
  return [
    address,
    address.toLowerCase(),
    `0x${address.slice(2).toUpperCase()}`,
    address.replace(/[a-f]/, (digit) => digit.toUpperCase()),
  ];
}

describe('an address', () => {
  test('in the answer of any operation of the document has its check sum', async () => {
    const { body: document } = await open('/openapi.json');
    assert.deepEqual(withAddresses(document).sort(), Object.keys(CALLS).sort());
    for (const [name, call] of Object.entries(CALLS)) {
      if (typeof call === 'string') continue;
      // Lists of markets follow their changes a little later.
      await eventually(`${name} has an address`, async () => {
        const { status, body } = await call();
        assert.ok(status < 300, `${name}: ${status} ${JSON.stringify(body)}`);
        const addresses = addressesIn(JSON.stringify(body));
        assertShown(addresses, name);
        return addresses.length > 0;
      });
    }
  });

  test('in the documents has its check sum, and frames of streams have none', async () => {
    const { body: document } = await open('/openapi.json');
    assertShown(addressesIn(JSON.stringify(document)), '/openapi.json');
    const frames = JSON.stringify((await open('/asyncapi.json')).body);
    assertShown(addressesIn(frames), '/asyncapi.json');
    assert.ok(!frames.includes('"format":"address"'));
  });

  test('is accepted in upper and lower case on every route', async () => {
    for (let at = 0; at < spellings(first).length; at++) {
      const spelling = spellings(makeWallet().address)[at]!;
      const { id } = (await admin('POST', '/admin/users', {})).body;
      const path = `/admin/users/${id}`;
      const added = await admin('POST', `${path}/wallets`, { address: spelling });
      assert.equal(added.status, 201, spelling);
      const shown = added.body.wallet_address;
      assertShown([shown], spelling);
      const found = await admin('GET', `/admin/users?wallet=${spelling}`);
      assert.equal(found.body.users[0].id, id);
      const delegate = await admin('POST', `${path}/delegates`, { maker: spelling, signer: spelling });
      assert.deepEqual(delegate.body, { maker: shown, signer: shown });
      assert.equal((await open(`/v1/auth/wallet/nonce?address=${spelling}`)).status, 200);
      assert.equal((await admin('DELETE', `${path}/wallets/${spelling}`)).status, 200);
    }
    for (const spelling of spellings(wallet.address)) {
      assert.equal((await own('GET', `/v1/wallets/${spelling}/delegates`)).status, 200, spelling);
      const found = await admin('GET', `/admin/users?wallet=${spelling}`);
      assert.equal(found.body.users.length, 1, spelling);
    }
    const book = await makeMarket(server);
    trader.signer.useDomain(await new ExchangeClient({ baseUrl: server.baseUrl }).signingDomain());
    for (const maker of spellings(trader.address)) {
      const body = trader.body(book, { price: '0.40', size: '10' });
      assert.equal((await trader.post({ ...body, maker, signer: maker })).status, 200, maker);
    }
    for (const exchange_address of spellings(makeWallet().address)) {
      const changed = await admin('POST', '/admin/platform/contracts', { exchange_address });
      assertShown([changed.body.exchange_address], exchange_address);
    }
  });
});
