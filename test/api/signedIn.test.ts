/** The client with a session of a real exchange in place of an API key (RULES.md 15). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ExchangeClient, ExchangeStream, OrderSigner, signInWithWallet } from '../../shared/client/index.ts';
import { addressOf } from '../../shared/client/privateKey.ts';
import type { OpenSocket, StreamSocket } from '../../shared/client/stream/connection.ts';
import { eventually } from '../support/eventually.ts';
import { sharedServer } from '../support/server.ts';
import { delegateOnChain, deposit, makeMarket, Trader } from '../support/traders.ts';
import { makeWallet } from '../support/wallet.ts';

const server = await sharedServer();
const { baseUrl } = server;

test('a session stands in for a key: reads, orders, the list of sessions and their end', async () => {
  const wallet = `0x${'5d'.repeat(32)}`;
  const market = await makeMarket(server);
  const { id } = await server.admin.createUser({ wallet_address: addressOf(wallet) });
  await deposit(server, id, addressOf(wallet), 10_000_000);
  const session = await signInWithWallet({ baseUrl, wallet });
  const client = new ExchangeClient({ baseUrl, session });
  assert.equal(session.user.id, id);
  assert.equal((await client.balances()).usdc.available, '10000000');
  const signer = new OrderSigner(wallet, await client.signingDomain());
  const order = new Trader(server, id, signer, { keyId: '', secret: '', passphrase: '' });
  const { order_hash } = await client.placeOrder(order.body(market, { price: '0.40', size: '10' }));
  assert.equal((await client.getOrder(order_hash)).status, 'open');

  const other = await signInWithWallet({ baseUrl, wallet });
  const { sessions } = await client.sessions.list();
  assert.deepEqual(
    sessions.map(({ is_current }) => is_current),
    [false, true],
  );
  await client.sessions.end(sessions[0]!.id);
  await assert.rejects(new ExchangeClient({ baseUrl, session: other }).balances(), { message: 'session has ended' });
  await session.signOut();
  await assert.rejects(client.balances(), { message: 'signed out' });
  const last = new ExchangeClient({ baseUrl, session: await signInWithWallet({ baseUrl, wallet }) });
  assert.equal((await last.sessions.revokeAll()).revoked, 1);
  await assert.rejects(last.balances(), { message: 'session has ended', status: 401 });
});

test('15.40 to 15.45: a session links wallets, names delegates and confirms its person', async () => {
  const [own, other, delegate] = [makeWallet(), makeWallet(), makeWallet()];
  const client = new ExchangeClient({ baseUrl, session: await signInWithWallet({ baseUrl, wallet: own }) });
  const linked = await client.wallets.link(other);
  assert.deepEqual(new Set(linked.linked_wallets), new Set([own, other].map(({ address }) => address)));
  const delegated = { address: other.address, delegates: [delegate.address] };
  await delegateOnChain(server, other.address, delegate.address);
  assert.deepEqual(await client.wallets.addDelegate(other, delegate.address), delegated);
  assert.deepEqual(await client.wallets.delegates(other.address), delegated);
  assert.equal((await client.wallets.removeDelegate(other, delegate.address)).is_complete, true);
  assert.deepEqual((await client.wallets.delegates(other.address)).delegates, []);
  assert.ok(Date.parse((await client.wallets.stepUp(own)).authenticated_at) > 0);
  assert.deepEqual((await client.wallets.unlink(other.address)).linked_wallets, [own.address]);
  await assert.rejects(client.wallets.unlink(own.address), { status: 409 });
});

test('15.7: the stream of a session comes back with another ticket, and ends with the session', async (t) => {
  const session = await signInWithWallet({ baseUrl, wallet: makeWallet() });
  const sockets: StreamSocket[] = [];
  const urls: string[] = [];
  const openSocket: OpenSocket = (url) => {
    urls.push(url);
    sockets.push(new WebSocket(url) as unknown as StreamSocket);
    return sockets.at(-1)!;
  };
  const times = { firstRetryMs: 1, mostRetryMs: 100 };
  const stream = new ExchangeStream({ baseUrl, session, openSocket, times });
  t.after(() => stream.close());
  const user = stream.openUser();
  await user.ready();
  sockets[0]!.close();
  await eventually('another socket', async () => sockets.length > 1 && user.isLive);
  assert.equal(new Set(urls).size, 2, 'each ticket is used once');
  const client = new ExchangeClient({ baseUrl, session });
  await client.sessions.revokeAll();
  await assert.rejects(
    (async () => {
      for await (const event of user) void event;
    })(),
    { message: 'session has ended' },
  );
});
