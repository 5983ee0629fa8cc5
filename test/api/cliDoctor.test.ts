/** `pmx doctor`: every fault is made, found, and answered with what to do. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { createServer as createTlsServer } from 'node:tls';
import { fileURLToPath } from 'node:url';
import type { Scope } from '../../shared/client/types.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { fileScope } from '../support/fileScope.ts';
import { freePort } from '../support/freePort.ts';
import { ManualClock } from '../support/manualClock.ts';
import { Pmx } from '../support/pmx.ts';
import { type Json, startServer } from '../support/server.ts';
import { makeMarket } from '../support/traders.ts';
import { makeWallet } from '../support/wallet.ts';

const server = await startServer(fileScope, { SHARDS: '1' });
const { baseUrl } = server;
const PMX = fileURLToPath(new URL('../../shared/client/cli/pmx.mjs', import.meta.url));
const EVERYTHING: Scope[] = ['read:account', 'trade:orders', 'trade:bulk', 'stream:user', 'manage:account'];
const NO_OPENSSL = spawnSync('openssl', ['version']).status !== 0 && 'openssl is not installed';

type Env = Record<string, string>;
type Options = { scopes?: Scope[]; fundsMicro?: string; ips?: string[]; requests?: number };

async function makeUser({ scopes = EVERYTHING, fundsMicro = '1000000', ips, requests }: Options = {}) {
  const wallet = makeWallet();
  const user = await server.admin.createUser({ wallet_address: wallet.address });
  if (fundsMicro !== '0') await server.admin.deposit(user.id, { amount_usdc_micro: fundsMicro });
  const key = await server.admin.createApiKey(user.id, {
    scopes,
    ...(ips === undefined ? {} : { allowed_ips: ips }),
    ...(requests === undefined ? {} : { rate_limit_override: { requests, window_seconds: 60 } }),
  });
  const env: Env = {
    BASE_URL: baseUrl,
    API_KEY: key.key_id,
    API_SECRET: key.secret,
    API_PASSPHRASE: key.passphrase,
    PRIVATE_KEY: wallet.privateKey,
  };
  return { env, user, wallet };
}

type Finding = { check: string; state: string; message: string; advice?: string };

async function examined(env: Env, surroundings: object = {}): Promise<{ code: number; found: Map<string, Finding> }> {
  const { code, out } = await new Pmx(env).run(['doctor', '--json'], surroundings);
  const { ok, checks } = JSON.parse(out) as { ok: boolean; checks: Finding[] };
  assert.equal(ok, code === 0);
  for (const { state, advice, check } of checks) {
    assert.equal(
      advice !== undefined,
      state === 'warn' || state === 'fail',
      `${check}: a fault has advice, and only one`,
    );
  }
  return { code, found: new Map(checks.map((row) => [row.check, row])) };
}

/** The finding is this one, and the exit code follows from it. */
async function assertFinding(env: Env, check: string, state: string, message: RegExp, surroundings?: object) {
  const { code, found } = await examined(env, surroundings);
  const finding = found.get(check)!;
  assert.equal(finding.state, state, JSON.stringify(finding));
  assert.match(finding.message, message);
  assert.equal(code, state === 'fail' ? 1 : 0, JSON.stringify([...found.values()]));
}

test('before there is a market, it says so; then everything is well, and nothing was placed', async () => {
  const { env } = await makeUser();
  await assertFinding(env, 'exchange', 'warn', /no market is active/);
  await makeMarket(server);
  // A busy machine may take a second for an answer, which is worth a warning.
  const found = await eventually('everything is well', async () => {
    const { code, found } = await examined(env);
    return code === 0 && [...found.values()].every(({ state }) => state === 'ok') && found;
  });
  assert.equal(found.size, 14);
  assert.match(found.get('signature')!.message, /no order was placed/);
  assert.equal((await new Pmx(env).json('orders')).total, 0);
  const out = await eventually('it says so', async () => {
    const { out } = await new Pmx(env).run(['doctor']);
    return out.endsWith('\nall well\n') && out;
  });
  assert.match(out, /^ok {4}reachable .* first answer after \d+ ms$/m);
});

