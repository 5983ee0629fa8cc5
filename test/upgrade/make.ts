/**
 * `node shared/run.mjs test/upgrade/make.ts OUT COMMIT`, in a checkout of a release: stores in OUT a data directory
 * made by that release's code, packed, a backup of it, and its answers about it. test/api/upgrade.test.ts opens it with
 * today's code. This file is copied into the checkout if the release does not have it.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { STRIPPED_BEFORE } from '../../shared/base/stripTypes.ts';
import { signInWithWallet } from '../../shared/client/index.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { ROOT, TestServer } from '../support/server.ts';
import { makeTrader, type Trader } from '../support/traders.ts';
import { questionsAbout } from './requests.ts';

const [out, commit] = process.argv.slice(2);
if (out === undefined || commit === undefined) throw new Error('usage: make.ts OUT COMMIT');
const masterKey = '5a'.repeat(32);
const ENDS = '2099-01-01T00:00:00.000Z';

const server = new TestServer(temporaryDirectory());
// A snapshot in the middle of the history: the next version reads it and the records after it.
await server.start({ MASTER_KEY: masterKey, SNAPSHOT_EVERY: '40' });
const [alice, bob] = [await makeTrader(server), await makeTrader(server, { depositMicro: 500_000_000 })];
const traders: Trader[] = [alice, bob];

const markets = [];
for (const title of ['Will it rain?', 'Will it snow?', 'Will it hail?', 'Will the sun shine?']) {
  const made = await server.admin.createMarket({
    title,
    description: 'By the gauge.',
    category: 'Weather',
    trading_ends_at: ENDS,
  });
  markets.push({ ...made, ...(await alice.client.orderMarket(made.id)) });
}

for (const [at, market] of markets.entries()) {
  for (let level = 0; level < 5; level++) {
    const price = (0.3 + 0.05 * level).toFixed(2);
    await alice.place(market, { side: 'BUY', price, size: String(2 + level) });
    await bob.place(market, { side: 'BUY', outcomeIndex: 1, price: (0.2 + 0.05 * level).toFixed(2), size: '3' });
  }
  // Crosses: shares are minted, and a rest stays.
  await bob.place(market, { side: 'BUY', outcomeIndex: 1, price: '0.55', size: String(8 + at) });
  const { order_hash } = await alice.place(market, { side: 'BUY', price: '0.21', size: '2' });
  await alice.client.cancelOrder(order_hash);
}
await alice.client.split(markets[0]!.id, 5_000_000);
await alice.place(markets[0]!, { side: 'SELL', price: '0.81', size: '2' });
await server.admin.withdraw(alice.userId, { amount_usdc_micro: '7000000' });
await alice.client.setOrderGroup('quotes', { max_token_quantity_atomic: '500000000', window_seconds: 60 });
const carol = await makeTrader(server);
await carol.place(markets[1]!, { side: 'BUY', price: '0.11', size: '4' });
await server.admin.setAccountState(carol.userId, 'close_only');
// Its session goes on.
await signInWithWallet({ baseUrl: server.baseUrl, wallet: `0x${'8'.repeat(64)}` });

const ids = markets.map(({ id }) => id);
const answers: { who: number; path: string; body: unknown }[] = [];
for (const { who, path } of questionsAbout(ids, [alice.userId, bob.userId])) {
  // The read model answers an account as soon as it has everything already answered to the account.
  const answer = who < 0 ? await server.adminRequest('GET', path) : await traders[who]!.send('GET', path);
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  answers.push({ who, path, body: answer.body });
}
const backups = temporaryDirectory();
const admin = [...STRIPPED_BEFORE, join(ROOT, 'engine/admin/main.ts')];
const env = { ...process.env, MASTER_KEY: masterKey };
execFileSync(process.execPath, [...admin, 'backup', backups, '--data', server.dataDir], { env });
if ((await server.stop()) !== 0) throw new Error(server.stdout.join('\n'));

mkdirSync(out, { recursive: true });
execFileSync('tar', ['-czf', join(out, 'directory.tar.gz'), '-C', server.dataDir, '.']);
execFileSync('tar', ['-czf', join(out, 'backups.tar.gz'), '-C', backups, '.']);
const known = traders.map((trader, at) => ({
  userId: trader.userId,
  // makeTrader counts its wallets.
  privateKey: `0x${(at + 1).toString(16).padStart(64, '0')}`,
  ...trader.credentials,
}));
const kept = { commit, masterKey, traders: known, markets: ids, answers };
writeFileSync(join(out, 'answers.json'), `${JSON.stringify(kept)}\n`);
