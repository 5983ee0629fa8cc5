/** Cashing in and out over HTTP, with a provider whose transactions the test writes (RULES.md 16). */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { LIMIT_CLASSES } from '../../gateway/base/classes.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import { DealServer, SECRET } from '../support/dealServer.ts';
import { eventually } from '../support/eventually.ts';
import { fileScope } from '../support/fileScope.ts';
import { type Answer, type Json, startServer } from '../support/server.ts';
import { assertRefused, makeTrader } from '../support/traders.ts';
import { bearer, makeWallet, signIn } from '../support/wallet.ts';

const UNKNOWN = '0190a0b0-c0d0-7000-8000-0000000000af';
const companyWallet = makeWallet();
const COMPANY = companyWallet.address;

const provider = await DealServer.start(fileScope, COMPANY);
const environment = { ...provider.environment, SHARDS: '1', FIAT_BLOCK_MS: '20' };
const server = await startServer(fileScope, environment);
const company = (await signIn(server, companyWallet)).body;
await server.admin.deposit(company.user.id, { amount_usdc_micro: '500000000' });

type Person = { readonly session: Json; readonly wallet: ReturnType<typeof makeWallet> };

async function enter(depositMicro = '100000000'): Promise<Person> {
  const wallet = makeWallet();
  const session = (await signIn(server, wallet)).body;
  await server.admin.deposit(session.user.id, { amount_usdc_micro: depositMicro });
  return { session, wallet };
}

const ask = ({ session }: Pick<Person, 'session'>, method: string, path: string, body?: unknown): Promise<Answer> =>
  server.request(method, path, body, bearer(session));

const offramp = (id: string, rest: string): string => `/v1/user/fiat/offramp/sessions/${id}/${rest}`;

async function create(person: Person, kind: 'onramp' | 'offramp', body: Json = {}): Promise<Json> {
  const created = await ask(person, 'POST', `/v1/user/fiat/${kind}/sessions`, body);
  assert.equal(created.status, 201, JSON.stringify(created.body));
  return { ...created.body, reference: provider.launches.at(-1).reference };
}

async function until(person: Person, id: string, state: string): Promise<Json> {
  return eventually(`the transfer is ${state}`, async () => {
    const { body } = await ask(person, 'GET', offramp(id, 'transfer'));
    return body.transfer_state === state && body;
  });
}

async function balanceMicro(person: Pick<Person, 'session'>): Promise<string> {
  return (await ask(person, 'GET', '/v1/user/balances')).body.usdc.available;
}

test('16.10 to 16.14: a person cashes out: provider, signature, confirmations, payout', async () => {
  const person = await enter();
  const wallet: string = person.wallet.address;
  const session = await create(person, 'offramp', { amount: '25', redirect_path: '/cash' });
  assert.equal(session.session_id, session.id);
  assert.deepEqual(
    [session.status, session.wallet_address, session.requested_amount],
    ['awaiting_quote', wallet, '25'],
  );
  assert.match(session.launch_url, /token=/);
  assert.match(session.reference, /^[0-9a-f]{32}$/);
  const pending = await ask(person, 'GET', offramp(session.id, 'transaction'));
  assert.deepEqual(Object.keys(pending.body), ['session_id', 'status', 'message']);
  const early = (await ask(person, 'GET', offramp(session.id, 'transfer'))).body;
  assert.deepEqual([early.intent_id, early.can_submit, early.typed_data], [null, false, null]);

  await provider.provide(server, session.reference, wallet, {});
  const waiting = await until(person, session.id, 'waiting_for_wallet');
  assert.equal(waiting.can_submit, true);
  assert.deepEqual([waiting.typed_data.message.value, waiting.authorization.signature], ['25000000', null]);
  const { EIP712Domain: _, ...types } = waiting.typed_data.types;
  const signature = await person.wallet.signTypedData({ ...waiting.typed_data, types });
  const authorize = (more: Json = {}): Promise<Answer> => {
    const body = { intent_id: waiting.intent_id, signature, ...more };
    return ask(person, 'POST', offramp(session.id, 'transfer/authorization'), body);
  };
  assert.equal((await authorize({ signature: `0x${'11'.repeat(65)}` })).status, 400);
  assert.equal((await authorize({ intent_id: UNKNOWN })).status, 409);
  assert.equal((await authorize()).status, 200);
  assert.equal((await authorize()).status, 200, 'the same again');
  assert.equal((await ask(person, 'POST', offramp(session.id, 'cancel'), {})).status, 409);
  assertRefused(
    await ask(person, 'DELETE', `/v1/wallets/${wallet}`),
    409,
    'CONFLICT',
    'the last wallet of an account stays',
  );
  const submit = { intent_id: waiting.intent_id };
  assert.equal((await ask(person, 'POST', offramp(session.id, 'transfer/submit'), submit)).status, 200);

  const confirmed = await until(person, session.id, 'confirmed');
  assert.ok(confirmed.tx_evidence.confirmations >= 32);
  assert.equal(confirmed.tx_evidence.effective_tx_hash, confirmed.tx_evidence.submitted_tx_hash);
  assert.equal(await balanceMicro(person), '75000000');
  await provider.provide(server, session.reference, wallet, {
    status: 'success',
    tx_hash: confirmed.tx_evidence.effective_tx_hash,
  });
  await until(person, session.id, 'complete');
  const shown = (await ask(person, 'GET', `/v1/user/fiat/sessions/${session.id}`)).body;
  assert.deepEqual([shown.status, shown.sell_amount], ['completed', { value: '25', currency: 'USDC' }]);
  assert.equal('launch_url' in shown, false);
  const observed = (await ask(person, 'GET', offramp(session.id, 'transaction'))).body;
  assert.equal(observed.transfer.intent_id, waiting.intent_id);
});

