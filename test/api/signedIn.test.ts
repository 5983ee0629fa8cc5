/** The client with a session of a real exchange in place of an API key (RULES.md 15). */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { STRIPPED_BEFORE } from '../../shared/base/stripTypes.ts';
import { ExchangeClient, ExchangeStream, OrderSigner, signInWithWallet } from '../../shared/client/index.ts';
import { addressOf } from '../../shared/client/privateKey.ts';
import type { OpenSocket, StreamSocket } from '../../shared/client/stream/connection.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { startServer } from '../support/server.ts';
import { makeMarket, Trader } from '../support/traders.ts';
import { makeWallet } from '../support/wallet.ts';

const server = await startServer({ after }, {});
const { baseUrl } = server;

test('a session stands in for a key: reads, orders, the list of sessions and their end', async () => {
  const wallet = `0x${'5d'.repeat(32)}`;
  const market = await makeMarket(server);
  const { id } = await server.admin.createUser({ wallet_address: addressOf(wallet) });
  await server.admin.deposit(id, { amount_usdc_micro: '10000000' });
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
  assert.deepEqual(new Set(linked.linked_wallets), new Set([own, other].map(({ address }) => address.toLowerCase())));
  const delegated = { address: other.address.toLowerCase(), delegates: [delegate.address.toLowerCase()] };
  assert.deepEqual(await client.wallets.addDelegate(other, delegate.address), delegated);
  assert.deepEqual(await client.wallets.delegates(other.address), delegated);
  assert.equal((await client.wallets.removeDelegate(other, delegate.address)).is_complete, true);
  assert.deepEqual((await client.wallets.delegates(other.address)).delegates, []);
  assert.ok(Date.parse((await client.wallets.stepUp(own)).authenticated_at) > 0);
  assert.deepEqual((await client.wallets.unlink(other.address)).linked_wallets, [own.address.toLowerCase()]);
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

test('login keeps a session that its owner alone may read; other commands use it until logout', async () => {
  const folder = temporaryDirectory();
  const file = join(folder, 'settings', 'session.json');
  const key = `0x${'5c'.repeat(32)}`;
  const env = { SESSION_FILE: file, DATA_DIR: folder };
  const session = (command: string, more = {}) => runCli('session.ts', [command], { ...env, ...more });
  const order = (...args: string[]) => runCli('order.ts', args, env);
  const expire = (): void => {
    const kept = JSON.parse(readFileSync(file, 'utf8'));
    writeFileSync(file, JSON.stringify({ ...kept, tokens: { ...kept.tokens, expiresMs: 0 } }));
  };

  assert.equal((await session('login', { PRIVATE_KEY: '0x12', BASE_URL: baseUrl })).code, 1);
  assert.deepEqual(await session('whoami'), { code: 1, stdout: '', stderr: 'error: not signed in\n' });
  assert.equal((await session('logout')).code, 1);
  const entered = await session('login', { PRIVATE_KEY: key, BASE_URL: baseUrl });
  assert.equal(entered.code, 0, entered.stderr);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.deepEqual(readdirSync(dirname(file)), ['session.json'], 'no lock and no half-written file is left');
  const shown = await session('whoami');
  assert.match(shown.stdout, new RegExp(`wallet    ${addressOf(key)}\nexchange  ${baseUrl}\nby        session`));

  expire();
  const both = await Promise.all([order('balances'), order('balances')]);
  assert.deepEqual(
    both.map(({ code, stdout }) => [code, stdout]),
    Array.from({ length: 2 }, () => [0, 'USDC  available 0  reserved 0\n']),
  );
  const { refreshToken, accessToken } = JSON.parse(readFileSync(file, 'utf8')).tokens;
  for (const { stdout, stderr } of [entered, shown, ...both]) {
    for (const secret of [key, refreshToken, accessToken]) assert.ok(!(stdout + stderr).includes(secret));
  }
  chmodSync(file, 0o644);
  assert.match((await order('balances')).stderr, /others may read/);
  chmodSync(file, 0o600);
  assert.equal((await session('logout')).stdout, `signed out of ${baseUrl}\n`);
  assert.ok(!existsSync(file));
  const renewed = await server.request('POST', '/v1/auth/refresh', { refresh_token: refreshToken });
  assert.equal(renewed.status, 401, 'the exchange has ended it as well');
  for (const [command, more] of [
    ['leave', {}],
    ['login', { SESSION_FILE: '', PRIVATE_KEY: key }],
  ] as const) {
    const { code, stderr } = await session(command, more);
    assert.equal(code, 64);
    assert.match(stderr, /Usage:/);
  }
});

type Ran = { readonly code: number; readonly stdout: string; readonly stderr: string };

/** In an environment of nothing but what is given. */
function runCli(file: string, args: string[], env: Record<string, string>): Promise<Ran> {
  const path = fileURLToPath(new URL(`../../shared/client/cli/${file}`, import.meta.url));
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [...STRIPPED_BEFORE, path, ...args], { env }, (_, stdout, stderr) => {
      resolve({ code: child.exitCode ?? -1, stdout, stderr });
    });
  });
}
