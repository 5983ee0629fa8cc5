/** The page in a real browser: what a newcomer sees of a running exchange, and how it is when the exchange restarts. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { NO_CHROMIUM } from '../support/browser.ts';
import { giveWallets } from '../support/browserWallet.ts';
import { eventually } from '../support/eventually.ts';
import { serveOidc } from '../support/oidcServer.ts';
import { pageServer } from '../support/pageServer.ts';
import { makeTrader } from '../support/traders.ts';
import { assertAccessible, assertFitForAll, fillLimit, openPage, signInBy } from '../support/visitor.ts';

const skip = NO_CHROMIUM;
const DAY_MS = 86_400_000;
const FIRST_PAINT_BYTES = 100 * 1024;

const { server, env, house } = await pageServer();

const event = await server.admin.createEvent({
  slug: 'rain-week',
  title: 'A week of rain',
  description: 'Rain in the capital.',
  category: 'Weather',
  start_time: new Date(Date.now() + DAY_MS).toISOString(),
});
const market = await server.admin.createMarket({
  event_id: event.id,
  title: 'Will it rain on Monday?',
  description: 'Yes if a drop is measured.',
  category: 'Weather',
  trading_ends_at: new Date(Date.now() + DAY_MS).toISOString(),
});
const tokens = { id: market.id, yes_token_id: market.yes_token_id!, no_token_id: market.no_token_id! };
const orderMarket = { ...tokens, ticks_per_unit: 100 } as const;
const maker = await makeTrader(server);
const taker = await makeTrader(server);

async function visit(path: string, width = 1280): Promise<{ page: Page; complaints: string[] }> {
  const opened = await openPage({ viewport: { width, height: 900 }, bypassCSP: true });
  await opened.page.goto(server.baseUrl + path);
  return opened;
}

type Box = { getBoundingClientRect(): { right: number } };

const SIGNED_ORDER = ['eth_chainId', 'wallet_switchEthereumChain', 'eth_accounts', 'eth_signTypedData_v4'];

/** The rows of the ladder as they are read: "Bid 40¢ 10.00 10.00". */
function ladderOf(page: Page): Promise<string[]> {
  return page.locator('.ladder tr.bid, .ladder tr.ask').allInnerTexts();
}

test('a visitor finds an event by a word, and its market from there', { skip }, async () => {
  const { page, complaints } = await visit('/');
  await page.getByLabel('Search').fill('rain');
  await page.getByRole('link', { name: 'A week of rain' }).click();
  await page.getByRole('heading', { level: 1, name: 'A week of rain' }).waitFor();
  await page.getByRole('link', { name: 'Will it rain on Monday?', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'Will it rain on Monday?' }).waitFor();
  assert.equal(new URL(page.url()).pathname, `/markets/${market.id}`);
  await page.goBack();
  await page.getByRole('heading', { level: 1, name: 'A week of rain' }).waitFor();
  await page.goto(`${server.baseUrl}/?search=snow`);
  await page.getByText('No event matches.').waitFor();
  assert.deepEqual(complaints, []);
});

test('a market that was never quoted has no price, and shows the volume that was traded', { skip }, async () => {
  const quiet = await server.admin.createMarket({
    event_id: event.id,
    title: 'Will it rain on Tuesday?',
    description: 'Yes if a drop is measured.',
    category: 'Weather',
    trading_ends_at: new Date(Date.now() + DAY_MS).toISOString(),
  });
  const quietMarket = {
    ...orderMarket,
    id: quiet.id,
    yes_token_id: quiet.yes_token_id!,
    no_token_id: quiet.no_token_id!,
  };
  const { page, complaints } = await visit('/?search=tuesday');
  const row = page.locator('.odds > li').filter({ hasText: 'Will it rain on Tuesday?' });
  await row.getByText('No price yet').waitFor();
  await maker.place(quietMarket, { price: '0.30', size: '10' });
  await taker.place(quietMarket, { outcomeIndex: 1, price: '0.70', size: '10' });
  await eventually('the chance at the last trade', async () => {
    await page.reload();
    await row.waitFor();
    return (await row.locator('.chance').innerText()) === '30%';
  });
  await row.getByRole('link').click();
  await page.getByRole('radio', { name: 'All', checked: true }).waitFor();
  await page.locator('.plot canvas').waitFor();
  await eventually('the volume', async () => {
    await page.reload();
    await page.getByRole('heading', { name: 'Rules' }).waitFor();
    return (await page.locator('.facts').innerText()).includes('$7.00');
  });
  await page.setViewportSize({ width: 360, height: 800 });
  await page.getByRole('button', { name: 'Menu' }).click();
  const hidden = await page
    .locator('nav a')
    .evaluateAll(
      (links) => links.filter((link) => (link as unknown as Box).getBoundingClientRect().right > 360).length,
    );
  assert.equal(hidden, 0, 'each link of the navigation can be seen at 360 pixels');
  assert.deepEqual(complaints, []);
});