test('16.15: a person cashes in: the deposit on the rail credits it, and nothing else does', async () => {
  const person = await enter('1000000');
  const wallet: string = person.wallet.address;
  const session = await create(person, 'onramp', { amount: '10', fiat_currency: 'EUR', payment_method: 'card' });
  const complete = `/v1/user/fiat/onramp/sessions/${session.id}/complete`;
  assert.equal((await ask(person, 'POST', complete, { provider_transaction_id: 'tx-1' })).status, 200);
  assert.equal((await ask(person, 'POST', complete)).status, 200);
  const rail = (await ask({ session: company }, 'GET', '/v1/fiat/rail')).body;
  assert.deepEqual([rail.provider_addresses, rail.required_confirmations], [[COMPANY], 32]);
  const fields = { from: COMPANY, to: wallet, value: '9500000', validAfter: '0', validBefore: '9000000000' };
  const message = { ...fields, nonce: `0x${'5a'.repeat(32)}` };
  const signature = await companyWallet.signTypedData({
    domain: rail.domain,
    types: TYPES,
    primaryType,
    message,
  } as Json);
  const sent = { from: COMPANY, to: wallet, value: '9500000', valid_after: 0, valid_before: 9_000_000_000 };
  const body = { ...sent, nonce: message.nonce, signature };
  assert.equal((await ask(person, 'POST', '/v1/fiat/rail/transfers', body)).status, 403);
  assertRefused(
    await ask({ session: company }, 'POST', '/v1/fiat/rail/transfers', { ...body, value: '9500001' }),
    409,
    'CONFLICT',
    'the rail refuses it',
  );
  const transfer = await ask({ session: company }, 'POST', '/v1/fiat/rail/transfers', body);
  assert.equal(transfer.status, 202, JSON.stringify(transfer.body));
  const { tx_hash } = transfer.body;
  const amount = { value: '9.5', currency: 'USDC' };
  await provider.provide(server, session.reference, COMPANY, {
    status: 'success',
    to_address: wallet,
    tx_hash,
    amount,
  });
  const shown: Json = await eventually('the session is completed', async () => {
    const { body } = await ask(person, 'GET', `/v1/user/fiat/sessions/${session.id}`);
    return body.status === 'completed' && body;
  });
  assert.deepEqual(shown.buy_amount, { value: '9.5', currency: 'USDC' });
  assert.equal(await balanceMicro(person), '10500000');
  const { movements } = (await ask(person, 'GET', '/v1/user/fund-movements')).body;
  // The one where the provider has named the transaction before it was final, the other where it was later.
  const references = [`fiat:${session.id}`, `rail:${tx_hash}`];
  assert.ok(references.includes(movements[0].reference), movements[0].reference);
  const own = { amount_usdc_micro: '1', reference: `fiat:${session.id}` };
  const reserved = await server.adminRequest('POST', `/admin/users/${person.session.user.id}/deposits`, own);
  assert.equal(reserved.status, 400, 'the references of the rail are its own');
  const arrived = (await ask(person, 'GET', '/v1/fiat/rail/transfers')).body;
  assert.deepEqual(
    arrived.transfers.map((each: Json) => each.tx_hash),
    [tx_hash],
  );
  const used = await ask({ session: company }, 'GET', `/v1/fiat/rail/authorizations/${COMPANY}/${message.nonce}`);
  assert.deepEqual([used.body.state, used.body.tx_hash], ['used', tx_hash]);
});