test('an exchange that is not there, or is something else', async (t) => {
  const { env } = await makeUser();
  const nowhere = { ...env, BASE_URL: `http://127.0.0.1:${await freePort()}` };
  await assertFinding(nowhere, 'reachable', 'fail', /no program listens there \(ECONNREFUSED\)/);
  const page = createServer((_, response) => response.writeHead(404).end('<html>')).listen(0, '127.0.0.1');
  await once(page, 'listening');
  t.after(() => page.close());
  const other = { ...env, BASE_URL: `http://127.0.0.1:${(page.address() as AddressInfo).port}` };
  await assertFinding(other, 'reachable', 'fail', /answers, but not as the exchange does \(HTTP 404\)/);
  const { code, err } = await new Pmx(other).run(['balances']);
  assert.equal(code, 3);
  const said = `the exchange at ${other.BASE_URL} was not reached: something else answered`;
  assert.ok(err.startsWith(`error: ${said} (UNKNOWN, HTTP 404)\n`), err);
  const mapped = { ...env, BASE_URL: baseUrl.replace('127.0.0.1', '[::ffff:127.0.0.1]') };
  await assertFinding(mapped, 'encryption', 'fail', /others on the way can read and change/);
});

test('an untrusted certificate, and a trusted one', { skip: NO_OPENSSL }, async (t) => {
  const { env } = await makeUser();
  const folder = temporaryDirectory();
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const newKey = '-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes';
  const request = `req -x509 ${newKey} -days 3650 -subj /CN=exchange.test -keyout ${key} -out ${cert}`;
  const made = spawnSync('openssl', [...request.split(' '), '-addext', 'subjectAltName=IP:127.0.0.1']);
  assert.equal(made.status, 0, String(made.stderr));
  const proxy = createTlsServer({ key: readFileSync(key), cert: readFileSync(cert) }, (socket) => {
    const upstream = connect(Number(new URL(baseUrl).port), '127.0.0.1');
    for (const end of [socket, upstream]) end.on('error', () => socket.destroy()).on('close', () => upstream.destroy());
    socket.pipe(upstream).pipe(socket);
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  t.after(() => proxy.close());
  const secure = { ...env, BASE_URL: `https://127.0.0.1:${(proxy.address() as AddressInfo).port}` };
  await assertFinding(secure, 'reachable', 'fail', /its certificate is self-signed \(DEPTH_ZERO_SELF_SIGNED_CERT\)/);
  const child = spawn(process.execPath, [PMX, 'doctor', '--json'], {
    env: { ...secure, HOME: folder, NODE_EXTRA_CA_CERTS: cert },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let out = '';
  for await (const chunk of child.stdout.setEncoding('utf8')) out += chunk;
  const { ok, checks } = JSON.parse(out) as { ok: boolean; checks: Finding[] };
  assert.equal(ok, true, out);
  const found = checks.find(({ check }) => check === 'encryption');
  assert.match(found!.message, /^TLSv1\.3, certificate of exchange\.test for 36\d\d more days$/);
});

test('a clock that is wrong, a little and too much', async () => {
  const { env } = await makeUser();
  const little = { clock: { nowMs: () => Date.now() + 12_000 } };
  await assertFinding(env, 'clock', 'warn', / is \d+ s ahead of the exchange$/, little);
  const ahead = { clock: new ManualClock(Date.now() + 3_600_000) };
  await assertFinding(env, 'clock', 'fail', /\d{4} s ahead of the exchange: signed requests are refused/, ahead);
});

test('every way in which a key is wrong', async () => {
  const { env } = await makeUser();
  const none: Env = { BASE_URL: baseUrl };
  await assertFinding(none, 'key', 'fail', /not signed in/);
  await assertFinding({ ...env, API_KEY: 'key_of_another' }, 'key', 'fail', /does not know this key/);
  await assertFinding({ ...env, API_SECRET: 'd3Jvbmc' }, 'key', 'fail', /the secret is wrong/);
  await assertFinding({ ...env, API_PASSPHRASE: 'wrong' }, 'key', 'fail', /the passphrase is wrong/);
  const elsewhere = await makeUser({ ips: ['10.0.0.0/8'] });
  await assertFinding(elsewhere.env, 'key', 'fail', /may not be used from this address/);
  await server.admin.revokeApiKey(env['API_KEY']!);
  await assertFinding(env, 'key', 'fail', /revoked or has expired/);
  const session = new Pmx({ BASE_URL: baseUrl, PRIVATE_KEY: env['PRIVATE_KEY']! });
  const { user } = await session.json('login');
  await server.admin.endSessions(user.id);
  const { checks } = JSON.parse((await session.run(['doctor', '--json'])).out) as { checks: Finding[] };
  assert.match(checks.find(({ check }) => check === 'key')!.message, /the session has ended/);
});

test('scopes that are missing: for trading, for the stream, for reading', async () => {
  const reader = await makeUser({ scopes: ['read:account'] });
  const { code, found } = await examined(reader.env);
  assert.equal(code, 0);
  assert.match(found.get('scopes')!.message, /^read:account: the key may not trade$/);
  assert.equal(found.get('signature')!.state, 'skip');
  assert.equal(found.get('private stream')!.state, 'warn');
  const trader = await makeUser({ scopes: ['trade:orders'] });
  await assertFinding(trader.env, 'key', 'fail', /INSUFFICIENT_SCOPE/);
});

test('an account that may not trade, for each reason', async () => {
  const { env, user } = await makeUser();
  await server.admin.setAccountState(user.id, 'close_only');
  await assertFinding(env, 'account', 'warn', /may only reduce its positions/);
  await server.admin.setAccountState(user.id, 'frozen');
  await assertFinding(env, 'account', 'fail', /frozen/);
  await server.admin.setAccountState(user.id, 'active');
  const pmx = new Pmx(env);
  await pmx.json('timeout', 'start', '24h');
  await assertFinding(env, 'account', 'warn', /you asked for a break until/);
});

test('a wallet that is missing, wrong, of another account, or a delegate', async () => {
  const { env, user, wallet } = await makeUser();
  await assertFinding({ ...env, PRIVATE_KEY: '' }, 'wallet', 'warn', /no private key here/);
  await assertFinding({ ...env, PRIVATE_KEY: '0x12' }, 'wallet', 'fail', /the private key is not one/);
  const other = makeWallet();
  const foreign = { ...env, PRIVATE_KEY: other.privateKey };
  await assertFinding(foreign, 'wallet', 'fail', /is not linked to the account: its orders are refused/);
  assert.match((await examined(foreign)).found.get('signature')!.message, /maker is not a wallet of this account/);
  await server.admin.addDelegate(user.id, wallet.address.toLowerCase(), other.address.toLowerCase());
  const { found } = await examined(foreign);
  assert.match(found.get('wallet')!.message, /signs as a delegate: --maker/);
  assert.equal(found.get('signature')!.state, 'ok', 'it signs for the wallet that pays');
});

test('no funds, a limit that is used up, and a pause', async () => {
  const poor = await makeUser({ fundsMicro: '0' });
  await assertFinding(poor.env, 'funds', 'warn', /no USDC: nothing can be bought \(nothing to sell either\)/);
  const { env } = await makeUser();
  await server.admin.pause();
  await assertFinding(env, 'exchange', 'warn', /it is paused/);
  await server.admin.resume();
  await server.restart({ RATE_LIMITS: 'on' });
  const limited = await makeUser({ requests: 1 });
  const slow = { ...limited.env, BASE_URL: server.baseUrl, PRIVATE_KEY: '' };
  const { found } = await examined(slow);
  assert.match(found.get('limits')!.message, /^tier standard: 0 of 1 left of [A-Z]+ \/v1/);
  assert.equal(found.get('limits')!.state, 'warn');
});

test('settings that others may read', async () => {
  const pmx = new Pmx({});
  await pmx.json('profile', 'set', 'main', '--url', baseUrl);
  chmodSync(join(pmx.home, '.config/open-prediction-exchange/config.json'), 0o644);
  const { code, out } = await pmx.run(['doctor', '--json']);
  const { checks } = JSON.parse(out) as Json;
  assert.deepEqual([code, checks.length, checks[0].check, checks[0].state], [1, 1, 'settings', 'fail']);
});