test('orders and trades are seen as they happen, in the terms of either outcome', { skip }, async () => {
  const { page, complaints } = await visit(`/markets/${market.id}`);
  await page.getByText('Live').waitFor();
  await maker.place(orderMarket, { price: '0.40', size: '10' });
  await maker.place(orderMarket, { side: 'SELL', outcomeIndex: 1, price: '0.45', size: '5' }).catch(() => {});
  await eventually('the bid', async () => (await ladderOf(page)).some((row) => /Bid\s+40¢\s+10\.00/.test(row)));
  await page.getByRole('radio', { name: 'Buy No' }).click();
  await eventually('an ask for No', async () => (await ladderOf(page)).some((row) => /Ask\s+60¢\s+10\.00/.test(row)));
  await taker.place(orderMarket, { outcomeIndex: 1, price: '0.60', size: '4' });
  await page.locator('.tape tbody tr').getByText('40¢').waitFor();
  await page.locator('.plot canvas').waitFor();
  await eventually('the rest', async () => (await ladderOf(page)).some((row) => /Ask\s+60¢\s+6\.00/.test(row)));
  assert.deepEqual(complaints, []);
});

test('a visitor signs in at a provider and comes back to where it was (RULES.md 15.33)', { skip }, async () => {
  await serveOidc(house, [`${server.baseUrl}/auth/callback/house`]);
  const { page, complaints } = await visit('/portfolio');
  await page.getByRole('link', { name: 'Sign in with house' }).click();
  await page.getByRole('button', { name: 'Sign out', exact: true }).waitFor();
  assert.equal(page.url(), `${server.baseUrl}/portfolio`);
  await page.reload();
  await page.getByRole('button', { name: 'Sign out', exact: true }).waitFor();
  assert.deepEqual(complaints, []);

  const refused = await visit('/auth/callback/house?code=x&state=y');
  await refused.page.getByText('Invalid state').waitFor();
  assert.equal(refused.page.url(), `${server.baseUrl}/auth/callback/house`, 'the code is not in the history');
  await refused.page.goto(`${server.baseUrl}/auth/callback/house?error=access_denied&state=y`);
  await refused.page.getByText('You were not signed in.').waitFor();
});

test('a restart of the exchange is said, and the book is live again without a reload', { skip }, async () => {
  const { page } = await visit(`/markets/${market.id}`);
  await page.getByText('Live').waitFor();
  await server.kill();
  await page.getByText('Out of date. The connection was lost. Reconnecting').waitFor();
  await server.start({ ...env, DEMO: 'on' });
  await page.locator('.status strong', { hasText: /^Live$/ }).waitFor();
  assert.ok((await ladderOf(page)).some((row) => /Bid\s+40¢\s+6\.00/.test(row)));
});

test('a change of the market is shown as it comes, without a reload', { skip }, async () => {
  const { page } = await visit(`/markets/${market.id}`);
  await page.getByText('Live').waitFor();
  for (const stage of ['cancel_only', 'open'] as const) {
    await server.admin.stepMarket(market.id, { stage, ...(stage === 'open' && { expected: 'cancel_only' }) });
    const tag = page.locator('.status .tag', { hasText: 'cancel-only' });
    await tag.waitFor({ state: stage === 'open' ? 'detached' : 'visible' });
  }
});

test('a view that was opened in a hidden tab is loaded once it is shown', { skip }, async () => {
  const { page } = await openPage();
  await page.addInitScript("Object.defineProperty(document, 'hidden', { value: true, writable: true })");
  await page.goto(`${server.baseUrl}/markets/${market.id}`);
  await page.getByText('Loading …').waitFor();
  await page.evaluate("document.hidden = false, document.dispatchEvent(new Event('visibilitychange'))");
  await page.getByRole('heading', { name: 'Will it rain on Monday?' }).waitFor();
});

