/** The operations page in a real browser: a token, graphs of events, and changes by two people. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Page } from 'playwright-core';
import type { OperatorRole } from '../../shared/client/types.ts';
import { NO_CHROMIUM } from '../support/browser.ts';
import { startCluster } from '../support/cluster.ts';
import { startMember } from '../support/clusterMember.ts';
import { eventually } from '../support/eventually.ts';
import { actionsOf, confirm, confirmUnlogged } from '../support/opsActions.ts';
import { pageServer } from '../support/pageServer.ts';
import { NO_POSTGRES } from '../support/postgres.ts';
import type { TestServer } from '../support/server.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';
import { assertAccessible, assertFitForAll, openPage } from '../support/visitor.ts';

const skip = NO_CHROMIUM;
const { server } = await pageServer();
const market = await makeMarket(server);
const trader = await makeTrader(server);

async function signIn(token: string, at: TestServer = server): Promise<{ page: Page; complaints: string[] }> {
  const opened = await openPage({ viewport: { width: 1280, height: 900 }, bypassCSP: true });
  await opened.page.goto(`${at.baseUrl}/ops`);
  await opened.page.getByLabel('Token of the operator').fill(token);
  await opened.page.getByRole('button', { name: 'Sign in' }).click();
  return opened;
}

/** Until the end of the test: while there is a second operator, resolutions wait for approval. */
async function makeOperator(t: TestContext, name: string, role: OperatorRole): Promise<{ token: string }> {
  const { id, token } = await server.admin.createOperator({ name, roles: [role] });
  t.after(() => server.admin.revokeOperator(id));
  return { token };
}

async function openMarket(page: Page, id = market.id): Promise<void> {
  await page.getByRole('link', { name: 'Markets' }).click();
  await page.getByLabel('Id, or words').fill(id);
  await page.getByRole('button', { name: 'Find' }).click();
  await page.getByRole('heading', { name: 'Will it rain tomorrow?' }).waitFor();
}

/** The report is there. Which problems a machine has that does other work besides is not the test's. */
async function waitForReport(page: Page): Promise<void> {
  await page.getByRole('region', { name: 'What needs a hand' }).waitFor();
}

test('a wrong token is refused; the right one stays in the tab, out of the address, until the sign-out', {
  skip,
}, async () => {
  const { page } = await signIn('wrong');
  await page.getByRole('alert').getByText('Invalid admin token').waitFor();
  await page.getByLabel('Token of the operator').fill(server.adminToken);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  await page.reload();
  await waitForReport(page);
  assert.equal(page.url(), `${server.baseUrl}/ops`);
  assert.equal(await page.evaluate('localStorage.length'), 0);
  await page.getByRole('button', { name: 'Sign out', exact: true }).click();
  await page.reload();
  await page.getByLabel('Token of the operator').waitFor();
});

test('graphs and tiles show orders as they come, and a pause of placing is said and ended', { skip }, async () => {
  const { page, complaints } = await signIn(server.adminToken);
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  const graph = page.getByRole('img', { name: /^Orders, from the ring to the reply: p50 [0-9.]+ [mµ]?s, p99 / });
  await eventually('a latency from the orders of the last seconds', async () => {
    await trader.place(market, { price: '0.40', size: '1' });
    return (await graph.count()) === 1;
  });
  await page.getByRole('row', { name: /^POST \/v1\/orders [0-9.]+\/s/ }).waitFor();
  assert.equal(await page.locator('.chart canvas').count(), 12);
  const { head } = await server.admin.audit({ limit: 1 });
  await confirm(page, 'Pause placing');
  await page.getByText('Pause placing: done.').waitFor();
  // The attempt is the first record behind those that were there, its result the second.
  await page
    .getByText(`Audit entry ${head.sequence + 2}, `)
    .getByText(', by bootstrap.')
    .waitFor();
  // It is no hand's work at once, and its line leads to the runbook.
  await page.getByText('Nothing needs a hand now.').or(page.getByText('Needs a hand now')).first().waitFor();
  const runbook = page.getByRole('link', { name: 'What to do: Placing is paused.' });
  assert.equal(await runbook.getAttribute('href'), '/docs/incidents#requests-are-refused');
  await page.getByText(/^Paused: no order is accepted\./).waitFor();
  await assert.rejects(trader.place(market, { price: '0.40', size: '1' }), /paused/);
  await confirm(page, 'Resume placing');
  await page.getByText('Placing is paused.').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Pause placing' }).waitFor();
  await confirm(page, 'Back up now');
  assert.deepEqual(complaints, []);
});

