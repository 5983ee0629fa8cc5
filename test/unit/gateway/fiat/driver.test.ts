/** When the provider is asked about sessions (RULES.md 16.30, 16.31), and what is kept of them (16.8). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeFiatProvider } from '../../../support/fiatProvider.ts';
import { FiatRig, PROVIDER } from '../../../support/fiatRig.ts';

const AMOUNT_MICRO = 25_000_000;

test('16.31: a provider that hangs holds up neither another one nor the rail', async () => {
  const other = new FakeFiatProvider('other', { ADDRESS: PROVIDER });
  const rig = new FiatRig({ providers: [other] });
  const signed = await rig.locked();
  const hanging = [];
  for (let count = 0; count < 15; count++) hanging.push(await rig.create('onramp'));
  const second = await rig.create('offramp', { provider: 'other' });
  rig.provider.mode = 'hanging';
  await rig.pass(3000);
  await rig.sign(signed);
  const { rowOf } = rig;
  other.set(second.partnerReference, rowOf.call(rig, second, {}));
  await rig.pass(40_000);
  assert.equal(second.transferState, 'waiting_for_wallet');
  assert.equal(signed.transferState, 'confirmed');
  assert.ok(rig.fiat.driver.pollsUnderWay <= 16);
  assert.equal(hanging.length, 15);
});

test('16.31: a provider that is down is asked less and less, and again when it is back', async () => {
  const rig = new FiatRig();
  const session = await rig.create('offramp');
  rig.provider.set(session.partnerReference, rig.rowOf(session, {}));
  rig.provider.mode = 'down';
  await rig.pass(2000);
  const before = rig.provider.polls;
  await rig.pass(240_000, 1000);
  assert.ok(rig.provider.polls - before < 12, `${rig.provider.polls - before} polls`);
  assert.equal(session.transferState, 'awaiting_provider');
  rig.provider.mode = 'up';
  await rig.pass(61_000, 1000);
  assert.equal(session.transferState, 'waiting_for_wallet');
  assert.ok(rig.warnings.length >= 1 && rig.warnings.length <= 6, 'the log has it once a minute');
});

test('16.30: an event is stored once, outlives a restart, and brings the next poll forward', async () => {
  const rig = new FiatRig();
  const session = await rig.create('onramp');
  await rig.pass(700_000, 10_000);
  rig.provider.set(session.partnerReference, rig.rowOf(session, { status: 'started' }));
  const event = { provider: 'fake', eventId: 'e1', partnerReference: session.partnerReference };
  assert.equal(rig.fiat.webhooks.add(event, Buffer.from('{}'), rig.nowMs), true);
  assert.equal(rig.fiat.webhooks.add(event, Buffer.from('{}'), rig.nowMs), false);
  rig.open();
  assert.equal(rig.fiat.webhooks.waiting().length, 1);
  await rig.tick();
  assert.equal(rig.session(session).status, 'processing');
  assert.equal(rig.fiat.webhooks.waiting().length, 0);
  assert.equal(rig.fiat.webhooks.add(event, Buffer.from('{}'), rig.nowMs), false, 'also when it was processed');
});

test('16.30: an event of another provider, or of no session, changes nothing', async () => {
  const rig = new FiatRig();
  const session = await rig.create('onramp');
  await rig.pass(700_000, 10_000);
  const polls = rig.provider.polls;
  for (const [provider, partnerReference] of [
    ['other', session.partnerReference],
    ['fake', 'unknown'],
  ] as const) {
    rig.fiat.webhooks.add({ provider, eventId: provider, partnerReference }, Buffer.from('{}'), rig.nowMs);
  }
  await rig.tick();
  assert.equal(rig.provider.polls, polls);
  assert.deepEqual(rig.fiat.webhooks.waiting(), []);
});

test('16.30: events are kept for 30 days', async () => {
  const rig = new FiatRig();
  const event = { provider: 'fake', eventId: 'e1', partnerReference: 'r' };
  rig.fiat.webhooks.add(event, Buffer.from('{}'), rig.nowMs);
  await rig.tick();
  await rig.pass(29 * 86_400_000, 86_400_000);
  assert.equal(rig.fiat.webhooks.of('r').length, 1);
  await rig.pass(2 * 86_400_000, 86_400_000);
  assert.equal(rig.fiat.webhooks.of('r').length, 0);
});

test('16.8: 200 sessions without a signature or payment are kept, and all of the others', async () => {
  const rig = new FiatRig();
  const paid = await rig.locked();
  await rig.sign(paid);
  await rig.pass(40_000);
  await rig.provide(paid, { status: 'success', txHash: paid.txHash });
  for (let count = 0; count < 205; count++) {
    const session = await rig.create('offramp');
    await rig.fiat.service.cancel(session);
    rig.fiat.sessions.change(session, { isOpen: 0 });
  }
  const { total } = rig.fiat.sessions.list(rig.customer.index, ALL, { limit: 1, offset: 0 });
  assert.ok(total <= 201, `${total} sessions`);
  assert.equal(rig.session(paid).status, 'completed');
});

test('16.3: an account has at most 20 sessions under way', async () => {
  const rig = new FiatRig();
  for (let count = 0; count < 20; count++) await rig.create('onramp');
  await assert.rejects(rig.create('onramp'), /at most 20 sessions/);
  await rig.create('onramp', { account: rig.company.index, walletAddress: PROVIDER });
});

test('16.15: a transaction counts for one on-ramp, and one to another wallet for none', async () => {
  const rig = new FiatRig();
  const [first, second] = [await rig.create('onramp'), await rig.create('onramp')];
  const txHash = await rig.sendFromProvider(AMOUNT_MICRO);
  for (const session of [first, second]) await rig.provide(session, { status: 'success', txHash });
  await rig.pass(40_000);
  const [paid, other] = first.status === 'completed' ? [first, second] : [second, first];
  assert.deepEqual([paid.status, other.status, other.alarm], ['completed', 'processing', 'hash_of_another_session']);
  const third = await rig.create('onramp');
  await rig.provide(third, { status: 'success', txHash: await rig.sendFromCustomer(AMOUNT_MICRO) });
  await rig.pass(40_000);
  assert.equal(third.status, 'processing');
  assert.ok(rig.isConserved);
});

test('16.15: a deposit that came before its session was asked about completes it without a second credit', async () => {
  const rig = new FiatRig();
  const session = await rig.create('onramp');
  const txHash = await rig.sendFromProvider(AMOUNT_MICRO);
  await rig.pass(60_000, 1000);
  assert.equal(rig.books.availableMicro(rig.customer.index), 1_000_000_000 + AMOUNT_MICRO);
  await rig.provide(session, { status: 'success', txHash });
  await rig.pass(2000);
  assert.equal(session.status, 'completed');
  assert.equal(rig.books.availableMicro(rig.customer.index), 1_000_000_000 + AMOUNT_MICRO);
});

test('16.15: another amount than the provider named is credited as it came, and shown to an operator', async () => {
  const rig = new FiatRig();
  const session = await rig.create('onramp');
  await rig.provide(session, { status: 'success', txHash: await rig.sendFromProvider(AMOUNT_MICRO - 1) });
  await rig.pass(40_000);
  assert.deepEqual([session.status, session.alarm], ['completed', 'amount_differs']);
  assert.equal(rig.books.availableMicro(rig.customer.index), 1_000_000_000 + AMOUNT_MICRO - 1);
});

test('16.15: a provider may send in another transaction, as long as none has paid', async () => {
  const rig = new FiatRig();
  const session = await rig.create('onramp');
  await rig.provide(session, { status: 'started', txHash: `0x${'ab'.repeat(32)}` });
  await rig.pass(5000);
  const txHash = await rig.sendFromProvider(25_000_000);
  await rig.provide(session, { status: 'success', txHash });
  await rig.pass(40_000);
  assert.deepEqual([session.status, session.txHash], ['completed', txHash]);
  await rig.provide(session, { status: 'success', txHash: `0x${'cd'.repeat(32)}` });
  assert.equal(session.txHash, txHash);
  assert.ok(rig.isConserved);
});

test('16.15: a transaction that the rail does not know, and its provider has given up, ends the session', async () => {
  const rig = new FiatRig();
  const session = await rig.create('onramp');
  await rig.provide(session, { status: 'started', txHash: `0x${'ab'.repeat(32)}` });
  await rig.provide(session, { status: 'refunded', txHash: `0x${'ab'.repeat(32)}` });
  await rig.pass(2000);
  assert.deepEqual([session.status, session.failureCode], ['failed', 'provider_refunded']);
});

test('16.31: with more transfers than there are places, each is looked at', async () => {
  const rig = new FiatRig();
  const sessions = [];
  for (let count = 0; count < 90; count++) {
    const { index } = rig.accounts.signUp({ ...NEW_USER, wallet: null }, 1);
    sessions.push(await rig.create('onramp', { account: index }));
  }
  for (const session of sessions) {
    const txHash = await rig.sendFromProvider(1);
    rig.provider.set(session.partnerReference, rig.rowOf(session, { status: 'success', txHash, amount: CENT }));
  }
  await rig.pass(60_000, 1000);
  assert.ok(sessions.every(({ status }) => status === 'completed'));
  assert.ok(rig.isConserved);
});

test('16.4: a transfer of an account that is frozen is not sent until it is free again', async () => {
  const rig = new FiatRig();
  const session = await rig.locked();
  rig.frozen.add(rig.customer.index);
  await rig.sign(session);
  await rig.pass(5000);
  assert.deepEqual([session.errorCause, session.failureCode], ['broadcast_refused', 'blocked']);
  rig.frozen.clear();
  await rig.pass(40_000);
  assert.equal(session.transferState, 'confirmed');
});

test('16.2: without a provider nothing can be begun, and everything can be read', async () => {
  const rig = new FiatRig();
  const session = await rig.locked();
  rig.open(rig.path, []);
  await assert.rejects(rig.create('onramp'), /FIAT_UNAVAILABLE/);
  assert.equal(rig.session(session).transferState, 'waiting_for_wallet');
  await rig.pass(2000);
  await rig.sign(rig.session(session));
  await rig.pass(40_000);
  assert.equal(rig.session(session).transferState, 'confirmed', 'what is signed goes on');
});

const CENT = { value: '0.000001', currency: 'USDC' };
const NEW_USER = { displayName: null, email: null, role: 'user', referralCode: null };
const ALL = { kind: null, status: null };
