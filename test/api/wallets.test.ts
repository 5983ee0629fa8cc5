/** Wallets that a person links, unlinks and lends to delegates (RULES.md 15.40 to 15.45). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { draftOrder } from '../../shared/client/order.ts';
import { OrderSigner } from '../../shared/client/orderSigner.ts';
import { onLedgerOnly } from '../support/backend.ts';
import { type Answer, type Json, sharedServer } from '../support/server.ts';
import { assertRefused, delegateOnChain, deposit, makeMarket, makeTrader } from '../support/traders.ts';
import { bearer, makeWallet, signIn } from '../support/wallet.ts';

type Wallet = ReturnType<typeof makeWallet>;

const server = await sharedServer();
const market = await makeMarket(server);

const ask = (session: Json, method: string, path: string, body?: unknown): Promise<Answer> =>
  server.request(method, path, body, bearer(session));

async function enter(wallet: Wallet): Promise<Json> {
  return (await signIn(server, wallet)).body;
}

/** Signs the message offered at the path, and sends it. */
async function signed(
  session: Json,
  offered: string,
  by: Wallet,
  method: string,
  path: string,
  more = {},
): Promise<Answer> {
  const { message } = (await ask(session, 'GET', offered)).body;
  return ask(session, method, path, { message, signature: await by.signMessage({ message }), ...more });
}

const link = (session: Json, wallet: Wallet): Promise<Answer> =>
  signed(session, `/v1/wallets/link/nonce?address=${wallet.address}`, wallet, 'POST', '/v1/wallets/link');

const delegate = (session: Json, wallet: Wallet, signer: string, act: 'add' | 'remove'): Promise<Answer> => {
  const path = `/v1/wallets/${wallet.address.toLowerCase()}/delegates`;
  const method = act === 'add' ? 'POST' : 'DELETE';
  return signed(session, `${path}/nonce?signer=${signer}&act=${act}`, wallet, method, path, { signer });
};

const ofOthers = onLedgerOnly('on a chain only the first wallet of an account has funds (RULES.md 17.35)');

test('15.40, 15.42: a wallet that agrees is linked and pays for orders, until it is unlinked', ofOthers, async () => {
  const [first, second] = [makeWallet(), makeWallet()];
  const session = await enter(first);
  const linked = await link(session, second);
  assert.equal(linked.status, 200, JSON.stringify(linked.body));
  assert.deepEqual(
    linked.body.linked_wallets,
    [first, second].map(({ address }) => address),
  );
  assert.equal((await link(session, second)).status, 200, 'a wallet that is linked already');
  assert.equal((await enter(second)).user.id, session.user.id, 'it signs in to the same account');

  await deposit(server, session.user.id, first.address, 10_000_000);
  const order = await bodyFor(second.address.toLowerCase(), second);
  assert.equal((await ask(session, 'POST', '/v1/orders', order)).status, 200);
  const unlinked = await ask(session, 'DELETE', `/v1/wallets/${second.address}`);
  assert.deepEqual([unlinked.status, unlinked.body.orders_cancelled], [200, 1], JSON.stringify(unlinked.body));
  assert.deepEqual(unlinked.body.linked_wallets, [first.address]);
  assertRefused(
    await ask(session, 'DELETE', `/v1/wallets/${first.address}`),
    409,
    'CONFLICT',
    'the last wallet of an account stays',
  );
  assert.equal((await ask(session, 'DELETE', `/v1/wallets/${second.address}`)).status, 404);
  assert.equal((await signIn(server, second)).status, 403, 'it belongs to its account, and signs in to none');
  assert.equal((await link(session, second)).status, 200, 'the same account may link it again');
});

test('15.41: no wallet of another account, no message for another act, account or wallet', async () => {
  const [own, others, free] = [makeWallet(), makeWallet(), makeWallet()];
  const session = await enter(own);
  const stranger = await enter(others);
  assertRefused(await link(session, others), 409, 'CONFLICT', 'the wallet belongs to another account');
  const offer = async (asker: Json, path: string): Promise<string> => (await ask(asker, 'GET', path)).body.message;
  const ofLink = `/v1/wallets/link/nonce?address=${free.address}`;
  const cases: [string, Wallet, string][] = [
    [await offer(stranger, ofLink), free, 'invalid message'],
    [await offer(session, `/v1/auth/step-up/nonce?address=${free.address}`), free, 'invalid message'],
    [await offer(session, ofLink), own, 'invalid signature'],
    [(await offer(session, ofLink)).replace('Link this wallet', 'Sign in'), free, 'invalid message'],
    [(await offer(session, ofLink)).replace(/(Nonce: .*)./, '$1x'), free, 'invalid nonce'],
    ['hello', free, 'invalid message'],
  ];
  for (const [message, wallet, error] of cases) {
    const signature = await wallet.signMessage({ message });
    const answer = await ask(session, 'POST', '/v1/wallets/link', { message, signature });
    assertRefused(answer, 400, 'VALIDATION_ERROR', error);
  }
  const message = await offer(session, ofLink);
  const body = { message, signature: await free.signMessage({ message }) };
  const both = await Promise.all([1, 2].map(() => ask(session, 'POST', '/v1/wallets/link', body)));
  assert.deepEqual(both.map(({ status }) => status).sort(), [200, 400], 'a nonce is good once');
  assert.equal((await ask(session, 'GET', '/v1/wallets/link/nonce?address=0x12')).status, 400);
  assert.equal((await server.request('GET', ofLink)).status, 401);
  const reader = await makeTrader(server, { scopes: ['read:account'] });
  assert.equal((await reader.send('GET', ofLink)).status, 403);
});