test('a link to all markets forgets the words that were searched for', { skip }, async () => {
  const { page } = await visit('/');
  await page.getByLabel('Search').fill('snow');
  await page.getByText('No event matches.').waitFor();
  await page.getByRole('link', { name: 'Markets' }).click();
  await page.getByRole('link', { name: 'A week of rain' }).waitFor();
  assert.equal(await page.getByLabel('Search').inputValue(), '');
});

test('an order is signed as typed data by the wallet of the browser, which may keep nothing', { skip }, async () => {
  const { page, complaints } = await openPage();
  await maker.reconnected().place(orderMarket, { price: '0.39', size: '1' });
  const key = privateKeyToAccount(generatePrivateKey());
  const { id } = await server.admin.createUser({ wallet_address: key.address.toLowerCase() });
  await server.admin.deposit(id, { amount_usdc_micro: '5000000', reference: 'browser' });
  const calls = await giveWallets(page, [key]);
  await page.addInitScript("Object.defineProperty(window, 'localStorage', { get() { throw new Error('blocked'); } })");
  await page.goto(`${server.baseUrl}/markets/${market.id}`);
  await signInBy(page, 'Sign in with a wallet');
  await page.getByText('Available: $5.00').waitFor();
  // A price of the ladder counts each time that it is chosen.
  for (const typed of ['44', '45']) {
    await fillLimit(page);
    await page.getByLabel('Price in cents').fill(typed);
    await page.getByRole('button', { name: '39¢, use for the order' }).click();
    await eventually('the price', async () => (await page.getByLabel('Price in cents').inputValue()) === '39');
  }
  await page.getByRole('textbox', { name: 'Tokens' }).fill('20');
  await page.getByText('It needs $7.80, and you have $5.00.').waitFor();
  assert.ok(await page.locator('button[type=submit]').isDisabled());
  await page.getByRole('textbox', { name: 'Tokens' }).fill('2');
  await page.locator('button[type=submit]').dblclick();
  await page.getByText('Placed: it waits in the book.').waitFor();
  await page.getByText('Available: $4.22').waitFor();
  await page.getByRole('button', { name: 'Cancel the order at 39¢' }).dblclick();
  await page.getByText('You have no open orders.').waitFor();
  await page.getByText('Cancelled.').waitFor();
  // One order was signed, for the double click.
  assert.deepEqual(calls, ['eth_requestAccounts', 'eth_accounts', 'personal_sign', ...SIGNED_ORDER]);
  assert.deepEqual(complaints, []);
});

