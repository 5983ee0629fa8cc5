/** The account's views in a real browser: what happened to it, and how its person protects it. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { BrowserContext, Page } from 'playwright-core';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { NO_CHROMIUM } from '../support/browser.ts';
import { giveWallets } from '../support/browserWallet.ts';
import { eventually } from '../support/eventually.ts';
import { pageServer } from '../support/pageServer.ts';
import { makeTrader } from '../support/traders.ts';
import { assertAccessible, fillLimit, openPage, signInBy } from '../support/visitor.ts';

const skip = NO_CHROMIUM;
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

const { server } = await pageServer();
const event = await server.admin.createEvent({
  slug: 'wind-week',
  title: 'A week of wind',
  description: 'Wind in the capital.',
  category: 'Weather',
  start_time: new Date(Date.now() + DAY_MS).toISOString(),
});
const market = await server.admin.createMarket({
  event_id: event.id,
  title: 'Will it blow on Monday?',
  description: 'Yes if a flag moves.',
  category: 'Weather',
  trading_ends_at: new Date(Date.now() + DAY_MS).toISOString(),
});
const tokens = { id: market.id, yes_token_id: market.yes_token_id, no_token_id: market.no_token_id };
const orderMarket = { ...tokens, ticks_per_unit: 100 } as const;

type Visit = { readonly page: Page; readonly context: BrowserContext; readonly complaints: string[] };

/** A visitor whose extension has these keys; the first one is shown. */
async function visitWith(keys: ReturnType<typeof privateKeyToAccount>[], path: string): Promise<Visit> {
  const { page, complaints } = await openPage({
    bypassCSP: true,
    viewport: { width: 1280, height: 900 },
    reducedMotion: 'reduce',
  });
  await giveWallets(page, keys);
  await page.goto(server.baseUrl + path);
  return { page, context: page.context(), complaints };
}

function newKey(): ReturnType<typeof privateKeyToAccount> {
  return privateKeyToAccount(generatePrivateKey());
}

test('a timeout is begun and ended on the page, and keeps orders back meanwhile (RULES.md 11.3)', {
  skip,
}, async () => {
  const key = newKey();
  const { id } = await server.admin.createUser({ wallet_address: key.address.toLowerCase() });
  await server.admin.deposit(id, { amount_usdc_micro: '50000000', reference: 'timeout' });
  const { page, complaints } = await visitWith([key], '/account');
  await signInBy(page, 'Sign in with a wallet');
  await page.getByLabel('Place no orders for').selectOption('7d');
  await page.getByRole('button', { name: 'Take a break' }).click();
  await page.getByText('For 7 days you will place no orders.').waitFor();
  await assertAccessible(page);
  await page.getByRole('button', { name: 'Start the timeout' }).click();
  await page.getByText('You place no orders until').waitFor();
  await page.goto(`${server.baseUrl}/markets/${market.id}`);
  await fillLimit(page, '20');
  await page.locator('button[type=submit]').click();
  await page.getByRole('alert').getByText('You are taking a break from trading').waitFor();
  await page.goto(`${server.baseUrl}/account`);
  await page.getByRole('button', { name: 'End it now' }).click();
  await page.getByRole('button', { name: 'Take a break' }).waitFor();
  assert.match(complaints.join(), /^Failed to load resource: [^,]*\b423\b[^,]*$/);
});