test('after a pause trading opens again in stages', { skip }, async () => {
  const { page, complaints } = await signIn(server.adminToken);
  await confirm(page, 'Pause placing');
  await confirm(page, 'Resume into cancel-only');
  await page.getByText('The platform is in cancel-only.').waitFor();
  await assert.rejects(trader.place(market, { price: '0.40', size: '1' }), /nothing but cancels/);
  await confirm(page, 'Every market: post-only');
  await page.getByText('The platform is in post-only.').waitFor();
  await openMarket(page);
  await confirm(page, 'The market: open');
  await page.locator('.facts strong', { hasText: 'open' }).waitFor();
  await trader.place(market, { price: '0.40', size: '1' });
  await server.admin.stepPlatform({ stage: 'open', expected: 'post_only' });
  assert.deepEqual(complaints, []);
});

test('a market is paused and resumed; a viewer sees it and may press nothing', { skip }, async (t) => {
  const { page } = await signIn(server.adminToken);
  await openMarket(page);
  await confirm(page, 'Pause the market');
  await page.locator('.facts strong', { hasText: 'locked' }).waitFor();
  const { token } = await makeOperator(t, 'vera', 'viewer');
  const viewer = await signIn(token);
  await openMarket(viewer.page);
  const closed = viewer.page.getByRole('button', { name: 'Resume the market' });
  assert.equal(await closed.isDisabled(), true);
  await viewer.page.getByText('Needs the role catalogue.').first().waitFor();
  await confirm(page, 'Resume the market');
  await viewer.page.locator('.facts strong', { hasText: 'active' }).waitFor();
});

test('a resolution waits for a second operator, who approves it, and the audit log has all of it', {
  skip,
}, async (t) => {
  const ada = await makeOperator(t, 'ada', 'catalogue');
  const first = await signIn(ada.token);
  await openMarket(first.page);
  await confirm(first.page, 'Resolve: No');
  const second = await signIn(server.adminToken);
  await second.page.getByRole('link', { name: 'Approvals (1)' }).click();
  await confirm(second.page, 'Reject');
  await confirm(first.page, 'Resolve: Yes');
  await first.page.getByText('it waits under Approvals').first().waitFor();
  await first.page
    .getByText(/^Audit entry \d+, .*, by ada\.$/)
    .first()
    .waitFor();
  await first.page.getByRole('link', { name: 'Approvals' }).click();
  await first.page.getByText('Another operator has to approve it.').waitFor();
  await confirm(second.page, 'Approve');
  await second.page.getByRole('cell', { name: 'carried_out' }).waitFor();
  assert.equal((await server.request('GET', `/v1/markets/${market.id}`)).body.status, 'resolved');
  await openMarket(second.page);
  await confirm(second.page, 'Settle');
  await second.page.getByRole('link', { name: 'Audit' }).click();
  await second.page.getByLabel('Path begins with').fill('/admin/approvals');
  await second.page.getByRole('button', { name: 'Show' }).first().click();
  const row = second.page.getByRole('row', { name: /bootstrap POST \/admin\/approvals\/.*\/approve/ });
  await row.getByText('Show').click();
  await row.getByText('"operator_id": "bootstrap"').waitFor();
  await second.page.getByLabel('Operator', { exact: true }).fill('another');
  await second.page.getByRole('button', { name: 'Show' }).first().click();
  await second.page.getByText('No record matches.').waitFor();
});

test('an account is found by its wallet and frozen', { skip }, async () => {
  const wallet = `0x${'ab'.repeat(20)}`;
  const { id } = await server.admin.createUser({ wallet_address: wallet });
  const { page } = await signIn(server.adminToken);
  await page.getByRole('link', { name: 'Accounts' }).click();
  await page.getByLabel('User id').fill('unknown');
  await page.getByRole('button', { name: 'Find' }).click();
  await page.getByText('User not found').waitFor();
  await page.getByLabel('User id').fill(`0x${'cd'.repeat(20)}`);
  await page.getByRole('button', { name: 'Find' }).click();
  await page.getByText('No account has this wallet.').waitFor();
  await page.getByLabel('User id').fill(wallet.toUpperCase().replace('X', 'x'));
  await page.getByRole('button', { name: 'Find' }).click();
  await page.getByRole('heading', { name: `User ${id}` }).waitFor();
  await confirm(page, 'Freeze');
  await page.locator('.facts strong', { hasText: 'frozen' }).waitFor();
  await page.getByText('The account is frozen.').waitFor();
  await page.getByText('Freeze: done. 0 orders cancelled.').waitFor();
});

