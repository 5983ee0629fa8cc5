/** The compiled client in a real browser, as a page without a bundler loads it: modules and an import map. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { generatePrivateKey } from 'viem/accounts';
import type { PlacedOrder } from '../../shared/client/placedOrder.ts';
import { NO_CHROMIUM } from '../support/browser.ts';
import { compiledRoot } from '../support/compiledClient.ts';
import { pageServer } from '../support/pageServer.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';
import { openPage } from '../support/visitor.ts';

const skip = NO_CHROMIUM;
const MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url));
const IMPORT_MAP = {
  imports: {
    'pmx-client': '/sdk/client/index.js',
    '@noble/curves/': '/modules/@noble/curves/',
    '@noble/hashes/': '/modules/@noble/hashes/',
  },
};
const { server } = await pageServer();

/** The text of this function runs in the page: it may use nothing of this file. */
async function trade({ privateKey, marketId }: { privateKey: string; marketId: string }): Promise<object> {
  const name = 'pmx-client';
  const { ExchangeClient, signInWithWallet } = (await import(name)) as typeof import('../../shared/client/index.ts');
  const baseUrl = (globalThis as unknown as { location: { origin: string } }).location.origin;
  const session = await signInWithWallet({ baseUrl, wallet: privateKey });
  const client = new ExchangeClient({ baseUrl, session, wallet: privateKey });
  const stream = await client.openStream();
  const book = stream.openBook(marketId, { verify: 'every' });
  await book.ready();
  const order: PlacedOrder = await client.place({
    marketId,
    outcomeIndex: 0,
    side: 'BUY',
    priceTicks: 40n,
    quantityLots: 100_000n,
  });
  const done = order.done;
  while (book.best(0).bid === null) await new Promise((resolve) => setTimeout(resolve, 10));
  const best = book.best(0).bid?.price;
  await order.cancel();
  const { status, record } = await done;
  stream.close();
  await session.signOut();
  const afterwards = await client.balances().catch((error: { status: number }) => error.status);
  return { best, status, left: record?.remaining, state: book.state, afterwards };
}

test('a page signs in, sees its order in the verified book, cancels it and learns it', { skip }, async () => {
  const privateKey = generatePrivateKey();
  const market = await makeMarket(server);
  await makeTrader(server, { privateKey });
  const { page, complaints } = await openPage({ bypassCSP: true });
  await page.route(`${server.baseUrl}/{sdk,modules}/**`, (route) => {
    const [, root, path] = /^\/(sdk|modules)\/(.+)$/.exec(new URL(route.request().url()).pathname)!;
    const file = join(root === 'sdk' ? compiledRoot() : MODULES, path);
    return route.fulfill({ contentType: 'text/javascript', body: readFileSync(file, 'utf8') });
  });
  // Any document of the exchange without a policy for scripts: a document made up by the test would belong to another
  // network.
  await page.goto(`${server.baseUrl}/v1/time`);
  await page.addScriptTag({ type: 'importmap', content: JSON.stringify(IMPORT_MAP) });
  const seen = await page.evaluate(trade, { privateKey, marketId: market.id });
  assert.deepEqual(seen, { best: '0.4', status: 'cancelled', left: '4000000', state: 'closed', afterwards: 401 });
  assert.deepEqual(complaints, []);
});
