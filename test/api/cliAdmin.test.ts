/** `pmx admin` and `pmx keys`: the actions of operators over HTTP, and refusals. */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileScope } from '../support/fileScope.ts';
import { Pmx } from '../support/pmx.ts';
import { startServer } from '../support/server.ts';
import { makeWallet } from '../support/wallet.ts';

const server = await startServer(fileScope, { SHARDS: '1', APPROVAL_ABOVE_MICRO: '50000000' });
const { baseUrl } = server;
const admin = new Pmx({ BASE_URL: baseUrl, ADMIN_TOKEN: server.adminToken });
const NOBODY = '00000000-0000-4000-8000-000000000000';
const RAIN = ['--title', 'Rain?', '--description', 'Yes if so.', '--category', 'Weather', '--ends-at', '2099-01-01'];

async function newMarket(...more: string[]): Promise<string> {
  return (await admin.json('admin', 'markets', 'create', ...RAIN, ...more)).id;
}

test('markets are made, changed, paused, resumed, decided, cancelled and settled', async () => {
  const event = await admin.json('admin', 'events', 'create', '--title', 'Cup', '--slug', 'cup', '--category', 'Sport');
  const id = await newMarket('--event', event.id, '--ticks', '1000', '--fee-bps', '30', '--min-size', '2');
  const { market, tick_size } = await admin.json('markets', 'show', id);
  assert.deepEqual([market.fee_bps, market.event_id, market.status], [30, event.id, 'active']);
  assert.deepEqual([tick_size.ticks_per_unit, tick_size.min_order_size_atomic], [1000, '2000000']);
  const change = join(admin.home, 'change.json');
  writeFileSync(change, JSON.stringify({ title: 'Rain tomorrow?' }));
  assert.equal((await admin.json('admin', 'markets', 'update', id, '--file', change)).title, 'Rain tomorrow?');
  assert.equal((await admin.json('admin', 'markets', 'pause', id)).status, 'locked');
  assert.equal((await admin.json('admin', 'markets', 'resume', id)).status, 'active');
  assert.match((await admin.lines('admin', 'markets', 'deploy', id))[0]!, /^deploy(ing|ed)$/);
  assert.equal((await admin.failure(1, 'admin', 'markets', 'deploy', NOBODY)).code, 'NOT_FOUND');
  assert.equal((await admin.json('admin', 'markets', 'resolve', id, '--outcome', 'yes')).status, 'resolved');
  assert.equal((await admin.json('admin', 'markets', 'settle', id)).status, 'settled');
  const shared = await newMarket();
  assert.equal((await admin.json('admin', 'markets', 'resolve', shared, '--payouts', '0.25,0.75')).status, 'resolved');
  assert.match((await admin.lines('admin', 'markets', 'cancel', await newMarket())).join('\n'), /^status +cancelled$/m);
  const body = join(admin.home, 'market.json');
  writeFileSync(body, JSON.stringify({ title: 'Snow?', description: 'Yes.', category: 'Weather' }));
  assert.equal(
    (await admin.json('admin', 'markets', 'create', '--file', body, '--ends-at', '2099-01-01')).title,
    'Snow?',
  );

  for (const args of [
    ['resolve', id],
    ['resolve', id, '--payouts', '0.5,0.6'],
    ['resolve', id, '--payouts', 'half,half'],
    ['create', '--ends-at', 'never'],
    ['update', id],
  ]) {
    assert.equal((await admin.failure(2, 'admin', 'markets', ...args)).code, 'USAGE');
  }
  assert.equal((await admin.failure(1, 'admin', 'markets', 'create', '--title', 'Rain?')).code, 'VALIDATION_ERROR');
  assert.equal((await admin.failure(1, 'admin', 'markets', 'pause', NOBODY)).code, 'NOT_FOUND');
  assert.equal((await admin.failure(1, 'admin', 'markets', 'resolve', id, '--outcome', 'yes')).code, 'CONFLICT');
});