test('a market is cancelled, and each action of the page was pressed with its consequence read', { skip }, async () => {
  const other = await makeMarket(server);
  const { page } = await signIn(server.adminToken);
  await openMarket(page, other.id);
  await confirm(page, 'Cancel the market');
  await page.locator('.facts strong', { hasText: 'cancelled' }).waitFor();
  const { sources, known, left } = actionsOf();
  assert.deepEqual(sources, known);
  // The lead is handed over in a test of its own.
  assert.deepEqual(left, ['{`Promote …`}']);
});

test('queues of cashing in and out, and a session with what happened to it', { skip }, async () => {
  const { body } = await trader.send('POST', '/v1/user/fiat/offramp/sessions');
  const { session_id } = body.details;
  const { page, complaints } = await signIn(server.adminToken);
  await page.getByRole('link', { name: 'Cashing' }).click();
  await page.getByText('No session has an alarm.').waitFor();
  await page.getByLabel('Queues').getByText('awaiting provider').waitFor();
  await page.getByLabel('Show').selectOption('the newest');
  await page.getByRole('button', { name: session_id }).click();
  await page.getByRole('heading', { name: `Session ${session_id}` }).waitFor();
  await page.getByRole('row', { name: /transfer – awaiting provider session created/ }).waitFor();
  await page.getByText('Waiting for the provider to fix amount and destination.').waitFor();
  await assertAccessible(page);
  assert.deepEqual(complaints, []);
});

test('a revoked token ends the visit; an exchange that does not answer is said, with the last numbers', {
  skip,
}, async () => {
  const { id, token } = await server.admin.createOperator({ name: 'gone', roles: ['viewer'] });
  const { page } = await signIn(token);
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  await page.route('**/admin/operations', (route) => route.abort());
  await page.getByText('No answer').waitFor();
  // Its alert waits half a minute, and so does the red: until then it moves nothing.
  await page.getByText('Rings if it lasts: 1, at the end of this page.').waitFor();
  await page.getByText('No report: The exchange does not answer.').waitFor();
  await page.unroute('**/admin/operations');
  await page.getByText('No report: ').waitFor({ state: 'detached' });
  await server.admin.revokeOperator(id);
  await page.getByText('The token is not accepted any more.').waitFor();
});

test('every section passes the rules of accessibility in light and dark, and fits 360 pixels', { skip }, async () => {
  const { page } = await signIn(server.adminToken);
  await waitForReport(page);
  for (const name of ['Overview', 'Markets', 'Approvals', 'Accounts', 'Cashing', 'Audit']) {
    await page.setViewportSize({ width: 1280, height: 900 });
    if (name === 'Markets') await openMarket(page);
    else await page.getByRole('link', { name }).click();
    await page.getByRole('heading', { level: 1, name }).waitFor();
    await assertFitForAll(page);
  }
  await page.getByRole('button', { name: 'Sign out', exact: true }).click();
  await page.getByLabel('Token of the operator').waitFor();
  await assertAccessible(page);
});

test('the leader of a cluster shows its members, and hands the lead over', { skip: skip || NO_POSTGRES }, async (t) => {
  const cluster = await startCluster(t, ['a']);
  const { leader } = cluster;
  const b = startMember(t, leader.env['JOURNAL_URL']!, 'b');
  await b.becomes('standby');
  const { page, complaints } = await signIn(leader.adminToken, leader);
  const panel = page.getByRole('region', { name: 'Cluster' });
  await panel.getByText('a, which answers, leads in epoch 1.').waitFor();
  await panel.getByRole('row', { name: /^a leader – / }).waitFor();
  await panel.getByRole('row', { name: /^b standby 0 / }).waitFor();
  await panel
    .getByText(/^The log has the rows [0-9]+ to [0-9,]+, .* followed by s1 \(quorum, .*\) and s2 \(/)
    .waitFor();
  await page.getByText('Members run different versions.').waitFor();
  await assertFitForAll(page);
  assert.deepEqual(complaints, []);
  const ended = leader.expectEnd();
  await confirmUnlogged(page, 'Promote b');
  await page.getByText('Promote b: done.').waitFor();
  assert.equal(await ended, 75);
  await b.becomes('leader');
});