test('16.3 to 16.6: creating, repeating and launching again, and what is refused', async () => {
  const person = await enter();
  const key = { 'idempotency-key': UNKNOWN };
  const headers = { ...bearer(person.session), ...key };
  const post = (path: string, body: Json, more = headers): Promise<Answer> => server.request('POST', path, body, more);
  const path = '/v1/user/fiat/onramp/sessions';
  const first = await post(path, { amount: '5' });
  const again = await post(path, { amount: '5' });
  assert.deepEqual([first.status, again.status, again.body.id], [201, 201, first.body.id]);
  assert.notEqual(again.body.launch_url, first.body.launch_url, 'a way to the provider is good once');
  assert.equal((await post(path, { amount: '6' })).body.code, 'IDEMPOTENCY_KEY_PAYLOAD_MISMATCH');
  const malformed = { ...headers, 'idempotency-key': 'x' };
  assert.equal((await post(path, {}, malformed)).body.code, 'IDEMPOTENCY_KEY_MALFORMED');
  const launch = await ask(person, 'POST', `${path}/${first.body.id}/launch-token`, {});
  assert.deepEqual(Object.keys(launch.body), ['session_id', 'status', 'launch_url']);
  for (const body of [
    { amount: '-1' },
    { amount: '0' },
    { amount: '0.000000' },
    { amount: '1.0000001' },
    { amuont: '1' },
    { redirect_path: '//evil.example' },
  ]) {
    assert.equal((await ask(person, 'POST', path, body)).status, 400, JSON.stringify(body));
  }
  assertRefused(await ask(person, 'POST', path, { provider: 'other' }), 400, 'VALIDATION_ERROR', 'unknown provider');
  const foreign = { wallet_address: COMPANY };
  assert.equal((await ask(person, 'POST', '/v1/user/fiat/offramp/sessions', foreign)).status, 409);
  const stranger = await enter();
  for (const rest of ['transfer', 'transaction']) {
    assert.equal((await ask(stranger, 'GET', offramp(first.body.id, rest))).status, 404);
  }
  assert.equal((await ask(stranger, 'GET', `/v1/user/fiat/sessions/${first.body.id}`)).status, 404);
  assert.equal((await ask(stranger, 'POST', `${path}/${first.body.id}/launch-token`, {})).status, 404);
  assert.equal((await ask(person, 'GET', '/v1/user/fiat/sessions/x')).status, 404);
  assert.equal((await ask(person, 'POST', offramp(first.body.id, 'cancel'), {})).status, 404, 'it is no off-ramp');
  const page = (await ask(person, 'GET', '/v1/user/fiat/sessions?kind=onramp&limit=1')).body;
  assert.deepEqual([page.total, page.limit, page.offset, page.sessions[0].id], [1, 1, 0, first.body.id]);
  assert.equal((await ask(person, 'GET', '/v1/user/fiat/sessions?status=completed')).body.total, 0);
  const keyed = await makeTrader(server, { scopes: ['read:account'] });
  assert.equal((await keyed.send('POST', path, {})).status, 403, 'a key that only reads');
});

