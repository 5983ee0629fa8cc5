/** Statements of providers over HTTP and in `pmx admin fiat` (RULES.md 16.80 to 16.84), with the sandbox provider. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { addressOf } from '../../shared/client/privateKey.ts';
import { eventually } from '../support/eventually.ts';
import { fileScope } from '../support/fileScope.ts';
import { Pmx } from '../support/pmx.ts';
import { RampProcess } from '../support/rampProcess.ts';
import { type Json, startServer } from '../support/server.ts';
import { assertRefused, makeTrader } from '../support/traders.ts';

const [RAMP_KEY, CUSTOMER_KEY] = [`0x${'b7'.repeat(32)}`, `0x${'b8'.repeat(32)}`];
const DAY_MS = 86_400_000;
const YESTERDAY = new Date(Date.now() - DAY_MS).toISOString().slice(0, 10);
const HEADER = 'transaction_id,reference,kind,status,amount,currency';

const ramp = await RampProcess.on(fileScope, RAMP_KEY);
const server = await startServer(fileScope, { ...ramp.environment, SHARDS: '1', FIAT_BLOCK_MS: '20' });
await ramp.start(server.baseUrl);
const company = await server.admin.createUser({ wallet_address: addressOf(RAMP_KEY) });
await server.admin.deposit(company.id, { amount_usdc_micro: '1000000000' });
const { client } = await makeTrader(server, { privateKey: CUSTOMER_KEY });
const admin = new Pmx({ BASE_URL: server.baseUrl, ADMIN_TOKEN: server.adminToken });
const authorization = { authorization: `Bearer ${server.adminToken}` };

const post = (path: string, body: Json) => server.request('POST', path, body, authorization);
const compare = (body: Json) => post('/admin/fiat/statements', { provider: 'sandbox', day: YESTERDAY, ...body });

/** A purchase of 25 USDC. @returns its reference, as the provider knows it */
async function bought(): Promise<{ readonly id: string; readonly reference: string }> {
  const { launch_url, id } = await client.fiat.createOnramp({ amount: '25' });
  await ramp.control('POST', 'customer', { launch_url });
  await eventually('it is completed', async () => (await client.fiat.session(id)).status === 'completed');
  return { id, reference: (await server.admin.fiatSession(id)).session.partner_reference };
}

test('a statement is compared, listed and closed, and a refund is a claim without a change of a balance', async () => {
  const { id, reference } = await bought();
  const before = (await client.balances()).usdc.available;
  const row = { transaction_id: 't1', reference, kind: 'onramp', status: 'settled', amount: '25', currency: 'USDC' };
  const right = await compare({ rows: [row] });
  assert.deepEqual([right.status, right.body.matched, right.body.differences], [200, 1, []]);
  const back = await compare({ rows: [{ ...row, status: 'charged_back' }] });
  const [difference] = back.body.differences;
  assert.deepEqual(
    [difference.kind, difference.claim_micro, difference.session_id, difference.closed_at],
    ['charged_back', '25000000', id, null],
  );
  assert.equal((await client.balances()).usdc.available, before);
  assert.equal((await server.admin.fiatSession(id)).session.alarm, 'charged_back');
  const listed = await server.admin.fiatDifferences();
  assert.deepEqual([listed.open, listed.claim_micro, listed.differences.length], [1, '25000000', 1]);
  const metrics = await (await fetch(`${server.baseUrl}/metrics`, { headers: authorization })).text();
  assert.match(metrics, /^exchange_fiat_differences 1$/m);
  assert.match(metrics, /^exchange_fiat_claims_dollars 25$/m);

  const path = `/admin/fiat/differences/${difference.id}/close`;
  assertRefused(
    await post('/admin/fiat/differences/77/close', { note: 'x' }),
    404,
    'NOT_FOUND',
    'difference not found',
  );
  assert.equal((await post('/admin/fiat/differences/x/close', { note: 'x' })).status, 404);
  assert.equal((await post(path, { note: '' })).status, 400);
  const closed = await post(path, { note: 'paid back' });
  assert.deepEqual([closed.status, closed.body.note, typeof closed.body.closed_by], [200, 'paid back', 'string']);
  assertRefused(await post(path, { note: 'again' }), 409, 'CONFLICT', 'it is closed already');
  assert.equal((await server.admin.fiatDifferences()).open, 0);
});

test('a statement that is not in order is refused, and changes nothing', async () => {
  const row = { transaction_id: 'a', reference: '', kind: 'onramp', status: 'settled', amount: '1', currency: 'USDC' };
  for (const body of [
    { day: new Date().toISOString().slice(0, 10), rows: [] },
    { day: '2026-02-30', rows: [] },
    { day: 'yesterday', rows: [] },
    { rows: [row, row] },
    { rows: [{ ...row, status: 'lost' }] },
    { rows: [{ ...row, kind: 'both' }] },
    { rows: 'none' },
    { provider: 'nobody' },
  ]) {
    const refused = await compare(body);
    assert.deepEqual([refused.status, refused.body.code], [400, 'VALIDATION_ERROR'], JSON.stringify(body));
  }
  assert.equal((await server.request('POST', '/admin/fiat/statements', {})).status, 401);
  assert.equal((await server.admin.fiatDifferences()).open, 0);
});

test("pmx compares a file or the provider's own statement, and names the differences", async () => {
  const file = join(admin.home, 'statement.csv');
  writeFileSync(file, `${HEADER}\nt9,nobody,onramp,settled,12,USDC\n`);
  const args = ['admin', 'fiat', 'reconcile', '--provider', 'sandbox'];
  const { code, out } = await admin.run([...args, '--file', file]);
  assert.equal(code, 1);
  assert.match(out, /^0 of 1 rows agree with a session\n.*\n.*missing_here +t9 /m);
  writeFileSync(file, `${HEADER}\nt9,nobody\n`);
  assert.equal((await admin.failure(2, ...args, '--file', file)).code, 'USAGE');
  writeFileSync(file, 'id,amount\n');
  assert.equal((await admin.failure(2, ...args, '--file', file)).code, 'USAGE');
  const [line] = await admin.lines('admin', 'fiat', 'differences');
  assert.equal(line, '1 open, 0 USDC owed');
  const id = (await server.admin.fiatDifferences()).differences[0]!.id;
  assert.match((await admin.lines('admin', 'fiat', 'close', String(id), 'a test')).join('\n'), /closed by /);

  const asked = await admin.json(...args);
  assert.deepEqual([asked.rows, asked.differences], [0, []], 'nothing was sold yesterday');
  await ramp.control('PUT', 'switches', { statements: 'inventing' });
  const invented = await admin.run([...args]);
  assert.match(invented.out, /missing_here +a-deal-that-nobody-knows /);
  await ramp.control('PUT', 'switches', { statements: 'right', answers: 'errors' });
  assert.equal((await admin.failure(1, ...args)).code, 'FIAT_UNAVAILABLE');
});