test('markets, events and accounts are named as people know them, and several of a name are refused', async () => {
  await admin.json('admin', 'events', 'create', '--title', 'Regatta', '--slug', 'regatta', '--category', 'Sport');
  const boat = ['admin', 'markets', 'create', ...RAIN.with(1, 'Does the blue boat win?'), '--event', 'regatta'];
  const { id } = await admin.json(...boat);
  assert.equal((await admin.json('admin', 'markets', 'pause', 'blue boat')).id, id);
  assert.equal((await admin.json('admin', 'markets', 'resume', 'regatta')).id, id);
  assert.equal((await admin.json('admin', 'markets', 'pause', id.slice(0, 18))).id, id);
  await admin.json(...boat.with(4, 'Does the red boat win?'));
  assert.match((await admin.failure(2, 'admin', 'markets', 'pause', 'boat win')).error, /one of these/);
  assert.equal((await admin.json('admin', 'markets', 'resolve', 'blue boat', '--outcome', 'No')).status, 'resolved');
  assert.match((await admin.failure(2, ...boat.with(-1, 'gymkhana'))).error, /no event has the slug gymkhana/);

  const wallet = makeWallet();
  const made = await admin.json('admin', 'accounts', 'create', '--wallet', wallet.address, '--name', 'Grace');
  for (const name of ['grace', wallet.address, made.id.slice(0, 18), made.id]) {
    assert.equal((await admin.json('admin', 'deposit', name, '1')).status, 'completed', name);
  }
  assert.equal((await admin.json('keys', 'list', 'Grace')).api_keys.length, 0);
  await admin.json('admin', 'accounts', 'create', '--wallet', makeWallet().address, '--name', 'Grace');
  assert.match((await admin.failure(2, 'admin', 'accounts', 'state', 'Grace', 'frozen')).error, /one of these/);
  assert.match((await admin.failure(2, 'admin', 'withdraw', 'Hopper', '1')).error, /no account is called Hopper/);
});

test('failed trades and money that waits are listed; without a chain there are none', async () => {
  assert.deepEqual(await admin.json('admin', 'trades', 'failed'), { trades: [], next_cursor: null });
  assert.match((await admin.lines('admin', 'trades', 'failed')).join('\n'), /no trades/);
  for (const args of [
    ['admin', 'trades', 'retry'],
    ['admin', 'trades', 'unwind'],
  ] as const) {
    assert.equal((await admin.failure(1, ...args, NOBODY)).code, 'NOT_FOUND');
  }
  assert.deepEqual(await admin.json('admin', 'money'), { movements: [], total: 0 });
  assert.equal((await admin.failure(2, 'admin', 'money', '--offset', 'few')).code, 'USAGE');
});

