/**
 * Every row of the transfer machine (RULES.md 16.10), reached from outside: by requests, by answers of a provider, and
 * by a real EVM and its node. Each test checks the session as its customer and an operator see it.
 */
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { toHex } from 'viem';
import { assertStands, CashOutRig, rowsOfTheTable, SOLD_MICRO } from '../support/cashOutRig.ts';
import { eventually } from '../support/eventually.ts';
import { fileScope } from '../support/fileScope.ts';
import { NO_ANVIL } from './anvil.ts';

const rig = await CashOutRig.start(fileScope, 1);
// A failed test leaves the node in order for the others.
afterEach(() => rig?.sends());
const options = { skip: NO_ANVIL };
/** A transaction that no chain has. */
const nowhere = (): `0x${string}` => toHex(rig.chain.fresh() + 0xf0_0000, { size: 32 });

test('a transaction of somebody else that carries the transfer out takes the place of ours', options, async () => {
  const before = await rig.received();
  const { sale, txHash } = await rig.submitted();
  await rig.takeOut(txHash);
  const other = await rig.sendAsStranger(sale);
  await rig.mine();
  rig.sends();
  const replaced = await rig.passed(sale, 'hash_replaced');
  assert.equal(replaced.session.tx_hash, other);
  await assertStands(rig, sale, { state: 'submitted_on_chain' });
  await rig.confirm();
  await rig.passed(sale, 'transfer_final');
  assert.equal(await rig.received(), before + SOLD_MICRO, 'it is paid once');
  await rig.say(sale, { status: 'started', tx_hash: other });
  await rig.passed(sale, 'provider_started');
  await rig.say(sale, { status: 'success', tx_hash: other });
  await rig.passed(sale, 'provider_succeeded');
  await assertStands(rig, sale, { state: 'complete' });
});

test('the provider names a transaction that carries our transfer before we have seen it', options, async () => {
  const { sale, txHash } = await rig.submitted();
  await rig.takeOut(txHash);
  // The token does not answer, so the exchange does not see by itself that the transfer is carried out.
  rig.gate.unanswered.add('eth_call');
  const other = await rig.sendAsStranger(sale);
  await rig.mine();
  await rig.say(sale, { tx_hash: other });
  const named = await rig.passed(sale, 'reported_hash_is_ours');
  assert.equal(named.session.tx_hash, other);
  rig.sends();
  await assertStands(rig, sale, { state: 'submitted_on_chain' });
  await rig.confirm();
  await rig.passed(sale, 'transfer_final');
  await rig.say(sale, { status: 'success', tx_hash: other });
  await rig.passed(sale, 'provider_succeeded');
});

test(
  'the provider names another transaction while ours is under way: an operator looks, nothing stops',
  options,
  async () => {
    const { sale, txHash } = await rig.submitted();
    const foreign = nowhere();
    await rig.say(sale, { tx_hash: foreign });
    const named = await rig.passed(sale, 'reported_hash_is_foreign');
    assert.equal(named.transfer!.tx_evidence.reported_tx_hash, foreign);
    await assertStands(rig, sale, { state: 'submitted_on_chain', alarm: 'reported_hash_is_foreign' });
    await rig.mine();
    await rig.confirm();
    const final = await rig.passed(sale, 'transfer_final');
    assert.equal(final.session.tx_hash, txHash);
    await rig.say(sale, { status: 'failed', tx_hash: foreign });
    await rig.passed(sale, 'provider_failed');
    const stands = { state: 'recoverable_error', alarm: 'provider_failed', failure: 'provider_failed' };
    await assertStands(rig, sale, stands);
    await rig.say(sale, { status: 'started', tx_hash: txHash });
    await rig.passed(sale, 'provider_started');
    await rig.say(sale, { status: 'failed', tx_hash: txHash });
    await rig.passed(sale, 'provider_failed', 2);
  },
);

test('a transfer that was reverted goes again with other bytes as soon as it can', options, async () => {
  const before = await rig.received();
  const { sale, txHash } = await rig.submitted();
  const bytes = rig.gate.sent.at(-1) as `0x${string}`;
  await rig.takeOut(txHash);
  const all = Number(await rig.chain.walletUsdc(rig.wallet));
  const bank = toHex(0xba, { size: 20 });
  await rig.pay(rig.wallet, bank, all);
  await rig.mine();
  await rig.chain.client.sendRawTransaction({ serializedTransaction: bytes });
  await rig.mine();
  rig.sends();
  await rig.passed(sale, 'reverted_in_time');
  await assertStands(rig, sale, { state: 'recoverable_error', failure: 'reverted', canSubmit: true });
  await rig.pay(bank, rig.wallet, all);
  await rig.mine();
  const again = await rig.passed(sale, 'cause_gone');
  assert.notEqual(again.session.tx_hash, txHash);
  await assertStands(rig, sale, { state: 'submitted_on_chain' });
  await rig.mine();
  await rig.confirm();
  await rig.passed(sale, 'transfer_final');
  assert.equal(await rig.received(), before + SOLD_MICRO, 'it is paid once');
});

test('a transfer that the chain refuses is sent when its cause is gone', options, async () => {
  const sale = await rig.fixed();
  await rig.act('setBlacklisted', [rig.wallet, true]);
  await rig.sign(sale);
  await rig.passed(sale, 'broadcast_refused');
  await assertStands(rig, sale, { state: 'recoverable_error', failure: 'blocked', canSubmit: true });
  await rig.act('setBlacklisted', [rig.wallet, false]);
  await rig.passed(sale, 'broadcast_accepted');
  await rig.mine();
  await rig.confirm();
  await rig.passed(sale, 'transfer_final');
});

