/** A person reads in a real browser: events, charts, books and rules before a trade, and what it brought after. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { NO_CHROMIUM } from '../support/browser.ts';
import { giveWallets } from '../support/browserWallet.ts';
import { eventually } from '../support/eventually.ts';
import { pageServer } from '../support/pageServer.ts';
import { makeTrader } from '../support/traders.ts';
import { assertFitForAll, openPage, signInBy } from '../support/visitor.ts';

const skip = NO_CHROMIUM;
const DAY_MS = 86_400_000;

const { server } = await pageServer();
const event = await server.admin.createEvent({
  slug: 'frost-week',
  title: 'A week of frost',
  category: 'Weather',
  start_time: new Date(Date.now() + DAY_MS).toISOString(),
});

async function newMarket(title: string, outcomes: [string, string]) {
  const market = await server.admin.createMarket({
    event_id: event.id,
    title,
    outcomes,
    description: 'The thermometer in the yard decides.\nIt is read at noon.',
    category: 'Weather',
    settlement_sources: [{ name: 'The yard', url: 'https://yard.example/noon' }],
    trading_ends_at: new Date(Date.now() + DAY_MS).toISOString(),
  });
  const tokens = { yes_token_id: market.yes_token_id!, no_token_id: market.no_token_id! };
  return { id: market.id, title, ticks_per_unit: 100, ...tokens } as const;
}

const market = await newMarket('Which will Monday be?', ['Frosty', 'Mild']);
const other = await newMarket('Which will Tuesday be?', ['Frosty', 'Mild']);
const maker = await makeTrader(server);
const taker = await makeTrader(server);
for (const each of [market, other]) {
  await maker.place(each, { price: '0.30', size: '20' });
  await maker.place(each, { outcomeIndex: 1, price: '0.60', size: '10' });
  await maker.place(each, { outcomeIndex: 1, price: '0.50', size: '10' });
  await taker.place(each, { price: '0.40', size: '4' });
}

test('an event sells each outcome of its markets by name, and shows their chances in one chart', { skip }, async () => {
  const { page, complaints } = await openPage({ bypassCSP: true, viewport: { width: 1280, height: 900 } });
  await page.goto(`${server.baseUrl}/events/${event.slug}`);
  const chart = page.locator('.panel', { has: page.getByRole('heading', { name: 'Chances' }) });
  await eventually('both lines', async () => {
    const said = await chart.getByRole('img').getAttribute('aria-label');
    return /Monday be\? 40¢.*Tuesday be\? 40¢|Tuesday be\? 40¢.*Monday be\? 40¢/.test(said ?? '');
  });
  await page.getByRole('link', { name: `Buy Frosty 40¢: ${market.title}` }).waitFor();
  await assertFitForAll(page);
  await page.getByRole('link', { name: `Buy Mild 70¢: ${market.title}` }).click();
  await page.getByRole('radio', { name: /Mild/, checked: true }).waitFor();
  await page.getByRole('heading', { name: 'More of A week of frost' }).waitFor();
  await page.getByRole('link', { name: other.title, exact: true }).waitFor();
  await page.getByRole('navigation', { name: 'Where this is' }).getByRole('link', { name: event.title }).click();
  await page.getByRole('heading', { level: 1, name: event.title }).waitFor();
  assert.deepEqual(complaints, []);
});

test('a chart says the price and the time below its cross, as a line or in candles, over a range', {
  skip,
}, async () => {
  const { page, complaints } = await openPage({ bypassCSP: true, viewport: { width: 1280, height: 900 } });
  await page.goto(`${server.baseUrl}/markets/${market.id}`);
  const headline = page.locator('.headline');
  await headline.getByText('since it opened').waitFor();
  assert.match(await headline.innerText(), /^40¢ Frosty ±0¢/);
  const plot = page.locator('.plot');
  await plot.locator('canvas').waitFor();
  await plot.focus();
  await page.keyboard.press('ArrowLeft');
  await headline.getByText('$0.00 traded').waitFor();
  await page.keyboard.press('Home');
  await headline.getByText('$1.60 traded').waitFor();
  assert.match((await headline.locator('time').getAttribute('title')) ?? '', / UTC$/);
  await page.keyboard.press('Tab');
  await headline.getByText('since it opened').waitFor();
  await page.getByRole('radio', { name: 'Candles' }).click();
  await page.getByRole('radio', { name: '1H', exact: true }).click();
  await headline.getByText('in the past hour').waitFor();
  await plot.locator('canvas').waitFor();
  assert.deepEqual(complaints, []);
});

test('the book has the dollars of each level, the last price, and what all up to a level costs', { skip }, async () => {
  const { page, complaints } = await openPage({ bypassCSP: true, viewport: { width: 1280, height: 900 } });
  await page.goto(`${server.baseUrl}/markets/${market.id}`);
  const asks = page.locator('.ladder tr.ask');
  await asks.nth(1).waitFor();
  assert.deepEqual(await asks.allInnerTexts(), ['Ask\t50¢\t10.00\t$5.00', 'Ask\t40¢\t6.00\t$2.40']);
  await page.locator('.ladder .spread').getByText('Last 40¢').waitFor();
  await asks.first().hover();
  await page.getByText('Buying all up to 50¢: 16.00 tokens for $7.40, 46.25¢ on average.').waitFor();
  await page.locator('.ladder tr.bid button').focus();
  await page.getByText('Selling all up to 30¢: 20.00 tokens for $6.00, 30¢ on average.').waitFor();
  assert.deepEqual(complaints, []);
});

test('the rules name sources, fee and times, as the page is written and not as the visitor counts', {
  skip,
}, async () => {
  const { page, complaints } = await openPage({ locale: 'th-TH', timezoneId: 'Asia/Bangkok', bypassCSP: true });
  await page.goto(`${server.baseUrl}/markets/${market.id}`);
  const rules = page.locator('.rules');
  const source = rules.getByRole('link', { name: 'The yard' });
  assert.equal(await source.getAttribute('href'), 'https://yard.example/noon');
  await rules.getByText('0.5% of what you receive').waitFor();
  assert.deepEqual(await rules.locator('li strong').allInnerTexts(), ['Opens', 'Closes', 'Decided', 'Paid']);
  const closes = rules.locator('li.next');
  await closes.getByText('Closes').waitFor();
  const ends = new Date(Date.now() + DAY_MS);
  assert.match(await closes.locator('time').innerText(), new RegExp(`${ends.getUTCFullYear()}.*GMT\\+7$`));
  assert.match((await closes.locator('time').getAttribute('title')) ?? '', / UTC$/);
  assert.ok(!(await page.locator('main').innerText()).includes(market.id), 'an id is copied, not shown');
  await page.getByRole('button', { name: 'Copy the id of the market' }).waitFor();
  assert.deepEqual(complaints, []);
});

test('a portfolio has its worth, its gain now and over time, and a way to sell what it holds', { skip }, async () => {
  const privateKey = generatePrivateKey();
  const holder = await makeTrader(server, { privateKey, depositMicro: 100_000_000 });
  await holder.place(other, { price: '0.40', size: '5' });
  const { page, complaints } = await openPage({ bypassCSP: true, viewport: { width: 1280, height: 900 } });
  await giveWallets(page, [privateKeyToAccount(privateKey)]);
  // The draft of an order to buy stays in the tab, and must not be what the link to sell opens.
  await page.goto(`${server.baseUrl}/markets/${other.id}`);
  await page.getByLabel('Dollars').fill('7');
  await page.goto(`${server.baseUrl}/portfolio`);
  await signInBy(page, 'Sign in with a wallet');
  // 4.975 tokens arrive for 2.00; they are worth the middle of 30 and 40 cents.
  await page.getByRole('cell', { name: '4.97 Frosty' }).waitFor();
  const sums = page.locator('.sums');
  await sums.getByText('$99.74').waitFor();
  // Of 24 hours and of all time: it had nothing a day ago, of which it could be a share.
  await sums.getByText('−$0.26', { exact: true }).nth(1).waitFor();
  const gain = page.locator('.panel', { has: page.getByRole('heading', { name: 'Gain', exact: true }) });
  await gain.locator('canvas').waitFor();
  // At the last price nothing but the fee is lost.
  await gain.getByRole('img', { name: 'The gain is now −$0.01.' }).waitFor();
  await gain.getByRole('img').focus();
  await page.keyboard.press('Home');
  await gain.locator('.headline time').waitFor();
  await page.getByRole('row', { name: `${other.title} filled buy Frosty 40¢ 5.00` }).waitFor();
  await assertFitForAll(page);
  await page.getByRole('link', { name: `Sell Frosty of ${other.title}` }).click();
  await page.getByRole('heading', { level: 1, name: other.title }).waitFor();
  assert.match(new URL(page.url()).search, /^\?outcome=0&side=sell&size=[\d.]+$/);
  await page.getByRole('radio', { name: 'Sell', exact: true, checked: true }).waitFor();
  const held = Number(new URL(page.url()).searchParams.get('size'));
  assert.ok(held > 4 && held < 10, `${held} tokens are held`);
  assert.equal(Number(await page.locator('#ticket-amount').inputValue()), held, 'all that is held');
  assert.deepEqual(complaints, []);
});
