/**
 * `node shared/run.mjs test/guides/trade.ts URL ADMIN_URL`: two accounts trade at URL, whose certificate may be any.
 * Administrators are at ADMIN_URL, with ADMIN_TOKEN. Ends with 0 when the money has moved.
 */
import assert from 'node:assert/strict';
import { AdminClient } from '../../shared/client/admin.ts';
import type { TestServer } from '../support/server.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';

process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
const [url, adminUrl] = process.argv.slice(2);
assert.ok(url !== undefined && adminUrl !== undefined, 'usage: trade.ts URL ADMIN_URL');
const admin = new AdminClient({ baseUrl: adminUrl, token: process.env['ADMIN_TOKEN'] ?? '' });
const retry: TestServer['retry'] = false;
const server = { baseUrl: url, admin, retry, timeoutMs: 10_000 } as TestServer;
const market = await makeMarket(server);
const wallet = (): string => `0x${crypto.randomUUID().replaceAll('-', '').repeat(2)}`;
const [alice, bob] = [
  await makeTrader(server, { privateKey: wallet() }),
  await makeTrader(server, { privateKey: wallet() }),
];
await alice.place(market, { price: '0.55', size: '3' });
await bob.place(market, { price: '0.46', size: '2', outcomeIndex: 1 });
const { yes, usdc } = await alice.holdings(market);
assert.equal(yes > 0 && usdc < 1_000_000_000, true, `alice has ${yes} tokens and ${usdc} micro-USDC`);
console.log('traded');