test('accounts are made, funded, restricted; keys issued, listed, rotated and revoked', async () => {
  const wallet = makeWallet();
  const { id } = await admin.json('admin', 'accounts', 'create', '--wallet', wallet.address, '--name', 'Ada');
  assert.ok((await admin.json('admin', 'accounts', 'list', '--limit', '1000')).users.length > 0);
  assert.equal((await admin.json('admin', 'accounts', 'wallet', id, makeWallet().address)).linked_wallets.length, 2);
  const paid = await admin.json('admin', 'deposit', id, '10.5', '--reference', 'wire 1');
  assert.deepEqual(await admin.json('admin', 'deposit', id, '10.5', '--reference', 'wire 1'), paid, 'once, not twice');
  assert.equal((await admin.json('admin', 'withdraw', id, '0.5')).amount_usdc_micro, '500000');
  assert.match((await admin.lines('admin', 'deposit', id, '1')).join('\n'), /^deposit +1 USDC\nstatus +completed$/m);
  assert.equal((await admin.json('admin', 'accounts', 'state', id, 'close_only')).state, 'close_only');
  assert.equal((await admin.json('admin', 'accounts', 'end-sessions', id)).revoked, 0);
  assert.equal((await admin.failure(1, 'admin', 'withdraw', id, '40')).code, 'INSUFFICIENT_BALANCE');
  assert.equal((await admin.failure(2, 'admin', 'deposit', id, 'much')).code, 'USAGE');
  assert.equal((await admin.run(['admin', 'accounts', 'state', id, 'sleepy'])).code, 2);

  const key = await admin.json('keys', 'create', id, '--tier', 'premium', '--expires-at', '2099-01-01');
  assert.deepEqual([key.tier, key.scopes.length, key.expires_at], ['premium', 6, '2099-01-01T00:00:00.000Z']);
  assert.notEqual((await admin.json('keys', 'rotate', key.key_id)).secret, key.secret);
  assert.match((await admin.lines('keys', 'list', id))[1]!, /valid +premium/);
  await admin.json('keys', 'revoke', key.key_id);
  assert.ok((await admin.json('keys', 'list', id)).api_keys[0].revoked_at);
  assert.equal((await admin.failure(1, 'keys', 'revoke', 'key_none')).code, 'NOT_FOUND');
  assert.equal((await admin.run(['keys', 'create', id, '--scopes', 'everything'])).code, 2);
  assert.deepEqual((await admin.json('keys', 'tiers'))[2], { tier: 'market_maker', requests_per_second: 100 });
});

test('a large withdrawal waits for a second operator, and the audit log has both', async () => {
  const ada = await admin.json('admin', 'operators', 'create', 'ada', '--roles', 'treasury,catalogue');
  const bob = await admin.json('admin', 'operators', 'create', 'bob', '--roles', 'treasury');
  const first = new Pmx({ BASE_URL: baseUrl, ADMIN_TOKEN: ada.token });
  const second = new Pmx({ BASE_URL: baseUrl });
  assert.equal((await second.run(['login', '--operator', '--stdin'], { input: 'wrong' })).code, 4);
  assert.deepEqual((await second.json('profile', 'list')).profiles, [], 'a wrong token is not kept');
  const kept = await second.run(['login', '--operator', '--stdin'], { input: bob.token });
  assert.equal(kept.code, 0, kept.err);
  assert.ok(!(kept.out + kept.err).includes(bob.token));
  const { id } = await admin.json('admin', 'accounts', 'create', '--name', 'Cy');
  await first.json('admin', 'deposit', id, '200');
  const waits = await first.failure(1, 'admin', 'withdraw', id, '60');
  assert.deepEqual([waits.code, waits.details.kind], ['APPROVAL_NEEDED', 'withdrawal']);
  assert.match(waits.hint, new RegExp(`approve ${waits.details.id}`));
  assert.equal((await second.json('admin', 'approvals', 'list')).approvals[0].id, waits.details.id);
  assert.equal((await second.json('admin', 'approvals', 'show', waits.details.id)).status, 'pending');
  assert.equal((await second.json('admin', 'approvals', 'approve', waits.details.id)).status, 'carried_out');
  const other = await first.failure(1, 'admin', 'withdraw', id, '70');
  assert.match((await second.lines('admin', 'approvals', 'reject', other.details.id))[0]!, /withdrawal rejected/);
  assert.equal((await first.failure(1, 'admin', 'approvals', 'approve', other.details.id)).status >= 400, true);
  const { records } = await admin.json('admin', 'audit', '--operator', 'ada', '--limit', '50');
  assert.ok(records.length > 0 && records.every(({ operator }: { operator: string }) => operator === 'ada'));
  assert.ok((await admin.lines('admin', 'audit', '--limit', '5')).length >= 5);
  assert.equal((await first.failure(1, 'admin', 'pause')).code, 'INSUFFICIENT_ROLE');
  assert.ok((await admin.lines('admin', 'operators', 'list')).some((line) => line.includes('ada')));
  assert.ok((await admin.json('admin', 'operators', 'revoke', ada.id)).revoked_at);
  assert.equal((await first.failure(4, 'admin', 'status')).code, 'UNAUTHORIZED');
});

