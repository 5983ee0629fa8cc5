/** The main journeys in Debian's Firefox: a visitor signs in, buys, sells, cancels and claims. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { NO_FIREFOX, openPageIn, startFirefox } from '../support/browser.ts';
import { giveWallets } from '../support/browserWallet.ts';
import { eventually } from '../support/eventually.ts';
import { pageServer } from '../support/pageServer.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';
import { fillLimit, signInBy } from '../support/visitor.ts';

const skip = NO_FIREFOX;

const { server } = await pageServer();
const market = await makeMarket(server, { title: 'Will it be foggy in Firefox?' });
const maker = await makeTrader(server);

test('in Firefox a visitor signs in, buys, sells, cancels and claims', { skip }, async (t) => {
  const key = privateKeyToAccount(generatePrivateKey());
  const { id } = await server.admin.createUser({ wallet_address: key.address.toLowerCase() });
  await server.admin.deposit(id, { amount_usdc_micro: '100000000', reference: 'firefox' });
  await maker.place(market, { outcomeIndex: 1, price: '0.60', size: '20' });
  await maker.place(market, { price: '0.35', size: '20' });
  const { page, complaints } = await openPageIn(await startFirefox(t), { viewport: { width: 1280, height: 900 } });
  await giveWallets(page, [key]);
  await page.goto(`${server.baseUrl}/markets/${market.id}`);
  await signInBy(page, 'Sign in with a wallet');
  await page.getByText('Available: $100.00').waitFor();
  await page.locator('.status strong', { hasText: /^Live$/ }).waitFor();
  const send = page.locator('.ticket > button[type=submit]');

  await page.getByLabel('Dollars').fill('4');
  await page.getByLabel('If the book moves').selectOption({ label: 'only prices of now' });
  await page.locator('.costs').getByText('9.95 tokens').waitFor();
  await send.click();
  await page.getByText('Bought 9.95 Yes for $4.00, at 40¢ on average.').waitFor();

  await page.getByRole('radio', { name: 'Sell', exact: true }).click();
  await page.getByRole('textbox', { name: 'Tokens', exact: true }).fill('4');
  await page.locator('.costs').getByText('Average price').waitFor();
  await send.click();
  await page.getByText('Sold 4.00 Yes at 35¢ on average: $1.39 after the fee.').waitFor();

  await page.getByRole('radio', { name: 'Buy', exact: true }).click();
  await fillLimit(page, '20', '5');
  await send.click();
  await page.getByText('Placed: it waits in the book.').waitFor();
  await page.getByRole('button', { name: 'Cancel the order at 20¢' }).click();
  await page.getByText('You have no open orders.').waitFor();
  await eventually('the cancel in the exchange', async () => {
    return (await server.admin.user(id)).usdc.reserved === '0';
  });

  await server.admin.resolveMarket(market.id, { outcome_index: 0 });
  await page.getByRole('link', { name: 'Portfolio' }).click();
  await page.getByText('Yes. 5.95 tokens pay $5.95.').waitFor();
  await page.locator('.claims').getByRole('button', { name: 'Claim' }).click();
  await page.getByText('Paid out.').waitFor();
  assert.deepEqual(complaints, []);
});
