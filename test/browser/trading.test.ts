/**
 * A visitor trades on the page, from the sign-in to the claim, against another account and over a kill of the server;
 * every kind of order has the same effect on the page as in the exchange.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { NO_CHROMIUM } from '../support/browser.ts';
import { giveWallets } from '../support/browserWallet.ts';
import { eventually } from '../support/eventually.ts';
import { pageServer } from '../support/pageServer.ts';
import { makeTrader } from '../support/traders.ts';
import { assertAccessible, assertFitForAll, fillLimit, openPage, signInBy } from '../support/visitor.ts';

const skip = NO_CHROMIUM;
const DAY_MS = 86_400_000;
const DEPOSIT = '100000000';

const { server, env } = await pageServer();
const event = await server.admin.createEvent({
  slug: 'hail-week',
  title: 'A week of hail',
  description: 'Hail in the capital.',
  category: 'Weather',
  start_time: new Date(Date.now() + DAY_MS).toISOString(),
});
const other = await makeTrader(server);

async function newMarket(title: string) {
  const { id, yes_token_id, no_token_id } = await server.admin.createMarket({
    event_id: event.id,
    title,
    description: 'Yes if a hailstone is found.',
    category: 'Weather',
    trading_ends_at: new Date(Date.now() + DAY_MS).toISOString(),
  });
  return { id, yes_token_id, no_token_id, ticks_per_unit: 100 } as const;
}

type Trader = { readonly page: Page; readonly address: string; readonly complaints: string[] };

/** A visitor with a wallet and 100 USDC, signed in and looking at the market. */
async function signedIn(marketId: string): Promise<Trader> {
  const key = privateKeyToAccount(generatePrivateKey());
  const address = key.address.toLowerCase();
  const { id } = await server.admin.createUser({ wallet_address: address });
  await server.admin.deposit(id, { amount_usdc_micro: DEPOSIT, reference: 'browser' });
  const { page, complaints } = await openPage({
    bypassCSP: true,
    viewport: { width: 1280, height: 900 },
    reducedMotion: 'reduce',
  });
  await giveWallets(page, [key]);
  await page.goto(`${server.baseUrl}/markets/${marketId}`);
  await signInBy(page, 'Sign in with a wallet');
  await page.getByText('Available: $100.00').waitFor();
  await page.locator('.status strong', { hasText: /^Live$/ }).waitFor();
  return { page, address, complaints };
}

type Typed = { readonly price?: string; readonly size?: string; readonly rest?: string };

const REST = 'What does not trade at once';
const PLACED = 'Placed: it waits in the book. See your orders here';

/** A limit order; `rest` is what becomes of what does not trade at once. */
async function fill(page: Page, { price, size, rest }: Typed): Promise<void> {
  await fillLimit(page, price, size);
  if (rest !== undefined) await page.getByLabel(REST).selectOption({ label: rest });
}

/** The words with which the page answers the ticket. */
async function send(page: Page): Promise<string> {
  const said = page.locator('.ticket > [role=status], .ticket > [role=alert]');
  // The answer to the order before goes with the click, before the order is sent.
  const answered = page.waitForResponse((response) => new URL(response.url()).pathname === '/v1/orders');
  await page.locator('.ticket > button[type=submit]').click();
  await answered;
  await eventually('an answer', async () => (await said.innerText()) !== '');
  return said.innerText();
}

function rows(page: Page): Promise<string[]> {
  return page.locator('.ladder tr.bid, .ladder tr.ask').allInnerTexts();
}

