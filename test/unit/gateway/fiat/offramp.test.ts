/** An off-ramp on the ledger rail, from its creation to the payout (RULES.md 16.10 to 16.22). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fiatTransactionOf, fiatTransferOf } from '../../../../gateway/fiat/fiatJson.ts';
import { FiatRig, PROVIDER } from '../../../support/fiatRig.ts';

const AMOUNT_MICRO = 25_000_000;

test('16.10: an off-ramp goes from the provider’s terms over one signature to the payout', async () => {
  const rig = new FiatRig();
  const session = await rig.create('offramp');
  assert.deepEqual([session.status, session.transferState], ['awaiting_quote', 'awaiting_provider']);
  await rig.provide(session, {});
  assert.deepEqual([session.status, session.transferState], ['created', 'waiting_for_wallet']);
  const intent = rig.intent(session);
  assert.deepEqual([intent.to, intent.valueMicro, intent.validAfterSec], [PROVIDER, AMOUNT_MICRO, 0]);
  await rig.sign(session);
  assert.equal(session.transferState, 'submitted_on_chain');
  await rig.pass(31_000);
  assert.equal(session.transferState, 'submitted_on_chain', '31 blocks are not enough');
  await rig.pass(4000);
  assert.equal(session.transferState, 'confirmed');
  await rig.pass(1000);
  assert.equal(rig.books.availableMicro(rig.customer.index), 975_000_000);
  assert.equal(rig.books.availableMicro(rig.company.index), 1_025_000_000);
  await rig.provide(session, { status: 'started' });
  assert.equal(session.transferState, 'provider_processing');
  await rig.provide(session, { status: 'success' });
  assert.deepEqual([session.transferState, session.status], ['complete', 'completed']);
  assert.ok(rig.isConserved);
  assert.deepEqual(rig.warnings, []);
  const causes = rig.fiat.sessions.transitionsOf(session.id).map(({ cause }) => cause);
  assert.deepEqual(
    [...new Set(causes)],
    [
      'session_created',
      'launched',
      'provider_locked',
      'authorized',
      'broadcast_accepted',
      'transfer_final',
      'provider_started',
      'provider_succeeded',
    ],
  );
});

test('16.15: an on-ramp is credited when the rail shows the deposit, under the reference of the session', async () => {
  const rig = new FiatRig();
  const session = await rig.create('onramp');
  await rig.provide(session, { status: 'started' });
  assert.equal(session.status, 'processing');
  await rig.provide(session, { status: 'success', txHash: `0x${'ab'.repeat(32)}` });
  await rig.pass(40_000);
  assert.equal(session.status, 'processing', 'a hash that the rail does not know credits nothing');
  assert.equal(rig.books.availableMicro(rig.customer.index), 1_000_000_000);

  const other = await rig.create('onramp');
  const txHash = await rig.sendFromProvider(AMOUNT_MICRO);
  await rig.provide(other, { status: 'success', txHash });
  await rig.pass(40_000);
  assert.equal(other.status, 'completed');
  assert.equal(rig.books.availableMicro(rig.customer.index), 1_025_000_000);
  assert.equal(rig.rows.find(txHash)!.reference, `fiat:${other.id}`);
  assert.ok(rig.isConserved);
});

test('16.10: a sale that the provider paid out under its other transaction of the session is complete', async () => {
  const rig = new FiatRig();
  const session = await rig.locked();
  await rig.sign(session);
  await rig.pass(40_000);
  assert.equal(session.transferState, 'confirmed');
  const sibling = rig.rowOf(session, { transactionId: 'tx-2', status: 'success', txHash: session.txHash });
  rig.provider.set(session.partnerReference, sibling);
  await rig.provide(session, { status: 'expired' });
  assert.deepEqual([session.transferState, session.status, session.alarm], ['complete', 'completed', null]);
  assert.equal(session.providerTransactionId, 'tx-2');
});

test('16.10: a sale that the other transaction pays for with another hash is not complete', async () => {
  const rig = new FiatRig();
  const session = await rig.locked();
  await rig.sign(session);
  await rig.pass(40_000);
  const other = rig.rowOf(session, { transactionId: 'tx-2', status: 'success', txHash: `0x${'ab'.repeat(32)}` });
  rig.provider.set(session.partnerReference, other);
  await rig.provide(session, {});
  assert.deepEqual([session.transferState, session.status], ['confirmed', 'processing']);
});

test('16.3: the provider sends people back to /cash, or to the path of the request', async () => {
  const rig = new FiatRig();
  await rig.create('offramp');
  await rig.create('onramp', { redirectPath: '/portfolio' });
  assert.deepEqual(
    rig.provider.launches.map(({ redirectUrl }) => redirectUrl),
    ['https://exchange.test/cash', 'https://exchange.test/portfolio'],
  );
});

test('16.24: a provider that takes back what it says fills no table, and its success still counts', async () => {
  const rig = new FiatRig();
  const stepsOf = ({ id }: { id: string }) => rig.fiat.sessions.transitionsOf(id).length;
  const wavering = await rig.create('offramp');
  for (let time = 0; time < 15; time++) {
    await rig.provide(wavering, { asset: 'eth' });
    await rig.provide(wavering, { toAddress: null });
    await rig.provide(wavering, { network: 'base' });
  }
  await rig.provide(wavering, {});
  assert.equal(wavering.transferState, 'waiting_for_wallet');
  for (let time = 0; time < 15; time++) {
    await rig.provide(wavering, { asset: 'eth' });
    await rig.provide(wavering, {});
  }
  assert.ok(stepsOf(wavering) < 10, String(stepsOf(wavering)));
  await rig.sign(wavering);
  await rig.pass(40_000);
  const before = stepsOf(wavering);
  for (let time = 0; time < 30; time++) {
    await rig.provide(wavering, { status: 'failed' });
    await rig.provide(wavering, { status: 'started' });
  }
  assert.ok(stepsOf(wavering) <= before + 30, String(stepsOf(wavering) - before));
  assert.equal(wavering.errorCause, 'provider_failed');
  await rig.provide(wavering, { status: 'success' });
  assert.deepEqual([wavering.transferState, wavering.status], ['complete', 'completed']);
});

test('16.15: a deposit that was final before the provider named it is credited once, under its hash', async () => {
  const rig = new FiatRig();
  const session = await rig.create('onramp');
  const txHash = await rig.sendFromProvider(AMOUNT_MICRO);
  await rig.pass(40_000);
  assert.equal(rig.books.availableMicro(rig.customer.index), 1_025_000_000);
  await rig.provide(session, { status: 'success', txHash });
  await rig.pass(40_000);
  assert.deepEqual([session.status, rig.fiat.transfers.claimsOf(session.id)], ['completed', [txHash]]);
  assert.equal(rig.rows.find(txHash)!.reference, `rail:${txHash}`);
  assert.equal(rig.books.availableMicro(rig.customer.index), 1_025_000_000);
  assert.ok(rig.isConserved);
});

test('16.13: a transfer can be submitted exactly as long as its signature is taken', async () => {
  const rig = new FiatRig();
  const session = await rig.locked();
  const intent = rig.fiat.transfers.intentOf(session.id)!;
  const views = { rail: rig.rail, payer: rig.fiat.payer, transfers: rig.fiat.transfers, clock: rig.clock };
  const taken = async (): Promise<boolean> => {
    const refusal = await rig.fiat.service.authorize(session, intent.intentId, `0x${'11'.repeat(65)}`);
    return refusal?.message !== 'there is too little time left';
  };
  rig.clock.advance(intent.validBeforeSec * 1000 - 62_000 - rig.nowMs);
  const seen: boolean[] = [];
  for (let second = 0; second < 4; second++) {
    const transfer = await fiatTransferOf(session, views);
    assert.equal(transfer.can_submit, await taken(), `${62 - second} s before its end`);
    assert.equal(fiatTransactionOf(session, views).transfer?.can_submit, transfer.can_submit);
    seen.push(transfer.can_submit);
    rig.clock.advance(1000);
  }
  assert.deepEqual([seen[0], seen.at(-1)], [true, false]);
});