test('a visitor of a demo trades with play money, finds it again after a reload, and claims', { skip }, async () => {
  // The settings wish for a demo since the restart above, but a directory that none was put into holds money.
  assert.equal((await server.request('POST', '/v1/demo/funds', {})).status, 404);
  assert.match(await (await fetch(server.baseUrl)).text(), /<meta name="demo" content="off">/);
  writeFileSync(join(server.dataDir, 'demo.json'), '{}');
  await server.restart({ ...env, DEMO: 'on' });
  const { page, complaints } = await visit(`/markets/${market.id}`);
  // The ticket is the same before the sign-in, which its button asks for and which leaves the order as it is.
  await fillLimit(page, '41.5', '20');
  await page.getByText('The price is a step of 1¢ from 1¢ to 99¢.').waitFor();
  await page.getByLabel('Price in cents').fill('41');
  await page.getByRole('button', { name: 'Sign in to buy Yes' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Try with play money' }).click();
  await page.getByRole('button', { name: 'Sign out', exact: true }).waitFor();
  await page.getByText('Available: $1,000.00').waitFor();
  await eventually('the button', async () => (await page.evaluate('document.activeElement.type')) === 'submit');
  // 20 tokens at 41 cents; half a per cent of the tokens is the fee.
  for (const cost of ['$8.20', '0.10 tokens', '19.90 tokens', '$19.90']) await page.getByText(cost).first().waitFor();
  await page.getByRole('button', { name: 'Buy Yes' }).click();
  await page.getByText('Placed: it waits in the book.').waitFor();
  await eventually('the order in the book', async () =>
    (await ladderOf(page)).some((row) => /Bid ●\s+41¢\s+20\.00/.test(row)),
  );
  await taker.reconnected().client.split(market.id, 20_000_000);
  await taker.reconnected().place(orderMarket, { side: 'SELL', price: '0.41', size: '15' });
  await page.getByRole('row', { name: 'Buy Yes 41¢ 5.00 of 20.00' }).waitFor();
  await page.getByRole('button', { name: 'Cancel the order at 41¢' }).click();
  await page.getByText('You have no open orders.').waitFor();
  await page.getByRole('link', { name: 'Portfolio' }).click();
  await page.getByRole('cell', { name: '14.92 Yes' }).waitFor();
  await assertAccessible(page);
  await server.admin.resolveMarket(market.id, { outcome_index: 0 });
  await page.reload();
  await page.getByText('Yes. 14.92 tokens pay $14.92.').waitFor();
  await page.locator('.claims').getByRole('button', { name: 'Claim' }).click();
  await page.getByText('Paid out.').waitFor();
  assert.deepEqual(complaints.splice(0), []);
  const other = await page.context().newPage();
  await other.goto(`${server.baseUrl}/portfolio`);
  await other.getByRole('button', { name: 'Sign out', exact: true }).click();
  await page.getByText('Sign in above.').waitFor();
  await signInBy(other, 'Try with play money');
  await page.getByRole('button', { name: 'Sign out', exact: true }).waitFor();
  // A read that is under way when the other page ends the session is refused.
  assert.deepEqual(
    complaints.filter((complaint) => !complaint.includes('401 (Unauthorized)')),
    [],
  );
});

test('every view passes the rules of accessibility, and fits a width of 360 pixels', { skip }, async () => {
  const long = await server.admin.createMarket({
    event_id: event.id,
    title: 'Regenwahrscheinlichkeit'.repeat(5),
    description: 'One word that is wider than a telephone.',
    category: 'Weather',
    trading_ends_at: new Date(Date.now() + DAY_MS).toISOString(),
  });
  const { page } = await visit('/');
  const titles: string[] = [];
  for (const path of [
    '/',
    '/events/rain-week',
    `/markets/${market.id}`,
    '/leaders',
    `/markets/${long.id}`,
    '/markets/unknown',
  ]) {
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.goto(server.baseUrl + path);
    await assertFitForAll(page);
    titles.push((await page.title()).split(' · ')[0]);
  }
  const site = 'Open prediction exchange';
  assert.deepEqual(titles, [site, 'A week of rain', 'Will it rain on Monday?', 'Leaders', long.title, site]);
});

test('the first view needs less than 100 KB, and a browser keeps every file but the document', { skip }, async () => {
  const { page } = await openPage();
  const sizes: Promise<number>[] = [];
  page.on('response', (response) =>
    sizes.push(
      response
        .request()
        .sizes()
        .then((size) => size.responseBodySize),
    ),
  );
  await page.goto(server.baseUrl, { waitUntil: 'networkidle' });
  const bytes = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
  assert.ok(bytes > 0 && bytes < FIRST_PAINT_BYTES, `${bytes} bytes`);
});

test('files are compressed as the client accepts it, named by their content, and may run nothing else', async () => {
  const document = await fetch(server.baseUrl);
  assert.match(document.headers.get('content-security-policy')!, /^default-src 'none'; script-src 'self' 'sha256-/);
  const html = await document.text();
  const paths = [...html.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map((found) => found[1]);
  assert.ok(paths.length > 10);
  for (const path of new Set(paths)) {
    const file = await fetch(server.baseUrl + path);
    assert.equal(file.status, 200, path);
    assert.equal(file.headers.get('cache-control'), 'public, max-age=31536000, immutable');
    assert.match(file.headers.get('content-type')!, /^(?:text\/(?:javascript|css)|image\/svg\+xml)/);
  }
  const codings = [
    ['br', 'br'],
    ['gzip;q=0.5', 'gzip'],
    ['br;q=0, gzip', 'gzip'],
    ['identity', null],
    ['br;q=0', null],
  ];
  for (const [accepted, coding] of codings) {
    const { headers } = await fetch(server.baseUrl + paths[0], { headers: { 'accept-encoding': accepted! } });
    assert.equal(headers.get('content-encoding'), coding, accepted!);
  }
  for (const path of ['/assets/main.js', '/assets/..%2fpackage.json', '/assets/']) {
    assert.equal((await fetch(server.baseUrl + path)).status, 404, path);
  }
});