test('a visitor places, amends, trades and cancels, and claims what was won, over a kill', { skip }, async () => {
  const market = await newMarket('Will it hail on Monday?');
  const { page } = await signedIn(market.id);
  await other.place(market, { price: '0.40', size: '7' });

  await fill(page, { price: '40', size: '20' });
  assert.equal(await send(page), PLACED);
  await eventually('its order in the book', async () =>
    (await rows(page)).some((row) => /Bid ●\s+40¢\s+27\.00/.test(row)),
  );
  // 7 tokens of the other account are before it; fewer keep the queue position, another price does not.
  await page.getByRole('row', { name: 'Buy Yes 40¢ 20.00 of 20.00 7.00' }).waitFor();
  await page.getByRole('button', { name: 'Change the order at 40¢' }).click();
  await page.getByLabel('Tokens still to be filled').fill('25');
  await page.getByText('It goes to the end of the queue at 40¢: it grows.').waitFor();
  await page.getByRole('button', { name: 'Leave it' }).click();
  // The maker's tab changes it too.
  await page.keyboard.press('Alt+p');
  await page.getByRole('combobox', { name: 'Order' }).selectOption({ label: '40¢: buys 20.00 Yes' });
  await page.getByLabel('Tokens still to be filled').fill('15');
  await page.getByText('It keeps its queue position (7.00 tokens ahead).').waitFor();
  await assertAccessible(page);
  await page.getByRole('button', { name: 'Change it' }).click();
  await page.getByText('Changed. It kept its queue position.').waitFor();
  await page.getByRole('row', { name: 'Buy Yes 40¢ 15.00 of 15.00 7.00' }).waitFor();

  // The server is killed and comes back: everything acknowledged is there, and the page goes on without a reload.
  await server.kill();
  await page.getByText('Out of date. The connection was lost. Reconnecting').waitFor();
  await page.getByText('The book is out of date: what would trade at once is not known.').waitFor();
  await server.start(env);
  await page.locator('.status strong', { hasText: /^Live$/ }).waitFor();
  await page.getByRole('row', { name: 'Buy Yes 40¢ 15.00 of 15.00 7.00' }).waitFor();

  // The other account sells 17: its own 7 precede the visitor's order, of which 10 are filled.
  const back = other.reconnected();
  await back.client.split(market.id, 20_000_000);
  await back.place(market, { side: 'SELL', price: '0.40', size: '17' });
  await page.getByRole('row', { name: 'Buy Yes 40¢ 5.00 of 15.00 0.00' }).waitFor();
  await page.getByRole('button', { name: 'Cancel the order at 40¢' }).click();
  await page.getByText('You have no open orders.').waitFor();
  await page.getByText('Available: $96.00').waitFor();

  await server.admin.resolveMarket(market.id, { outcome_index: 0 });
  await page.getByRole('link', { name: 'Portfolio' }).click();
  await page.getByText('Yes. 9.95 tokens pay $9.95.').waitFor();
  await page.getByRole('button', { name: 'Claim $9.95 of Will it hail on Monday?' }).dblclick();
  await page.getByText('Paid out.').waitFor();
  await page.getByText('$105.95').first().waitFor();
});

test('an order whose answer is lost is asked for again, and placed once', { skip }, async () => {
  const market = await newMarket('Will it hail on Tuesday?');
  const { page } = await signedIn(market.id);
  const keys: (string | undefined)[] = [];
  // The exchange carries out the first attempt, and its answer never arrives.
  await page.route('**/v1/orders', async (route) => {
    keys.push(route.request().headers()['idempotency-key']);
    if (keys.length > 1) return route.continue();
    await route.fetch();
    await route.abort('connectionreset');
  });
  await fill(page, { price: '30', size: '10' });
  await page.locator('.ticket > button[type=submit]').click();
  await page.getByText('Placed: it waits in the book.').waitFor();
  assert.deepEqual(keys, [keys[0], keys[0]]);
  assert.ok(keys[0]);
  await page.getByRole('row', { name: 'Buy Yes 30¢ 10.00 of 10.00 0.00' }).waitFor();
  await page.getByText('Available: $97.00').waitFor();
});

test('an order that a proxy answers in place of the exchange is asked for again, and placed once', {
  skip,
}, async () => {
  const market = await newMarket('Will it hail on Friday?');
  const { page } = await signedIn(market.id);
  const keys: (string | undefined)[] = [];
  const answers = [
    { status: 502, body: '<html>' },
    { status: 520, body: '<html>' },
    { status: 403, body: '<html>' },
    { status: 200, body: '<html>' },
  ];
  await page.route('**/v1/orders', async (route) => {
    keys.push(route.request().headers()['idempotency-key']);
    await route.fetch();
    const answer = answers[keys.length - 1];
    return answer === undefined ? route.continue() : route.fulfill(answer);
  });
  await fill(page, { price: '30', size: '10' });
  await page.locator('.ticket > button[type=submit]').click();
  await page.getByText('Placed: it waits in the book.').waitFor();
  assert.equal(keys.length, answers.length + 1);
  assert.equal(new Set(keys).size, 1);
  await page.getByText('Available: $97.00').waitFor();

  // A cancel is repeated too; the first one has worked.
  let cancels = 0;
  await page.route('**/v1/orders/0x*', async (route) => {
    cancels += 1;
    await route.fetch();
    return cancels > 1 ? route.continue() : route.fulfill({ status: 499, body: '' });
  });
  await page.getByRole('button', { name: 'Cancel the order at 30¢' }).click();
  await page.getByText('You have no open orders.').waitFor();
  await page.getByText('Available: $100.00').waitFor();
  // The stream may say that the order has ended before the page asks again.
  await eventually('the cancel is asked for again', async () => cancels === 2);
});