test('a chain that takes back what was final makes an alarm, and the same bytes are sent again', options, async () => {
  const before = await rig.received();
  const { sale, txHash } = await rig.submitted();
  const bytes = rig.gate.sent.at(-1);
  await rig.mine();
  await rig.confirm();
  await rig.passed(sale, 'transfer_final');
  assert.equal(await rig.received(), before + SOLD_MICRO);
  await rig.chain.client.request({ method: 'anvil_reorg', params: [45, []] } as never);
  await rig.drop(txHash);
  assert.equal(await rig.received(), before);
  await rig.passed(sale, 'finality_violated');
  await assertStands(rig, sale, { state: 'submitted_on_chain', alarm: 'finality_violated' });
  const sent = rig.gate.sent.length;
  await eventually('the same bytes leave again', async () => rig.gate.sent.slice(sent).includes(bytes!));
  await rig.mine();
  await rig.confirm();
  await rig.passed(sale, 'transfer_final', 2);
  assert.equal(await rig.received(), before + SOLD_MICRO, 'it is paid once');
  await assertStands(rig, sale, { state: 'confirmed', alarm: 'finality_violated' });
});

test('a payment that the provider names and that is nowhere: the wallet or the relay goes on', options, async () => {
  const before = await rig.received();
  const unsigned = await rig.fixed();
  await rig.say(unsigned, { tx_hash: nowhere() });
  await rig.passed(unsigned, 'foreign_hash_reported');
  await assertStands(rig, unsigned, { state: 'provider_funding_reconciling' });

  const signed = await rig.unsent();
  await rig.say(signed, { tx_hash: nowhere() });
  await rig.passed(signed, 'foreign_hash_reported');
  rig.sends();
  await assertStands(rig, signed, { state: 'provider_funding_reconciling' });

  await rig.pass(120);
  await rig.passed(unsigned, 'unsigned_not_funded');
  await assertStands(rig, unsigned, { state: 'waiting_for_wallet', canSubmit: true });
  await rig.passed(signed, 'signed_not_funded');
  await rig.passed(signed, 'broadcast_accepted');
  await assertStands(rig, signed, { state: 'submitted_on_chain' });
  await rig.mine();
  await rig.confirm();
  const { session } = await rig.passed(signed, 'transfer_final');
  assert.equal(await rig.received(), before + SOLD_MICRO);

  await rig.say(unsigned, { tx_hash: session.tx_hash });
  await rig.passed(unsigned, 'hash_of_another_session');
  const stands = { state: 'provider_funding_reconciling', alarm: 'hash_of_another_session' };
  await assertStands(rig, unsigned, stands);
  const paid = await rig.pay(rig.wallet, rig.provider.address, SOLD_MICRO);
  await rig.mine();
  await rig.say(unsigned, { tx_hash: paid });
  await rig.confirm();
  await rig.passed(unsigned, 'funding_verified');
  assert.equal(await rig.received(), before + 2 * SOLD_MICRO);
});

test('terms that cannot be are waited out, and what nobody signs ends', options, async () => {
  const early = await rig.create();
  await rig.say(early, { network: 'ethereum' });
  await rig.passed(early, 'provider_mismatched');
  await assertStands(rig, early, { state: 'recoverable_error', failure: 'other_network' });
  await rig.say(early);
  await rig.passed(early, 'provider_locked');
  await rig.customer.client.fiat.cancel(early.id);
  await rig.passed(early, 'ended_unsigned');
  await assertStands(rig, early, { state: 'expired', failure: 'cancelled' });
  const unbegun = await rig.create();
  await rig.customer.client.fiat.cancel(unbegun.id);
  await rig.passed(unbegun, 'ended_unsigned');
  await assertStands(rig, unbegun, { state: 'expired', failure: 'cancelled' });
});

test('a signature that the wallet takes back ends the session, sent or not', options, async () => {
  const before = await rig.received();
  const { sale, txHash } = await rig.submitted();
  await rig.takeOut(txHash);
  await rig.cancelAuthorization(sale);
  await rig.mine();
  rig.sends();
  await rig.confirm();
  await rig.passed(sale, 'authorization_cancelled');
  await assertStands(rig, sale, { state: 'expired', failure: 'authorization_cancelled' });

  const unsent = await rig.unsent();
  await rig.cancelAuthorization(unsent);
  await rig.mine();
  await rig.confirm();
  await rig.passed(unsent, 'authorization_cancelled');
  rig.sends();
  await assertStands(rig, unsent, { state: 'expired', failure: 'authorization_cancelled' });
  assert.equal(await rig.received(), before, 'nothing has moved');
});

test('a time that is over ends the session, sent or not, and a success after it is shown', options, async () => {
  const before = await rig.received();
  const { sale, txHash } = await rig.submitted();
  const unsent = await rig.unsent();
  await rig.drop(txHash);
  await rig.pass(2 * 1800);
  await rig.passed(sale, 'time_is_over');
  await assertStands(rig, sale, { state: 'expired', failure: 'not_carried_out_in_time' });
  await rig.passed(unsent, 'time_is_over');
  rig.sends();
  await assertStands(rig, unsent, { state: 'expired', failure: 'not_carried_out_in_time' });
  await rig.mine();
  assert.equal(await rig.received(), before, 'nothing has moved');
  await rig.say(sale, { status: 'success', tx_hash: nowhere() });
  await rig.passed(sale, 'provider_succeeded');
  await assertStands(rig, sale, { state: 'complete', alarm: 'late_success', failure: 'not_carried_out_in_time' });
});

test('every row of the table was reached from outside', options, () => {
  assert.deepEqual(
    rowsOfTheTable().filter((row) => !rig.reached.has(row)),
    [],
  );
  assert.deepEqual(
    [...rig.reached].filter((row) => !rowsOfTheTable().includes(row)),
    [],
  );
});