test('trading opens again in stages, of all, an event and a market', async () => {
  const event = await admin.json('admin', 'events', 'create', '--title', 'Halted', '--slug', 'halted');
  const [one, other] = [await newMarket('--event', event.id), await newMarket('--event', event.id)];
  await admin.json('admin', 'pause');
  assert.match((await admin.lines('admin', 'resume', '--stage', 'cancel-only'))[0]!, /resumed, in cancel-only$/);
  assert.match((await admin.lines('admin', 'status')).join('\n'), /^stage +cancel-only$/m);
  assert.match((await new Pmx({ BASE_URL: baseUrl }).run(['doctor'])).out, /it is in cancel-only/);
  const early = ['--from', 'cancel-only', '--market', one];
  assert.match((await admin.lines('admin', 'stage', 'open', ...early))[0]!, /: open$/);
  assert.equal((await admin.failure(1, 'admin', 'stage', 'post-only', '--event', event.id)).code, 'CONFLICT');
  assert.equal((await admin.json('admin', 'stage', 'cancel-only', '--market', one)).stage, 'cancel_only');
  const quoting = ['--from', 'cancel-only', '--event', event.id];
  assert.deepEqual(await admin.lines('admin', 'stage', 'post-only', ...quoting), [
    '0 open, 2 post-only, 0 cancel-only',
  ]);
  assert.equal((await admin.failure(1, 'admin', 'stage', 'open')).code, 'CONFLICT');
  assert.equal((await admin.json('admin', 'stage', 'open', '--from', 'cancel-only')).stage, 'open');
  assert.equal((await admin.json('admin', 'stage', 'open', '--from', 'post-only')).stages.post_only, 0);
  assert.equal((await admin.failure(2, 'admin', 'stage', 'open', '--event', 'e', '--market', other)).code, 'USAGE');
  assert.equal((await admin.run(['admin', 'stage', 'closed'])).code, 2);
});

test('the token of an operator goes into a file, which keeps its owner, and is printed nowhere', async () => {
  const file = join(admin.home, 'prometheus.token');
  writeFileSync(file, 'an older one that is longer than the new one'.repeat(9), { mode: 0o640 });
  const { ino } = statSync(file);
  const args = ['admin', 'operators', 'create', 'prometheus', '--roles', 'viewer', '--token-to', file];
  const { code, out, err } = await admin.run(args);
  const token = readFileSync(file, 'utf8');
  assert.deepEqual([code, statSync(file).ino, `${out}${err}`.includes(token)], [0, ino, false]);
  const viewer = new Pmx({ BASE_URL: baseUrl, ADMIN_TOKEN: token });
  assert.ok((await viewer.lines('admin', 'metrics', 'ready')).length > 0);
  const refused = await admin.run(['admin', 'operators', 'create', 'x', '--roles', 'viewer', '--token-to', '/no/file']);
  assert.match(refused.err, /ENOENT/);
  assert.ok(!(await admin.lines('admin', 'operators', 'list')).some((line) => / x /.test(line)), 'nobody was made');
});