test('16.4, 16.9: restricted accounts, timeouts, and a provider that is down', async () => {
  const person = await enter();
  const create_ = (kind: string): Promise<Answer> => ask(person, 'POST', `/v1/user/fiat/${kind}/sessions`, {});
  const setState = (state: string): Promise<Answer> =>
    server.adminRequest('PUT', `/admin/users/${person.session.user.id}/state`, { state });
  assert.equal((await setState('close_only')).status, 200);
  const begun = await create_('offramp');
  assert.deepEqual([(await create_('onramp')).body.code, begun.status], ['ACCOUNT_CLOSE_ONLY', 201]);
  await setState('frozen');
  assert.deepEqual([(await create_('onramp')).body.code, (await create_('offramp')).body.code], [FROZEN, FROZEN]);
  const again = await ask(person, 'POST', offramp(begun.body.id, 'launch-token'), {});
  assert.equal(again.body.code, FROZEN, 'nor another way to the provider');
  await setState('active');
  await ask(person, 'POST', '/v1/user/rg/timeout', { duration_label: '24h' });
  const created = await create_('offramp');
  assert.equal(created.status, 201, 'a timeout does not hinder cashing out');
  for (const _ of [1, 2]) {
    const cancelled = await ask(person, 'POST', offramp(created.body.id, 'cancel'), {});
    assert.deepEqual([cancelled.status, cancelled.body.status], [200, 'cancelled']);
  }
  assert.equal((await ask(person, 'POST', offramp(created.body.id, 'launch-token'), {})).status, 409);
  provider.isDown = true;
  const failed = await create_('offramp');
  provider.isDown = false;
  assert.deepEqual([failed.status, failed.body.code], [503, 'FIAT_UNAVAILABLE']);
  const launched = await ask(person, 'POST', offramp(failed.body.details.session_id, 'launch-token'), {});
  assert.equal(launched.status, 200, 'the session is there');
});

test('16.3: a refusal of the provider is reported with its field, and leaves no session under way', async () => {
  const person = await enter();
  for (const [kind, theirs, ours] of [
    ['onramp', 'amount', 'amount'],
    ['onramp', 'method', 'payment_method'],
    ['offramp', 'method', 'cashout_method'],
    ['offramp', 'currency', 'fiat_currency'],
    ['offramp', 'return_url', undefined],
  ] as const) {
    provider.refusing = theirs;
    const post = (headers: Record<string, string> = {}): Promise<Answer> =>
      server.request('POST', `/v1/user/fiat/${kind}/sessions`, {}, { ...bearer(person.session), ...headers });
    const key = { 'idempotency-key': randomUUID() };
    const refused = await post(key);
    assertRefused(refused, 400, 'VALIDATION_ERROR', 'the provider refuses this request');
    const { session_id, field } = refused.body.details;
    assert.equal(field, ours);
    const { body } = await ask(person, 'GET', `/v1/user/fiat/sessions/${session_id}`);
    assert.deepEqual([body.status, body.failure_code], ['failed', 'provider_refused']);
    provider.refusing = null;
    const again = await post(key);
    assert.deepEqual([again.status, again.body.details.session_id], [400, session_id], 'a repeat is answered alike');
    assert.equal((await post()).status, 201, 'and another request begins');
  }
});

test('16.6: a launch that is refused later leaves the one before', async () => {
  const person = await enter();
  const begun = await ask(person, 'POST', '/v1/user/fiat/offramp/sessions', {});
  provider.refusing = 'amount';
  const again = await ask(person, 'POST', offramp(begun.body.id, 'launch-token'), {});
  provider.refusing = null;
  assert.deepEqual([again.status, again.body.details.field], [400, 'amount']);
  assert.equal((await ask(person, 'GET', `/v1/user/fiat/sessions/${begun.body.id}`)).body.status, 'awaiting_quote');
});

test('16.30: an event counts with its signature, once, and names a provider that is open', async () => {
  const person = await enter();
  const { reference, id } = await create(person, 'onramp');
  assert.equal((await provider.sendEvent(server, reference, 'another-secret-of-the-webhooks')).status, 401);
  assert.equal((await server.request('POST', '/v1/fiat/webhooks/other', {})).status, 404);
  assert.equal((await server.request('POST', '/v1/fiat/webhooks/sandbox')).status, 400);
  for (const _ of [1, 2]) assert.equal((await provider.sendEvent(server, reference, SECRET, 777)).status, 200);
  const shown: Json = await eventually('the event is processed', async () => {
    const { body } = await server.adminRequest('GET', `/admin/fiat/sessions/${id}`);
    return typeof body.events[0]?.processed_at === 'string' && body;
  });
  assert.equal(shown.events.length, 1);
  assert.deepEqual(
    shown.transitions.map((each: Json) => each.cause),
    ['session_created', 'launched'],
  );
});