test('every kind of order does what the ticket says, and the ticket names a refusal in advance', { skip }, async () => {
  const market = await newMarket('Will it hail on Wednesday?');
  const { page, complaints } = await signedIn(market.id);
  const back = other.reconnected();
  await back.place(market, { outcomeIndex: 1, price: '0.60', size: '10' });
  await back.place(market, { outcomeIndex: 1, price: '0.55', size: '10' });
  await page.getByText('No bids').waitFor();

  // A limit begins at the price that trades, a maker's at one that does not (there is no bid), and neither at 50¢.
  await page.getByRole('tab', { name: 'Limit', exact: true }).click();
  await eventually('a price', async () => (await page.getByLabel('Price in cents').inputValue()) === '40');
  await page.getByRole('tab', { name: 'Maker', exact: true }).click();
  await eventually('a price', async () => (await page.getByLabel('Price in cents').inputValue()) === '39');
  await page.getByText('it waits at 39¢, as the first.').waitFor();
  await page.getByLabel('Price in cents').fill('40');
  await assertHeldBack(page, 'It would trade at once, and an order that never takes is refused then.');
  await page.getByLabel('It waits').selectOption({ label: 'until a time' });
  await page.getByLabel('Price in cents').fill('20');
  await page.getByRole('textbox', { name: 'Tokens', exact: true }).fill('5');
  assert.equal(await send(page), PLACED);
  await page.getByRole('row', { name: /until a time, post-only/ }).waitFor();

  await page.getByText('More', { exact: true }).click();
  await fill(page, { price: '40', size: '15', rest: 'cancels all of it' });
  await assertHeldBack(page, 'Only 10 tokens are there up to this price: it would be refused.');
  await fill(page, { price: '40', size: '3', rest: 'is cancelled' });
  await page.getByLabel('At least, in tokens').fill('3');
  await assertHeldBack(page, 'It would bring 2.985 now, less than you ask for: it would be refused.');
  await page.getByLabel('At least, in tokens').fill('2.985');
  assert.equal(await send(page), 'Bought 2.98 Yes for $1.20, at 40¢ on average. Pays $2.98 if Yes. See your portfolio');
  await page.getByLabel('At least, in tokens').fill('');

  // 7 tokens at 40 and some at 45 cents: never more than 5 dollars, at 45 cents each.
  await page.getByRole('tab', { name: 'Market', exact: true }).click();
  await eventually('no result of another order', async () => (await page.getByText(/^Bought/).count()) === 0);
  await page.getByLabel('Dollars').fill('1,234');
  await page.locator('#ticket-problem').getByText(/1,234/).waitFor();
  await page.getByLabel('Dollars').fill('5,0');
  await page.getByLabel('If the book moves').selectOption({ label: 'only prices of now' });
  const costs =
    'Average price 41.85¢ You pay $4.65, at most $5.00 Fee 0.05 tokens You get 11.05 tokens Pays if Yes $11.05';
  await eventually('the costs', async () => (await costsOf(page)) === `${costs} +$6.40`);
  const marked = await page.locator('.ladder tr.taken').allInnerTexts();
  assert.equal(marked.length, 2);
  await assertAccessible(page);
  assert.match(await send(page), /^Bought 11\.05 Yes for \$4\.65, at 41\.85¢ on average\. Pays \$11\.05 if Yes\./);
  await page.getByRole('button', { name: 'in tokens' }).click();
  await page.getByRole('textbox', { name: 'Tokens', exact: true }).fill('1000000');
  await assertHeldBack(page, /^It needs \$450,000\.00, and you have \$9\d\.\d\d\.$/);
  await page.getByRole('button', { name: 'in dollars' }).click();

  await fill(page, { price: '10', size: '5', rest: 'waits in the book' });
  assert.equal(await send(page), PLACED);
  await page.getByRole('row', { name: 'Buy Yes 10¢ 5.00 of 5.00 0.00' }).waitFor();
  let cancels = 0;
  page.on('request', (request) => {
    if (request.method() === 'DELETE') cancels += 1;
  });
  await page.getByRole('button', { name: 'Cancel all' }).click();
  await page.getByText('2 orders were cancelled.').waitFor();
  assert.equal(cancels, 1, 'one request');
  await page.getByText('You have no open orders.').waitFor();

  await page.getByRole('radio', { name: 'Sell', exact: true }).click();
  await page.getByRole('button', { name: 'Max' }).click();
  await eventually('all tokens', async () => (await sizeOf(page)) === '14.0405');
  assert.deepEqual(complaints, []);
});