test('address and token are those of the unit or compose file, and a change says where it goes', async () => {
  const { port } = new URL(baseUrl);
  const folder = admin.home;
  writeFileSync(join(folder, 'unit.token'), `${server.adminToken}\n`);
  const unit = join(folder, 'exchange.service');
  writeFileSync(
    unit,
    `[Service]\nEnvironment=PORT=1 ADMIN_PORT=${port}\nLoadCredential=t:${folder}/unit.token\n` +
      'Environment=ADMIN_TOKEN_FILE=%d/t\nExecStart=node \\\n  gateway/main.ts\n',
  );
  const here = new Pmx({});
  const { code, err } = await here.run(['admin', 'pause', '--service', unit]);
  assert.deepEqual([code, err], [0, `at http://127.0.0.1:${port} (${unit})\n`]);
  const compose = join(folder, 'compose.yaml');
  mkdirSync(join(folder, 'secrets'));
  writeFileSync(join(folder, 'secrets/admin.token'), server.adminToken);
  writeFileSync(join(folder, '.env'), `SHOWN=${port}\n`);
  writeFileSync(
    compose,
    'services:\n  exchange:\n    environment: { ADMIN_TOKEN_FILE: /run/secrets/exchange/admin.token }\n' +
      '    volumes: ["./secrets:/run/secrets/exchange:ro"]\n    ports: ["127.0.0.1:$SHOWN:8080"]\n',
  );
  const resumed = await here.run(['admin', 'resume'], { env: { PMX_SERVICE: compose } });
  assert.deepEqual([resumed.code, resumed.err], [0, `at http://127.0.0.1:${port} (${compose})\n`]);
  const far = await here.failure(2, 'admin', 'pause', '--service', unit, '--url', 'http://192.0.2.1:8080');
  assert.match(far.error, /goes over http to this machine alone/);
  const missing = await here.run(['admin', 'pause', '--service', join(folder, 'no.service')]);
  assert.match(missing.err, /^error: \S+no\.service cannot be read \(ENOENT\)/);
});

test('the platform is paused, resumed, drilled and added up', async () => {
  await admin.json('admin', 'pause');
  assert.match((await admin.lines('admin', 'status'))[0]!, /^trading +paused$/);
  await admin.json('admin', 'resume');
  assert.equal((await admin.json('admin', 'status')).paused, false);
  assert.deepEqual((await admin.json('admin', 'drill', 'NOT_MATCHING_LEADER', 'on')).drills, ['NOT_MATCHING_LEADER']);
  assert.deepEqual((await admin.json('admin', 'drill', 'NOT_MATCHING_LEADER', 'off')).drills, []);
  assert.ok(Date.parse((await admin.json('admin', 'alert', 'test')).until) > Date.now());
  assert.equal((await admin.json('admin', 'ledger')).balanced, true);
  assert.ok((await admin.lines('admin', 'metrics')).includes('# TYPE exchange_disk_low gauge'));
  assert.deepEqual(await admin.lines('admin', 'metrics', 'disk_low'), ['exchange_disk_low 0']);
  assert.equal((await admin.run(['admin', 'metrics', 'no-such'])).code, 1);
  assert.match((await admin.lines('admin', 'ledger'))[0]!, /^balanced +yes$/);
});

test('the catalogue is exported and imported again, from a file and through pipes', async () => {
  const id = await newMarket();
  const file = join(admin.home, 'catalogue.ndjson');
  assert.equal((await admin.run(['admin', 'catalogue', 'export', file])).code, 0);
  const text = readFileSync(file, 'utf8');
  assert.ok(text.includes(id));
  const piped = await admin.run(['admin', 'catalogue', 'export', '-']);
  assert.equal(piped.out, text);
  const { failed, lines } = await admin.json('admin', 'catalogue', 'import', file);
  assert.deepEqual([failed, lines], [0, text.trimEnd().split('\n').length]);
  const bad = await admin.run(['admin', 'catalogue', 'import', '-'], { input: '{"market":{}}\n' });
  assert.deepEqual([bad.code, bad.out], [1, '1 lines: 0 created, 0 updated, 0 unchanged, 1 failed\n']);
  assert.match(bad.err, /^at http:\S+\nline 1: [A-Z_]+: /);
});

test('without a token, and with a wrong one, nothing is done', async () => {
  assert.equal((await new Pmx({ BASE_URL: baseUrl }).failure(4, 'admin', 'status')).code, 'NOT_SIGNED_IN');
  const wrong = await new Pmx({ BASE_URL: baseUrl, ADMIN_TOKEN: 'wrong' }).failure(4, 'admin', 'pause');
  assert.match(wrong.hint, /ADMIN_TOKEN/);
});