test('15.43: a delegate signs for the wallet that let it, until the wallet takes that back', async () => {
  const [owner, helper] = [makeWallet(), makeWallet()];
  const session = await enter(owner);
  await deposit(server, session.user.id, owner.address, 10_000_000);
  const signer: string = helper.address;
  const wallet: string = owner.address;
  assertRefused(
    await ask(session, 'POST', '/v1/orders', await bodyFor(wallet, helper)),
    403,
    'FORBIDDEN',
    'maker is not a wallet of this account',
  );
  await delegateOnChain(server, wallet, signer);
  const added = await delegate(session, owner, signer, 'add');
  assert.deepEqual([added.status, added.body], [200, { address: wallet, delegates: [signer] }]);
  assert.equal((await ask(session, 'POST', '/v1/orders', await bodyFor(wallet, helper))).status, 200);
  // A message that adds one delegate is of no use for another, nor for taking it away.
  const path = `/v1/wallets/${wallet}/delegates`;
  const { message } = (await ask(session, 'GET', `${path}/nonce?signer=${signer}`)).body;
  const signature = await owner.signMessage({ message });
  const other = makeWallet().address.toLowerCase();
  assert.equal((await ask(session, 'POST', path, { signer: other, message, signature })).status, 400);
  assert.equal((await ask(session, 'DELETE', path, { signer, message, signature })).status, 400);
  const removed = await delegate(session, owner, signer, 'remove');
  assert.deepEqual([removed.status, removed.body.orders_cancelled], [200, 1]);
  assert.deepEqual((await ask(session, 'GET', path)).body.delegates, []);
  assert.equal((await delegate(session, owner, signer, 'remove')).status, 404);
  assert.equal((await ask(session, 'GET', `/v1/wallets/${signer}/delegates`)).status, 404);
});

test('15.44: a restart keeps linked wallets, and API keys may change wallets too', async () => {
  const trader = await makeTrader(server);
  const wallet = makeWallet();
  const { message } = (await trader.send('GET', `/v1/wallets/link/nonce?address=${wallet.address}`)).body;
  const signature = await wallet.signMessage({ message });
  const linked = await trader.send('POST', '/v1/wallets/link', { message, signature });
  assert.equal(linked.status, 200, JSON.stringify(linked.body));
  assertRefused(
    await trader.send('POST', '/v1/auth/step-up', { message, signature }),
    403,
    'FORBIDDEN',
    'only a session may do this',
  );
  await server.kill();
  await server.start();
  const profile = await trader.reconnected().send('GET', '/v1/user/profile');
  assert.ok(profile.body.linked_wallets.includes(wallet.address));
});

test('15.45: a step-up with a linked wallet is noted with the session', async () => {
  const [own, stranger] = [makeWallet(), makeWallet()];
  const session = await enter(own);
  const offered = (wallet: Wallet) => `/v1/auth/step-up/nonce?address=${wallet.address}`;
  const done = await signed(session, offered(own), own, 'POST', '/v1/auth/step-up');
  assert.equal(done.status, 200, JSON.stringify(done.body));
  const [listed] = (await ask(session, 'GET', '/v1/auth/sessions')).body.sessions;
  assert.equal(listed.authenticated_at, done.body.authenticated_at);
  const refused = await signed(session, offered(stranger), stranger, 'POST', '/v1/auth/step-up');
  assertRefused(refused, 404, 'NOT_FOUND', 'the account has no such wallet');
});

async function bodyFor(maker: string, wallet: Wallet): Promise<Json> {
  const { eip712_domain: domain } = (await server.request('GET', '/v1/platform/config')).body;
  const draft = draftOrder({ market, outcomeIndex: 0, side: 'BUY', price: '0.4', size: '5', feeRateBps: 50 });
  return new OrderSigner(wallet.privateKey, domain).sign(draft, { maker }).body;
}
