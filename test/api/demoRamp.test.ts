/** A newcomer of the demo cashes in and out, with `pmx fiat` and on the page, at the sandbox provider of the demo. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { NO_CHROMIUM } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { fileScope } from '../support/fileScope.ts';
import { Pmx } from '../support/pmx.ts';
import { RampCustomer } from '../support/rampCustomer.ts';
import { type Json, startServer } from '../support/server.ts';
import { assertAccessible, openPage, signInBy } from '../support/visitor.ts';

const SETTINGS = { SHARDS: '1', DEMO: 'on', DEMO_RAMP: 'on', FIAT_BLOCK_MS: '20' };
const server = await startServer(fileScope, SETTINGS);
const alice = new Pmx({ DATA_DIR: server.dataDir });

function asAlice(...args: string[]): Promise<Json> {
  return alice.json('--as', 'alice', ...args);
}

async function usdc(): Promise<number> {
  return Number((await asAlice('balances')).usdc.available);
}

/** The provider may take a moment to start. */
function begun(...args: string[]): Promise<Json> {
  return eventually(args.join(' '), async () => {
    const { code, out } = await alice.run(['--as', 'alice', ...args, '--json']);
    return code === 0 && JSON.parse(out);
  });
}

async function shown(id: string, isThere: (answer: Json) => boolean): Promise<Json> {
  let last: Json;
  return eventually(`another state than ${JSON.stringify(last)}`, async () => {
    last = await asAlice('fiat', 'show', id);
    return isThere(last) && last;
  });
}

test('money of a bank becomes USDC once the transfer of the provider is final', async () => {
  const before = await usdc();
  const { session_id: id, launch_url } = await begun('fiat', 'in', '25');
  const customer = new RampCustomer(launch_url);
  assert.match(await customer.open(launch_url), /<h1>Buy USDC<\/h1>/);
  await customer.submit('/customer/agree', { amount: '25', method: 'CARD' });
  assert.equal((await asAlice('fiat', 'back', id)).id, id);
  const { session, transfer } = await shown(id, (answer) => answer.session.status === 'completed');
  assert.deepEqual([session.buy_amount, transfer], [{ value: '25', currency: 'USDC' }, null]);
  assert.equal(await usdc(), before + 25_000_000);
});

test('USDC becomes money of a bank after the wallet has signed exactly what was agreed', async () => {
  const before = await usdc();
  const { session_id: id, launch_url } = await begun('fiat', 'out', '10');
  const early = await alice.failure(1, '--as', 'alice', 'fiat', 'sign', id);
  assert.match(early.error, /^nothing to sign now: /);
  assert.equal((await alice.run(['--as', 'alice', 'fiat', 'retry', id])).code, 1, 'nothing to send again');
  const again = await asAlice('fiat', 'launch', id);
  assert.notEqual(again.launch_url, launch_url);
  const customer = new RampCustomer(again.launch_url);
  assert.match(await customer.open(again.launch_url), /<h1>Sell USDC<\/h1>/);
  await customer.submit('/customer/agree', { amount: '10', method: 'PAYPAL' });
  await shown(id, ({ transfer }) => transfer.can_submit);
  assert.match((await asAlice('fiat', 'sign', id)).authorization.signature, /^0x[0-9a-f]{130}$/);
  await shown(id, ({ transfer }) => transfer.transfer_state === 'complete');
  assert.equal(await usdc(), before - 10_000_000);
  assert.equal((await alice.failure(1, '--as', 'alice', 'fiat', 'cancel', id)).code, 'CONFLICT');
});

test('sessions are listed, and an unsigned one can be cancelled', async () => {
  const { session_id: id } = await begun('fiat', 'out');
  assert.equal((await asAlice('fiat', 'cancel', id)).status, 'cancelled');
  const { sessions } = await asAlice('fiat', 'list', '--kind', 'offramp', '--status', 'cancelled');
  assert.deepEqual(
    sessions.map((session: Json) => session.id),
    [id],
  );
  const lines = await alice.lines('--as', 'alice', 'fiat', 'list');
  assert.match(lines[0]!, /^SESSION +KIND +STATUS +AMOUNT +SINCE$/);
  assert.equal((await alice.failure(1, '--as', 'alice', 'fiat', 'show', id.replace(/^./, 'g'))).status, 404);
});

/** The heading of the session that is shown, once it is this one. */
async function reaches(page: Page, heading: string): Promise<void> {
  await page.getByRole('heading', { level: 2, name: heading }).waitFor();
}

test('a visitor of the page cashes in and out, and sees how far it is', { skip: NO_CHROMIUM }, async () => {
  const { page, complaints } = await openPage({ viewport: { width: 360, height: 800 }, bypassCSP: true });
  await page.goto(`${server.baseUrl}/cash`);
  await signInBy(page, 'Try with play money');
  await page.getByText('None yet.').waitFor();
  await assertAccessible(page);

  const [cashIn, cashOut] = [page.locator('form').first(), page.locator('form').last()];
  await cashIn.getByRole('textbox').fill('twenty');
  await cashIn.getByRole('button').click();
  await page.getByText('An amount is a number such as 25 or 25.50.').waitFor();
  await cashIn.getByRole('textbox').fill('2,500');
  await cashIn.getByRole('button').click();
  await page.getByText('2,500 can be read in two ways: write 2500 or 2.500.').waitFor();
  await cashIn.getByRole('textbox').fill('25');
  await cashIn.getByRole('button').click();
  await page.getByRole('heading', { name: 'Buy USDC' }).waitFor();
  await page.getByRole('button', { name: 'Pay now' }).click();
  await page.goto(`${server.baseUrl}/cash`);
  await page.getByRole('button', { name: /^Cash in of 25, / }).waitFor();
  await reaches(page, 'Cash in: completed');
  await page.getByText('The USDC has arrived.').waitFor();

  await cashOut.getByRole('textbox').fill('10');
  await cashOut.getByRole('button').click();
  await page.getByRole('heading', { name: 'Sell USDC' }).waitFor();
  await page.getByRole('button', { name: 'Cash out now' }).click();
  await page.waitForURL(`${server.baseUrl}/cash`);
  await page.getByText('Sign the transfer with your wallet.').waitFor();
  assert.match(await page.locator('main').innerText(), /Your wallet sends \$10\.00 in USDC/);
  await assertAccessible(page);
  await page.getByRole('button', { name: 'Sign the transfer' }).click();
  await reaches(page, 'Cash out: completed');
  await page.getByText('The provider has paid out.').waitFor();
  assert.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), 'nothing to scroll sideways');

  await cashOut.getByRole('button').click();
  await page.getByRole('button', { name: 'Leave without selling' }).click();
  await page.waitForURL(`${server.baseUrl}/cash`);
  await page.getByRole('button', { name: 'Cancel' }).click();
  await reaches(page, 'Cash out: cancelled');
  assert.deepEqual(complaints, []);
});