/** The ticket says why, and neither its button nor Enter sends the order. */
async function assertHeldBack(page: Page, why: string | RegExp): Promise<void> {
  await page.locator('#ticket-obstacle').getByText(why).waitFor();
  assert.ok(await page.locator('.ticket > button[type=submit]').isDisabled());
}

/** The costs and gains that the ticket shows. */
async function costsOf(page: Page): Promise<string> {
  return (await page.locator('.costs').innerText()).replace(/\s+/g, ' ').trim();
}

function sizeOf(page: Page): Promise<string> {
  return page.getByRole('textbox', { name: 'Tokens', exact: true }).inputValue();
}

test('the keyboard alone trades: ladder, price, size, side and Enter', { skip }, async () => {
  const market = await newMarket('Will it hail on Thursday?');
  const { page, complaints } = await signedIn(market.id);
  const back = other.reconnected();
  for (const price of ['0.30', '0.31', '0.32']) await back.place(market, { price, size: '5' });
  await eventually('three bids', async () => (await rows(page)).length === 3);

  // One price of the ladder is in the tab order; the arrows go to the next one.
  assert.equal(await page.locator('.ladder button[tabindex="0"]').count(), 1);
  await page.locator('.ladder button[tabindex="0"]').focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await eventually('the size', async () => (await page.evaluate('document.activeElement.name')) === 'size');
  await eventually('the price', async () => (await page.getByLabel('Price in cents').inputValue()) === '31');
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Shift+ArrowUp');
  assert.equal(await sizeOf(page), '21');
  await page.keyboard.press('Alt+s');
  await eventually('the price field', async () => (await page.evaluate('document.activeElement.name')) === 'price');
  await page.keyboard.press('Alt+b');
  // The other side has a price of its own: the best bid, which is the only one.
  await eventually('the price', async () => (await page.getByLabel('Price in cents').inputValue()) === '32');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Shift+ArrowDown');
  await eventually('the price', async () => (await page.getByLabel('Price in cents').inputValue()) === '20');
  await page.keyboard.press('Enter');
  await page.getByText('Placed: it waits in the book.').waitFor();
  await page.getByRole('row', { name: 'Buy Yes 20¢ 21.00 of 21.00 0.00' }).waitFor();
  assert.deepEqual(complaints, []);
});

test('the views of an account pass the rules of accessibility, dark and light, and fit 360 pixels', {
  skip,
}, async () => {
  const market = await newMarket('Will it hail on Friday?');
  const { page } = await signedIn(market.id);
  await fill(page, { price: '20', size: '5' });
  assert.equal(await send(page), PLACED);
  await fill(page, { price: '21', size: '5' });
  assert.equal(await send(page), PLACED);
  for (const path of [`/markets/${market.id}`, '/portfolio', '/activity', '/account']) {
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.goto(server.baseUrl + path);
    await page.getByRole('button', { name: 'Sign out', exact: true }).waitFor();
    await assertFitForAll(page);
    // Nothing is hidden behind a bar of its own either.
    const hidden = await page.evaluate(
      '[...document.querySelectorAll(".panel")].filter((each) => each.scrollWidth > each.clientWidth)' +
        '.map((each) => each.innerText)',
    );
    assert.deepEqual(hidden, [], `of ${path}`);
  }
});
