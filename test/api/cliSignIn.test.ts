/**
 * `pmx login` and the credentials that it stores: sessions, keys, wallets and tokens, in files that only their owner
 * can read.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { addressOf } from '../../shared/client/privateKey.ts';
import { eventually } from '../support/eventually.ts';
import { Pmx } from '../support/pmx.ts';
import { sharedServer } from '../support/server.ts';
import { delegateOnChain, deposit, makeMarket } from '../support/traders.ts';
import { makeWallet } from '../support/wallet.ts';

const server = await sharedServer();
const { baseUrl } = server;
const PROGRAM = fileURLToPath(new URL('../../shared/client/cli/pmx.mjs', import.meta.url));
const NO_SCRIPT = spawnSync('script', ['--version']).status !== 0 && 'script (util-linux) is not installed';
const FOLDER = '.config/open-prediction-exchange';

async function makeUser() {
  const wallet = makeWallet();
  const user = await server.admin.createUser({ wallet_address: wallet.address });
  await deposit(server, user.id, wallet.address, 100_000_000);
  return { wallet, user };
}

test('login keeps a session that its owner alone may read; other commands use it until logout', async () => {
  const key = `0x${'5c'.repeat(32)}`;
  const pmx = new Pmx({ BASE_URL: baseUrl });
  const file = join(pmx.home, FOLDER, 'session.json');
  assert.match((await pmx.failure(2, 'login', '--as', 'carol')).error, /no demo account carol/);
  assert.equal((await pmx.run(['login'], { env: { PRIVATE_KEY: '0x12' } })).code, 1);
  assert.equal((await pmx.failure(4, 'whoami')).code, 'NOT_SIGNED_IN');
  assert.equal((await pmx.failure(4, 'logout')).code, 'NOT_SIGNED_IN');
  const entered = await pmx.run(['login'], { env: { PRIVATE_KEY: key } });
  assert.equal(entered.code, 0, entered.err);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.deepEqual(readdirSync(join(pmx.home, FOLDER)).sort(), ['config.json', 'session.json'], 'no lock is left');
  const shown = await pmx.run(['whoami']);
  assert.match(shown.out, new RegExp(`wallet +${addressOf(key)}\nexchange +${baseUrl}\nprofile +default\nby +session`));

  const kept = JSON.parse(readFileSync(file, 'utf8'));
  writeFileSync(file, JSON.stringify({ ...kept, tokens: { ...kept.tokens, expiresMs: 0 } }));
  const both = await Promise.all([pmx.run(['balances']), pmx.run(['balances'])]);
  for (const { code, out } of both) assert.deepEqual([code, /^USDC +0 +0$/m.test(out)], [0, true]);
  const { refreshToken, accessToken } = JSON.parse(readFileSync(file, 'utf8')).tokens;
  for (const { out, err } of [entered, shown, ...both]) {
    for (const secret of [key, refreshToken, accessToken]) assert.ok(!(out + err).includes(secret));
  }
  chmodSync(file, 0o644);
  assert.match((await pmx.run(['balances'])).err, /others may read/);
  chmodSync(file, 0o600);
  assert.equal((await pmx.run(['logout'])).out, `signed out of ${baseUrl}\n`);
  assert.ok(!existsSync(file));
  const renewed = await server.request('POST', '/v1/auth/refresh', { refresh_token: refreshToken });
  assert.equal(renewed.status, 401, 'the exchange has ended it as well');
});

test('a session trades with the wallet that was kept, and cancels everything at once', async () => {
  const { wallet } = await makeUser();
  const market = await makeMarket(server);
  const pmx = new Pmx({ BASE_URL: baseUrl });
  const typed = await pmx.run(['login', '--stdin', '--keep-wallet'], { input: `${wallet.privateKey}\n` });
  assert.equal(typed.code, 0, typed.err);
  const order = ['place', market.id, '--side', 'buy', '--price', '0.10', '--size', '10'];
  await pmx.json(...order);
  await pmx.json(...order);
  const other = new Pmx({ BASE_URL: baseUrl, PRIVATE_KEY: wallet.privateKey });
  await other.json('login');
  const { sessions } = await pmx.json('sessions', 'list');
  const [{ id }] = sessions.filter((row: { is_current: boolean }) => !row.is_current);
  await pmx.json('sessions', 'end', id);
  assert.equal((await other.failure(4, 'whoami')).error, 'session has ended');
  assert.equal((await pmx.lines('sessions', 'list')).length, 2);
  const { cancelled } = await pmx.json('cancel', '--all');
  assert.equal(cancelled, 2);
  await pmx.json('logout', '--all');
  const config = readFileSync(join(pmx.home, FOLDER, 'config.json'), 'utf8');
  assert.ok(!config.includes(wallet.privateKey.slice(2)), 'the wallet is forgotten with the session');
});

test('wallets are linked, delegates named, and a delegate signs for the wallet that pays', async () => {
  const { wallet } = await makeUser();
  const [second, delegate] = [makeWallet(), makeWallet()];
  const market = await makeMarket(server);
  const pmx = new Pmx({ BASE_URL: baseUrl, PRIVATE_KEY: wallet.privateKey });
  await pmx.json('login');
  assert.ok(await pmx.json('wallet', 'step-up'));
  const linked = await pmx.run(['wallet', 'link', '--stdin', '--json'], { input: second.privateKey });
  assert.equal(JSON.parse(linked.out).linked_wallets.length, 2);
  await delegateOnChain(server, wallet.address, delegate.address);
  await pmx.json('wallet', 'delegate', delegate.address);
  const rows = await pmx.json('wallet', 'list');
  assert.deepEqual(rows.map((row: { delegates: string[] }) => row.delegates.length).sort(), [0, 1]);
  const place = ['place', market.id, '--side', 'buy', '--price', '0.10', '--size', '10', '--json'];
  const env = { PRIVATE_KEY: delegate.privateKey };
  assert.equal((await pmx.run([...place, '--maker', wallet.address], { env })).code, 0);
  const refused = await pmx.run(place, { env });
  assert.equal(JSON.parse(refused.err).hint, 'link the wallet: `pmx wallet link`');
  const raised = await pmx.json('wallet', 'cancel-signed', wallet.address);
  assert.deepEqual([raised.nonce_floor, raised.orders_cancelled], [1, 1]);
  assert.equal((await pmx.run([...place, '--maker', wallet.address], { env })).code, 0, 'it signs the floor');
  const below = await pmx.run([...place, '--maker', wallet.address, '--nonce', '0'], { env });
  assert.equal(JSON.parse(below.err).code, 'NONCE_BELOW_FLOOR', below.err);
  assert.equal((await pmx.json('wallet', 'undelegate', delegate.address)).orders_cancelled, 1);
  assert.equal((await pmx.json('wallet', 'cancel-signed', wallet.address, '--floor', '9')).nonce_floor, 9);
  await pmx.json('wallet', 'unlink', second.address);
  assert.equal((await pmx.json('wallet', 'list')).length, 1);
  assert.equal((await pmx.failure(4, 'wallet', 'link')).error, 'no wallet to link');
});

test('an API key comes through a pipe, is tried before it is kept, and is forgotten', async () => {
  const { user } = await makeUser();
  const operator = new Pmx({ BASE_URL: baseUrl, ADMIN_TOKEN: server.adminToken });
  const key = await operator.json('keys', 'create', user.id, '--scopes', 'read:account,trade:orders');
  assert.deepEqual(key.scopes, ['read:account', 'trade:orders']);
  const pmx = new Pmx({ BASE_URL: baseUrl });
  const enter = (text: string) => pmx.run(['login', '--key', '--stdin'], { input: text });
  assert.equal((await enter('{')).code, 2);
  assert.equal((await enter('key_1 secret')).code, 2);
  assert.equal((await enter(JSON.stringify({ ...key, passphrase: 'wrong' }))).code, 4);
  assert.deepEqual((await pmx.json('profile', 'list')).profiles, [], 'a wrong key is not kept');
  const entered = await enter(JSON.stringify(key));
  assert.equal(entered.code, 0, entered.err);
  assert.ok(!(entered.out + entered.err).includes(key.secret));
  assert.equal(statSync(join(pmx.home, FOLDER, 'config.json')).mode & 0o777, 0o600);
  assert.equal((await pmx.json('whoami')).id, user.id);
  const listed = await pmx.run(['profile', 'list', '--json']);
  assert.equal(JSON.parse(listed.out).profiles[0].api_key, key.key_id);
  assert.ok(!listed.out.includes(key.secret));
  await pmx.json('logout');
  assert.equal((await pmx.failure(4, 'whoami')).code, 'NOT_SIGNED_IN');
});

test('ACCESS-1: credentials of a profile are not sent to another exchange', async () => {
  const { user } = await makeUser();
  const { secret, passphrase, key_id } = await server.admin.createApiKey(user.id, { scopes: ['read:account'] });
  const pmx = new Pmx({});
  const entered = await pmx.run(['login', '--key', '--stdin', '--url', baseUrl], {
    input: `${key_id}\n${secret}\n${passphrase}`,
  });
  assert.equal(entered.code, 0, entered.err);
  assert.equal((await pmx.json('whoami')).id, user.id, 'its address is that of the profile');
  const other = baseUrl.replace('127.0.0.1', 'localhost');
  assert.equal((await pmx.failure(4, 'whoami', '--url', other)).code, 'NOT_SIGNED_IN');
});

test('profiles are made, used and removed', async () => {
  const pmx = new Pmx({});
  await pmx.json('profile', 'set', 'first', '--url', 'https://one.example');
  await pmx.json('profile', 'set', 'second', '--url', 'https://two.example');
  await pmx.json('profile', 'use', 'second');
  // ACCESS-2: a mistyped name acts for no one, nor does it become the demo account that stands for none.
  for (const [args, env] of [
    [['whoami', '--profile', 'secnd'], {}],
    [['cancel', '--all', '--profile', 'secnd'], {}],
    [['book', 'x'], { PMX_PROFILE: 'default' }],
  ] as const) {
    const unknown = await pmx.failureWith(env, 2, ...args);
    assert.match(unknown.error, /^there is no profile (?:secnd|default): there are first, second; pmx login /);
  }
  assert.equal((await pmx.json('profile', 'list')).current, 'second');
  assert.match((await pmx.lines('profile', 'list')).join('\n'), /^\* second +https:\/\/two\.example/m);
  await pmx.json('profile', 'remove', 'second');
  assert.equal((await pmx.json('profile', 'list')).current, 'first');
  for (const args of [
    ['use', 'third'],
    ['remove', 'third'],
    ['set', 'a/b'],
    ['set', 'x', '--url', 'ftp://x.example'],
  ]) {
    assert.equal((await pmx.failure(2, 'profile', ...args)).code, 'USAGE');
  }
  const config = join(pmx.home, FOLDER, 'config.json');
  chmodSync(config, 0o640);
  assert.match((await pmx.failure(1, 'profile', 'list')).error, /others may read/);
  chmodSync(config, 0o600);
  writeFileSync(config, '{');
  assert.match((await pmx.failure(1, 'profile', 'list')).error, /damaged/);
});

test('secrets typed or pasted at a terminal are not shown', { skip: NO_SCRIPT }, async () => {
  const { user } = await makeUser();
  const { key_id, secret, passphrase } = await server.admin.createApiKey(user.id, { scopes: ['read:account'] });
  const pmx = new Pmx({ BASE_URL: baseUrl });
  const child = spawn('script', ['-qec', `${process.execPath} ${PROGRAM} login --key`, '/dev/null'], {
    env: { PATH: process.env['PATH'], HOME: pmx.home, BASE_URL: baseUrl, TERM: 'xterm', DATA_DIR: pmx.home },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  const closed = once(child, 'close');
  await eventually('the first question', async () => text.includes('Key id: '));
  // The erasing keys, and two answers at once.
  child.stdin.write(`${key_id}x\x7f\r${secret}\r`);
  await eventually('the last question', async () => text.includes('Passphrase: '));
  child.stdin.write(`${passphrase}\r`);
  assert.deepEqual([(await closed)[0], /is kept in profile default/.test(text)], [0, true], text);
  for (const typed of [secret, passphrase]) assert.ok(!text.includes(typed));
  assert.equal((await pmx.json('whoami')).id, user.id);
});