test('16.50: operators see queues, and no person does', async () => {
  const person = await enter();
  const { id } = await create(person, 'offramp');
  const list = (await server.adminRequest('GET', '/admin/fiat/sessions?limit=100')).body;
  assert.ok(list.queues.open > 0 && list.sessions.some((each: Json) => each.id === id));
  const alarmed = (await server.adminRequest('GET', '/admin/fiat/sessions?alarmed=true')).body;
  assert.deepEqual(alarmed.sessions, []);
  assert.equal((await server.adminRequest('GET', `/admin/fiat/sessions/${UNKNOWN}`)).status, 404);
  assert.equal((await ask(person, 'GET', `/admin/fiat/sessions/${id}`)).status, 401);
  const output = [...server.stdout, ...server.stderr].join('\n');
  assert.doesNotMatch(output, /once-\d|token=/, 'no launch URL is logged');
  const { balanced } = (await server.adminRequest('GET', '/admin/ledger')).body;
  assert.equal(balanced, true);
});

test('16.3, 16.7: five cash-outs, ten cash-ins and twenty returns a minute', () => {
  const { createOfframp, createOnramp, completeOnramp } = LIMIT_CLASSES;
  const limits = [createOfframp, createOnramp, completeOnramp].map(({ requests, windowSec }) => [requests, windowSec]);
  assert.deepEqual(limits, [
    [5, 60],
    [10, 60],
    [20, 60],
  ]);
});

test('16.45: a wallet with a cash-out under way stays linked, from its beginning to its end', async () => {
  const person = await enter();
  const second = makeWallet();
  const address = second.address.toLowerCase();
  const { message } = (await ask(person, 'GET', `/v1/wallets/link/nonce?address=${second.address}`)).body;
  const signature = await second.signMessage({ message });
  assert.equal((await ask(person, 'POST', '/v1/wallets/link', { message, signature })).status, 200);
  const { id, reference } = await create(person, 'offramp', { wallet_address: address });
  const unlink = (): Promise<Answer> => ask(person, 'DELETE', `/v1/wallets/${address}`);
  assertRefused(await unlink(), 409, 'CONFLICT', 'a cash-out of the wallet is under way');
  await provider.provide(server, reference, address, {});
  await until(person, id, 'waiting_for_wallet');
  assertRefused(await unlink(), 409, 'CONFLICT', 'a cash-out of the wallet is under way');
  const { user_id } = (await ask(person, 'GET', '/v1/user/profile')).body;
  const busy = { status: 409, code: 'CONFLICT', message: 'a cash-out of the wallet is under way' };
  await assert.rejects(server.admin.removeWallet(user_id, second.address), busy, 'nor by an administrator');
  assert.equal((await ask(person, 'POST', offramp(id, 'cancel'))).status, 200);
  assert.equal((await unlink()).status, 200);
});

test('16.3, 15.45: after ten minutes a person begins no cash-out without a step-up', async () => {
  const { session, wallet } = await enter();
  await server.stop();
  const database = new Database(join(server.dataDir, 'control.db'));
  const aged = database.prepare('UPDATE sessions SET authenticated_ms = authenticated_ms - 601000').run();
  database.close();
  assert.ok(aged.changes > 0);
  await server.restart(environment);
  const path = '/v1/user/fiat/offramp/sessions';
  assertRefused(await ask({ session }, 'POST', path), 403, 'STEP_UP_REQUIRED', ERRORS.STEP_UP_REQUIRED.message);
  assert.equal((await ask({ session }, 'POST', '/v1/user/fiat/onramp/sessions')).status, 201, 'a cash-in needs none');
  const { message } = (await ask({ session }, 'GET', `/v1/auth/step-up/nonce?address=${wallet.address}`)).body;
  const proof = { message, signature: await wallet.signMessage({ message }) };
  assert.equal((await ask({ session }, 'POST', '/v1/auth/step-up', proof)).status, 200);
  assert.equal((await ask({ session }, 'POST', path)).status, 201);
});

const FROZEN = 'ACCOUNT_FROZEN';
const primaryType = 'TransferWithAuthorization';
const TYPES = {
  [primaryType]: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
};