test('a reminder comes as often as its person wished, and says how the day went (RULES.md 11.1)', {
  skip,
}, async () => {
  const { page, complaints } = await visitWith([newKey()], '/account');
  // Installed before anything is counted: a count that begins while the clock changes would have another time.
  await page.clock.install();
  await signInBy(page, 'Sign in with a wallet');
  await page.getByLabel('Remind me of the time every').selectOption('30');
  await page.getByText('Saved.').waitFor();
  const loaded = page.waitForResponse('**/v1/user/rg/preferences');
  await page.goto(`${server.baseUrl}/leaders`);
  await loaded;
  await page.getByRole('button', { name: 'Sign out', exact: true }).waitFor();
  const dialog = page.getByRole('dialog');
  // On a busy machine the count may begin only after the clock was moved: then it is moved once more.
  await eventually('a reminder', async () => {
    await page.clock.fastForward(31 * MINUTE_MS);
    return (await dialog.count()) === 1;
  });
  await dialog.getByText(/^You have been signed in for \d+ minutes$/).waitFor();
  await dialog.getByText('Your last 24 hours: +$0.00.').waitFor();
  await assertAccessible(page);
  await dialog.getByRole('button', { name: 'Go on' }).click();
  await dialog.waitFor({ state: 'detached' });
  await page.clock.fastForward(5 * MINUTE_MS);
  await eventually('no dialog', async () => (await page.getByRole('dialog').count()) === 0);
  assert.deepEqual(complaints, []);
});

test('sessions are listed and ended, one or all (RULES.md 15.6)', { skip }, async () => {
  const key = newKey();
  const first = await visitWith([key], '/account');
  await signInBy(first.page, 'Sign in with a wallet');
  await first.page.getByText('this one').waitFor();
  const second = await visitWith([key], '/account');
  await signInBy(second.page, 'Sign in with a wallet');
  await second.page.getByRole('button', { name: /^End the session/ }).click();
  await second.page.getByText('The session has ended.').waitFor();
  await first.page.reload();
  await first.page.getByText('Sign in above.').waitFor();
  await second.page.getByRole('button', { name: 'Sign out everywhere' }).click();
  await second.page.getByText('Sign in above.').waitFor();
});

test('ten tabs share one session, and open without a refresh of their own (RULES.md 15.4)', { skip }, async () => {
  const { page, context } = await visitWith([newKey()], '/account');
  const refreshes: string[] = [];
  context.on('request', (request) => {
    if (request.url().endsWith('/v1/auth/refresh')) refreshes.push(request.url());
  });
  await signInBy(page, 'Sign in with a wallet');
  await page.getByRole('button', { name: 'Sign out', exact: true }).waitFor();
  const tabs: Page[] = [];
  for (let count = 0; count < 10; count++) {
    const tab = await context.newPage();
    await tab.goto(`${server.baseUrl}/account`);
    await tab.getByRole('button', { name: 'Sign out', exact: true }).waitFor();
    tabs.push(tab);
  }
  assert.deepEqual(refreshes, []);
  // The tab that signed in may close: the others have everything they need.
  await page.close();
  await tabs[0]!.reload();
  await tabs[0]!.getByRole('button', { name: 'Sign out', exact: true }).waitFor();
  assert.deepEqual(refreshes, []);
  await tabs[1]!.getByRole('button', { name: 'Sign out', exact: true }).click();
  for (const tab of tabs)
    await tab
      .getByRole('button', { name: /^Sign in/ })
      .first()
      .waitFor();
});

test('wallets are linked, lent to other keys and unlinked, each signing for itself (RULES.md 15.40)', {
  skip,
}, async () => {
  const [key, other, bot] = [newKey(), newKey(), newKey()];
  const { page, complaints } = await visitWith([key, other], '/account');
  await signInBy(page, 'Sign in with a wallet');
  await page.getByText('Keys that may sign for it').click();
  await page.getByLabel('Address of a key').fill(bot.address);
  await page.getByRole('button', { name: 'Let it sign' }).click();
  await page.getByText('The key may sign for the wallet.').waitFor();
  await page.getByRole('button', { name: `Remove ${bot.address}` }).click();
  await page.getByText('The key signs no more').waitFor();
  await page.evaluate('window.showAccount(1)');
  await page.getByRole('button', { name: 'Link an account of a wallet' }).click();
  await page.getByText('The wallet is linked.').waitFor();
  await page.getByText(other.address).waitFor();
  await assertAccessible(page);
  await page.getByRole('button', { name: `Unlink ${other.address}` }).click();
  await page.getByRole('button', { name: 'Unlink it and cancel its orders' }).click();
  await page.getByText('The wallet is unlinked, and 0 of its orders were cancelled.').waitFor();
  await page.getByText(other.address).waitFor({ state: 'detached' });
  assert.deepEqual(complaints, []);
});

