/** The ticket by keys and on a phone, the end of its page, and an upgrade of the exchange under an open tab. */
import assert from 'node:assert/strict';
import { appendFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { NO_CHROMIUM } from '../support/browser.ts';
import { giveWallets } from '../support/browserWallet.ts';
import { eventually } from '../support/eventually.ts';
import { pageServer } from '../support/pageServer.ts';
import { ProjectCopy } from '../support/projectCopy.ts';
import { ROOT } from '../support/server.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';
import { assertAccessible, fillLimit, openPage, signInBy } from '../support/visitor.ts';

const skip = NO_CHROMIUM;

const { server, env } = await pageServer();
/** Folders with modules that the page loads. */
const CODE_OF_THE_PAGE = ['gateway/web/browser', 'shared/client', 'shared/base', 'shared/crypto', 'shared/chain'];

const market = await makeMarket(server);
await (await makeTrader(server)).place(market, { outcomeIndex: 1, price: '0.60', size: '20' });

/** A visitor with a wallet and 50 USDC who looks at the market, and is not signed in yet. */
async function visit(width = 1280): Promise<Page> {
  const key = privateKeyToAccount(generatePrivateKey());
  const { id } = await server.admin.createUser({ wallet_address: key.address.toLowerCase() });
  await server.admin.deposit(id, { amount_usdc_micro: '50000000', reference: 'ticket' });
  const { page } = await openPage({ bypassCSP: true, viewport: { width, height: 800 }, reducedMotion: 'reduce' });
  await giveWallets(page, [key]);
  await page.goto(`${server.baseUrl}/markets/${market.id}`);
  return page;
}

async function signIn(page: Page): Promise<void> {
  await signInBy(page, 'Sign in with a wallet');
  await page.getByText('Available: $50.00').waitFor();
}

/** The exchange ends, and comes back as another version whose page has none of the files of this one. */
async function upgrade(): Promise<void> {
  const copy = new ProjectCopy();
  for (const folder of CODE_OF_THE_PAGE) {
    for (const name of readdirSync(join(copy.root, folder), { recursive: true, encoding: 'utf8' })) {
      if (name.endsWith('.ts')) appendFileSync(join(copy.root, folder, name), '\nexport const IS_NEWER = true;\n');
    }
  }
  await server.stop();
  server.project = copy.root;
  await server.start(env);
}

/** @returns how often the page was loaded since */
function countLoads(page: Page): () => number {
  let loads = 0;
  page.on('request', (request) => {
    if (request.isNavigationRequest()) loads += 1;
  });
  return () => loads;
}

test('tabs and choices have one stop of the Tab key each, and the arrow keys choose in them', { skip }, async () => {
  const page = await visit();
  await page.getByRole('radio', { name: /^Buy Yes/, checked: true }).focus();
  await page.keyboard.press('ArrowRight');
  await page.getByRole('radio', { name: /^Buy No/, checked: true }).waitFor();
  await page.keyboard.press('Tab');
  await page.keyboard.press('ArrowRight');
  await page.getByRole('tabpanel', { name: 'Limit' }).getByLabel('Price in cents').waitFor();
  await page.keyboard.press('End');
  await page.getByRole('tabpanel', { name: 'Maker' }).getByLabel('It waits').waitFor();
  await assertAccessible(page);
  await page.keyboard.press('ArrowRight');
  await page.getByRole('tabpanel', { name: 'Market' }).getByLabel('Dollars').waitFor();
  await page.keyboard.press('Tab');
  await page.keyboard.press('ArrowDown');
  await page.getByRole('radio', { name: 'Sell', exact: true, checked: true }).waitFor();
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate('document.activeElement.id'), 'ticket-amount');
  await page.getByRole('radio', { name: '1H' }).focus();
  await page.keyboard.press('Home');
  await page.keyboard.press('ArrowLeft');
  await page.getByRole('radio', { name: 'All', checked: true }).waitFor();
});

test('on a phone the ticket is a sheet below the view, which opens with an outcome and closes', { skip }, async () => {
  const page = await visit(360);
  await page.getByRole('radio', { name: /^Buy No/ }).waitFor();
  assert.equal(await page.getByText('Kind of order').count(), 0);
  assert.ok(await page.locator('.ticket > button[type=submit]').isHidden());
  await page.getByRole('radio', { name: /^Buy Yes/ }).click();
  const send = page.getByRole('button', { name: 'Sign in to buy Yes' });
  await send.waitFor();
  const box = (await send.boundingBox())!;
  assert.ok(box.y + box.height <= 800, 'its button is in view');
  await assertAccessible(page);
  // Its dialog has the ways in, and the order is as it was.
  await page.getByLabel('Dollars').fill('7');
  await send.click();
  await page.getByRole('dialog').getByRole('button', { name: 'Sign in with a wallet' }).click();
  await page.getByRole('button', { name: 'Buy Yes', exact: true }).waitFor();
  assert.equal(await page.getByLabel('Dollars').inputValue(), '7');
  await page.keyboard.press('Escape');
  await eventually('a closed sheet', async () => page.locator('.ticket > button[type=submit]').isHidden());
});

