import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { readPolymarketSettings } from '../../../../../gateway/programs/polymarket/settings.ts';
import { POLYMARKET_PAGE, withPolymarketTables } from '../../../../docs/polymarket.ts';

const TOKEN = { ADMIN_TOKEN: 'a-token' };

test('without settings but the token it is for play money on loopback, with faults', () => {
  const settings = readPolymarketSettings(TOKEN);
  assert.ok(typeof settings === 'object');
  const { url, exchangeUrl, adminUrl, isPlay, playMicro, orderVersion, chainId, hasFaults } = settings;
  assert.deepEqual(
    [url.href, exchangeUrl.href, adminUrl.href],
    ['http://127.0.0.1:8095/', 'http://127.0.0.1:8080/', 'http://127.0.0.1:8080/'],
  );
  assert.deepEqual([isPlay, playMicro, orderVersion, chainId, hasFaults], [true, 10_000_000_000n, 2, 137, true]);
});

test('faults are on request only with play money, and only on loopback', () => {
  const faultsOf = (env: Record<string, string>) => {
    const settings = readPolymarketSettings({ ...TOKEN, ...env });
    return typeof settings === 'string' ? settings.split(':')[0] : settings.hasFaults;
  };
  assert.equal(faultsOf({ POLYMARKET_MONEY: 'own' }), false);
  assert.equal(faultsOf({ POLYMARKET_URL: 'http://192.0.2.1:80' }), false);
  assert.equal(faultsOf({ POLYMARKET_MONEY: 'own', POLYMARKET_FAULTS: 'on' }), 'POLYMARKET_FAULTS');
  assert.equal(faultsOf({ POLYMARKET_URL: 'http://192.0.2.1:80', POLYMARKET_FAULTS: 'on' }), 'POLYMARKET_FAULTS');
});

test('a wrong setting is refused in a line that names it', () => {
  for (const [name, value] of [
    ['ADMIN_TOKEN', ''],
    ['POLYMARKET_URL', 'https://127.0.0.1'],
    ['POLYMARKET_EXCHANGE_URL', 'nowhere'],
    ['POLYMARKET_ADMIN_URL', 'http://127.0.0.1/path'],
    ['POLYMARKET_MONEY', 'real'],
    ['POLYMARKET_ORDER_VERSION', '3'],
    ['POLYMARKET_CHAIN_ID', '0'],
    ['POLYMARKET_PLAY_USDC', '1.5'],
    ['POLYMARKET_MOST_ACCOUNTS', '-1'],
    ['POLYMARKET_REQUESTS_PER_SECOND', '1000000'],
  ] as const) {
    const refused = readPolymarketSettings({ ...TOKEN, [name]: value });
    assert.ok(typeof refused === 'string' && refused.startsWith(`${name}: `), `${name}=${value}: ${refused}`);
  }
});

test('polymarket.md has every setting and every method of the scenario (npm run docs)', () => {
  const page = readFileSync(POLYMARKET_PAGE, 'utf8');
  assert.equal(withPolymarketTables(page), page);
  assert.match(page, /^\| `createAndPostMarketOrder` \| yes \| yes \|$/m);
  assert.match(page, /^\| `POLYMARKET_CHAIN_ID` \| `137` \| /m);
});