test('what happened to an account is listed, its notifications are read, and its statement is saved', {
  skip,
}, async () => {
  const key = newKey();
  const { id } = await server.admin.createUser({ wallet_address: key.address.toLowerCase() });
  await server.admin.deposit(id, { amount_usdc_micro: '50000000', reference: 'browser' });
  const maker = await makeTrader(server);
  await maker.place(orderMarket, { outcomeIndex: 1, price: '0.60', size: '10' });
  const { page, complaints } = await visitWith([key], `/markets/${market.id}`);
  await signInBy(page, 'Sign in with a wallet');
  await fillLimit(page, '40');
  await page.locator('button[type=submit]').click();
  await page.getByText('Bought 9.95 Yes for $4.00, at 40¢ on average.').waitFor();
  await page.getByRole('link', { name: /^Activity/ }).click();
  await page.getByText('Order filled.').waitFor();
  await page.getByText('Deposit credited.').waitFor();
  await page.getByRole('row', { name: 'Will it blow on Monday? filled buy Yes 40¢ 10.00' }).waitFor();
  // A signed price is called a limit: nobody paid it (RULES.md 1.8).
  await page.getByRole('row', { name: 'Will it blow on Monday? placed buy Yes limit 40¢ 10.00' }).waitFor();
  await page.getByRole('radio', { name: 'Fills' }).click();
  await eventually('only the fill', async () => (await page.getByRole('row', { name: /placed/ }).count()) === 0);
  await assertAccessible(page);
  await page.getByRole('button', { name: 'Mark as read' }).first().click();
  await page.getByText('1 unread.').waitFor();
  await page.getByRole('button', { name: 'Mark all as read' }).click();
  await page.getByText('All are read.').waitFor();
  await page.getByRole('link', { name: /^Activity$/ }).waitFor();
  const saved = page.waitForEvent('download');
  await page.getByRole('button', { name: /statement/ }).click();
  const csv = readFileSync(await (await saved).path(), 'utf8');
  assert.match(csv, /deposit[^\n]*50000000/);
  await page.getByRole('link', { name: 'Portfolio' }).click();
  await page.getByRole('cell', { name: '9.95 Yes' }).waitFor();
  assert.deepEqual(complaints, []);
});

test('RULES.md 19.11: the page of a set frees what the tokens pay whichever market wins', { skip }, async () => {
  const privateKey = generatePrivateKey();
  const trader = await makeTrader(server, { privateKey });
  const { markets } = await server.admin.sets.create({
    event: { title: 'Who is mayor?', slug: 'mayor', category: 'Politics' },
    winners: 1,
    fee_bps: 0,
    trading_ends_at: new Date(Date.now() + DAY_MS).toISOString(),
    markets: ['Ada', 'Bea', 'Cyd'].map((title) => ({ title })),
  });
  const before = (await trader.client.balances()).usdc.available;
  // Yes and No of two markets: a No of both is one USDC and a Yes of the third, and then there is a Yes of each.
  for (const { id } of markets.slice(1)) await trader.client.split(id, 5_000_000);
  const maker = await makeTrader(server);
  for (const [at, price] of ['0.30', '0.20'].entries()) {
    const { id, yes_token_id = '', no_token_id = '' } = markets[at]!;
    await maker.place({ id, yes_token_id, no_token_id, ticks_per_unit: 100 }, { price, size: '10', feeRateBps: 0 });
  }
  const { page, complaints } = await visitWith([privateKeyToAccount(privateKey)], '/events/mayor');
  await page.getByText('Exactly one of these markets pays its Yes').waitFor();
  await page.getByText('Prices through the other markets').click();
  await page.getByRole('row', { name: 'Cyd – 50¢' }).waitFor();
  await signInBy(page, 'Sign in with a wallet');
  await page.getByRole('button', { name: 'Free $10.00' }).click();
  await page.getByText('Freed $10.00.').waitFor();
  await assertAccessible(page);
  assert.equal((await trader.client.balances()).usdc.available, before);
  assert.deepEqual(complaints, []);
});