test('keys choose tab, side, outcome and amount, a sheet lists them, and Enter held down sends one order', {
  skip,
}, async () => {
  const page = await visit();
  await signIn(page);
  await page.keyboard.press('Alt+k');
  const sheet = page.getByRole('dialog');
  await sheet.getByText('Alt+G').waitFor();
  await assertAccessible(page);
  await page.keyboard.press('Escape');
  await sheet.waitFor({ state: 'detached' });

  let sent = 0;
  page.on('request', (request) => {
    if (request.method() === 'POST' && request.url().endsWith('/v1/orders')) sent += 1;
  });
  await page.keyboard.press('Alt+n');
  await page.keyboard.press('Alt+p');
  await eventually('the price', async () => (await page.evaluate('document.activeElement.name')) === 'price');
  await page.keyboard.press('Alt+a');
  await page.keyboard.press('Control+a');
  // 90 tokens of No cannot be paid for: Enter sends nothing.
  await page.keyboard.type('90');
  await page
    .locator('#ticket-obstacle')
    .getByText(/^It needs \$\d+\.\d\d, and you have \$50\.00\.$/)
    .waitFor();
  await page.keyboard.press('Enter');
  await page.keyboard.press('Control+a');
  await page.keyboard.type('5');
  await eventually('nothing against it', async () => (await page.locator('#ticket-obstacle').innerText()) === '');
  assert.equal(sent, 0);
  await page.keyboard.down('Enter');
  await page.keyboard.down('Enter');
  await page.keyboard.down('Enter');
  await page.keyboard.up('Enter');
  await page.getByText('Placed: it waits in the book.').waitFor();
  assert.equal(sent, 1);
  await page.getByRole('button', { name: /^Cancel the order/ }).waitFor();
  await page.keyboard.press('Alt+o');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.getByText('You have no open orders.').waitFor();
});

test('a page that cancels orders when it closes says so while it does, and stays quiet when it is taken back', {
  skip,
}, async () => {
  const page = await visit();
  await signIn(page);
  await fillLimit(page, '11', '5');
  await page.locator('.ticket > button[type=submit]').click();
  const wish = page.getByLabel('Cancel all my orders when this page closes');
  await wish.check();
  await page.getByText('All your orders are cancelled when this page closes').waitFor();
  await page.getByRole('link', { name: 'Portfolio' }).click();
  await page.getByRole('button', { name: 'Keep my orders' }).click();
  const other = await page.context().newPage();
  await page.close();
  await other.goto(`${server.baseUrl}/portfolio`);
  await other.getByRole('cell', { name: '11¢', exact: true }).waitFor();
  await other.getByLabel('Cancel all my orders when this page closes').check();
  await other.getByText('All your orders are cancelled when this page closes').waitFor();
  const last = await other.context().newPage();
  await other.close();
  await last.goto(`${server.baseUrl}/portfolio`);
  await last.getByText('You have no open orders.').waitFor();
});

test('tabs that are open during an upgrade go on trading, one after a reload that keeps its ticket', {
  skip,
}, async (t) => {
  const page = await visit();
  const loaded = page.waitForResponse(/\/assets\/accountSigner\./);
  await signIn(page);
  await (await loaded).finished();
  await fillLimit(page, '12', '5');
  const other = await visit();
  await fillLimit(other, '13', '4');
  await Promise.all([page, other].map((each) => each.waitForLoadState('networkidle')));
  const [loads, loadsOfOther] = [countLoads(page), countLoads(other)];
  t.after(async () => {
    await server.stop();
    server.project = ROOT;
    await server.start(env);
  });
  await upgrade();

  await page.locator('.status strong', { hasText: /^Live$/ }).waitFor();
  await page.locator('.ticket > button[type=submit]').click();
  await page.getByText('Placed: it waits in the book.').waitFor();
  assert.equal(loads(), 0);

  // The parts that sign are asked for after the sign-in, and are not there any more.
  await signInBy(other, 'Sign in with a wallet');
  await other.getByText('The exchange has a newer page').waitFor();
  await other.getByText('Available: $50.00').waitFor();
  assert.equal(await other.getByLabel('Price in cents').inputValue(), '13');
  assert.equal(await other.getByRole('textbox', { name: 'Tokens', exact: true }).inputValue(), '4');
  await other.locator('.ticket > button[type=submit]').click();
  await other.getByText('Placed: it waits in the book.').waitFor();
  assert.equal(loadsOfOther(), 1);
});

test('a part that cannot be loaded is said to be that, and no order counts as unanswered', { skip }, async () => {
  const page = await visit();
  await page.route(/\/assets\/(?:order|accountSigner)\./, (route) => route.fulfill({ status: 404, body: '' }));
  await signIn(page);
  await fillLimit(page, '14', '4');
  await page.locator('.ticket > button[type=submit]').click();
  await page.getByRole('alert').getByText('A part of this page could not be loaded. Nothing was sent').waitFor();
  assert.equal(await page.getByText('does not answer').count(), 0);
});
