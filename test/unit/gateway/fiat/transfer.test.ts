/** The transfer of an off-ramp off its straight way: each row of the machine as it comes about (RULES.md 16.10). */
import assert from 'node:assert/strict';
import { test as runTest } from 'node:test';
import { cancelDigest } from '../../../../shared/crypto/eip3009.ts';
import { CUSTOMER, customerWallet, FiatRig, PROVIDER, RAILS, settled, signTransfer } from '../../../support/fiatRig.ts';
import { hookedRail, type RailHooks } from '../../../support/hookedRail.ts';

const AMOUNT_MICRO = 25_000_000;
const FUNDS_MICRO = 1_000_000_000;
const UNKNOWN_HASH = `0x${'ee'.repeat(32)}`;

for (const on of RAILS) {
  const test = (title: string, check: () => Promise<void>): void => void runTest(`${on} rail: ${title}`, check);

  test('16.10: terms that are not usable are never shown to a wallet, and usable ones heal the session', async () => {
    const rig = new FiatRig({ on });
    const cases = [
      { asset: 'eth' },
      { network: 'base' },
      { amount: { value: '0', currency: 'USDC' } },
      { amount: { value: '1.0000001', currency: 'USDC' } },
      { amount: { value: '25', currency: 'EUR' } },
      { toAddress: CUSTOMER },
      { toAddress: '0xab27b729d9cc4cb1c00960700446924159e9298d' },
      { toAddress: '0x12' },
    ];
    for (const fault of cases) {
      const session = await rig.create('offramp');
      await rig.provide(session, fault);
      assert.equal(session.errorCause, 'provider_mismatched', JSON.stringify(fault));
      assert.equal(rig.intent(session), undefined);
      await rig.provide(session, {});
      assert.equal(session.transferState, 'waiting_for_wallet', JSON.stringify(fault));
      assert.equal(session.failureCode, null);
      assert.equal(await rig.fiat.service.cancel(session), null);
    }
  });

  test('16.9: a session is cancelled before the signature and not after it, and a repeat is the same', async () => {
    const rig = new FiatRig({ on });
    const [early, locked, wrong, signed] = [
      await rig.create('offramp'),
      await rig.locked(),
      await rig.create('offramp'),
      await rig.locked(),
    ];
    await rig.provide(wrong, { asset: 'eth' });
    for (const session of [early, locked, wrong]) {
      for (const _ of [1, 2]) assert.equal(await rig.fiat.service.cancel(session), null);
      assert.deepEqual([session.status, session.transferState], ['cancelled', 'expired']);
    }
    await rig.sign(signed);
    assert.equal((await rig.fiat.service.cancel(signed))?.row.status, 409);
    assert.equal((await rig.authorize(locked))?.row.status, 409, 'a cancelled session takes no signature');
  });

  test('16.12: a signature has to be the wallet’s, in time and covered, and is taken once', async () => {
    const rig = new FiatRig({ on });
    const session = await rig.locked();
    const intent = rig.intent(session);
    assert.equal((await rig.authorize(session, `0x${'11'.repeat(65)}`))?.row.status, 400);
    const refused = await rig.fiat.service.authorize(session, 'another', `0x${'11'.repeat(65)}`);
    assert.equal(refused?.row.status, 409);
    rig.customerMicro = AMOUNT_MICRO - 1;
    assert.equal((await rig.authorize(session))?.row.code, 'INSUFFICIENT_BALANCE');
    rig.customerMicro = FUNDS_MICRO;
    await rig.sign(session);
    assert.equal(await rig.authorize(session), null, 'the same signature again');
    assert.equal((await rig.authorize(session, `0x${'22'.repeat(65)}`))?.row.status, 409);
    const late = await rig.locked();
    rig.clock.advance(rig.intent(late).validBeforeSec * 1000 - rig.nowMs - 60_000);
    assert.match((await rig.authorize(late))?.message ?? '', /too little time/);
    assert.equal(intent.from, CUSTOMER);
  });

  test('16.10: a session expires if its owner does not sign in time, and ends if the provider ends it', async () => {
    const rig = new FiatRig({ on });
    const [unlocked, locked] = [await rig.create('offramp'), await rig.locked()];
    const [failed, gone] = [await rig.locked(), await rig.create('offramp')];
    await rig.provide(failed, { status: 'failed' });
    await rig.provide(gone, { status: 'expired', toAddress: null });
    assert.deepEqual([failed.status, failed.transferState], ['failed', 'expired']);
    assert.deepEqual([gone.status, gone.transferState], ['expired', 'expired']);
    await rig.pass(1_800_000, 60_000);
    assert.deepEqual([locked.status, locked.transferState], ['expired', 'expired']);
    await rig.pass(1_860_000, 60_000);
    assert.deepEqual([unlocked.status, unlocked.transferState], ['expired', 'expired']);
  });

  test('16.10: changed terms end an unsigned session, and hold a signed one', async () => {
    const hooks: RailHooks = { preflight: async () => 'blocked', send: async () => ({ fault: 'blocked' }) };
    const rig = new FiatRig({ on, rail: (rail) => hookedRail(rail, hooks) });
    const [unsigned, signed] = [await rig.locked(), await rig.locked()];
    await rig.sign(signed);
    for (const session of [unsigned, signed]) {
      await rig.provide(session, { amount: { value: '26', currency: 'USDC' } });
    }
    assert.deepEqual([unsigned.status, unsigned.failureCode], ['failed', 'provider_changed_terms']);
    assert.equal(signed.alarm, 'provider_changed_terms');
    for (const name of ['preflight', 'send'] as const) delete hooks[name];
    await rig.pass(1_900_000, 30_000);
    assert.deepEqual([signed.transferState, signed.failureCode], ['expired', 'not_carried_out_in_time']);
    assert.equal(rig.customerMicro, FUNDS_MICRO);
  });

  test('16.10: a payment by another transaction is verified, and the stored signature is never sent', async () => {
    const rig = new FiatRig({ on });
    const session = await rig.locked();
    rig.mayBroadcast = false;
    await rig.sign(session);
    const txHash = await rig.sendFromCustomer(AMOUNT_MICRO);
    await rig.provide(session, { txHash });
    assert.equal(session.transferState, 'provider_funding_reconciling');
    rig.mayBroadcast = true;
    await rig.pass(40_000);
    assert.deepEqual([session.transferState, session.txHash], ['confirmed', txHash]);
    await rig.provide(session, { status: 'success', txHash });
    assert.equal(session.status, 'completed');
    assert.deepEqual(rig.fiat.payer.transactionsOf(session.id), []);
    assert.equal(rig.customerMicro, FUNDS_MICRO - AMOUNT_MICRO);
  });

  test('16.10: a payment that pays another session is quarantined', async () => {
    const rig = new FiatRig({ on });
    const [first, second] = [await rig.locked(), await rig.locked()];
    await rig.sign(first);
    await rig.pass(40_000);
    assert.equal(first.transferState, 'confirmed');
    await rig.provide(second, { txHash: first.txHash });
    await rig.pass(600_000, 5000);
    assert.deepEqual([second.transferState, second.alarm], ['provider_funding_reconciling', 'hash_of_another_session']);
    assert.deepEqual(
      rig.fiat.sessions.alarmed(10).map(({ id }) => id),
      [second.id],
    );
  });

  test('16.10: a payment under way for another session pays that one, whichever is looked at first', async () => {
    const rig = new FiatRig({ on });
    const [first, second] = [await rig.locked(), await rig.locked()];
    await rig.sign(first);
    await rig.pass(1000);
    await rig.provide(second, { txHash: first.txHash });
    for (let looks = 0; looks < 40; looks++) {
      rig.clock.advance(1000);
      rig.fiat.driver.advance(second);
      await settled();
    }
    await rig.pass(5000);
    assert.deepEqual([first.transferState, first.alarm], ['confirmed', null]);
    assert.deepEqual([second.transferState, second.alarm], ['provider_funding_reconciling', 'hash_of_another_session']);
  });

  test('16.10: a payment that there is not gives the wallet or the relay back', async () => {
    const rig = new FiatRig({ on });
    const [unsigned, signed] = [await rig.locked(), await rig.locked()];
    rig.mayBroadcast = false;
    await rig.sign(signed);
    for (const session of [unsigned, signed]) {
      await rig.provide(session, { txHash: UNKNOWN_HASH });
      assert.equal(session.transferState, 'provider_funding_reconciling');
      assert.equal((await rig.fiat.service.cancel(session))?.row.status, 409);
    }
    rig.mayBroadcast = true;
    await rig.pass(57_000);
    assert.equal(unsigned.transferState, 'provider_funding_reconciling', 'it may come yet');
    await rig.pass(5000);
    assert.equal(unsigned.transferState, 'waiting_for_wallet');
    assert.equal(signed.transferState, 'submitted_on_chain');
    const wrong = await rig.locked();
    await rig.provide(wrong, { txHash: await rig.sendFromCustomer(AMOUNT_MICRO - 1) });
    await rig.pass(3000);
    assert.equal(wrong.transferState, 'waiting_for_wallet', 'another amount pays nothing');
  });

  test('16.10: a provider that has money from nowhere stays under an operator’s eyes', async () => {
    const rig = new FiatRig({ on });
    const session = await rig.locked();
    await rig.provide(session, { status: 'started' });
    assert.equal(session.transferState, 'provider_funding_reconciling');
    await rig.pass(120_000, 2000);
    assert.deepEqual([session.transferState, session.alarm], ['provider_funding_reconciling', 'funding_not_found']);
  });

  test('16.10: a transfer that is reverted in time is sent again with the same signature', async () => {
    const rig = new FiatRig({ on });
    const session = await rig.locked();
    await rig.sign(session);
    rig.customerMicro = 0;
    await rig.pass(3000);
    assert.equal(session.errorCause, 'reverted_in_time');
    rig.customerMicro = FUNDS_MICRO;
    assert.equal(await rig.fiat.service.submit(session, rig.intent(session).intentId), null);
    await rig.pass(45_000);
    assert.equal(session.transferState, 'confirmed');
    assert.deepEqual(
      rig.fiat.payer.transactionsOf(session.id).map(({ accountNonce }) => accountNonce),
      on === 'evm' ? [0, 1] : [0],
    );
    assert.equal(rig.customerMicro, FUNDS_MICRO - AMOUNT_MICRO);
  });

  test('16.20: a transfer that is in no block when its time is over has ended, and never moves money', async () => {
    const hooks: RailHooks = { broadcast: async () => 'refused', send: async () => ({ fault: 'blocked' }) };
    const rig = new FiatRig({ on, rail: (rail) => hookedRail(rail, hooks) });
    const session = await rig.locked();
    await rig.sign(session);
    assert.equal(session.errorCause, 'broadcast_refused');
    await rig.pass(1_700_000, 20_000);
    assert.deepEqual([session.transferState, session.status], ['expired', 'expired']);
    for (const name of ['broadcast', 'send'] as const) delete hooks[name];
    assert.equal((await rig.fiat.service.submit(session, rig.intent(session).intentId))?.row.status, 409);
    await rig.pass(60_000);
    assert.equal(rig.customerMicro, FUNDS_MICRO);
  });

  test('16.10: a wallet that cancels the nonce ends the transfer', async () => {
    const rig = new FiatRig({ on });
    rig.mayBroadcast = false;
    const session = await rig.locked();
    await rig.sign(session);
    const { nonce } = rig.intent(session);
    const hash = cancelDigest(await rig.rail.domain(), CUSTOMER, nonce) as `0x${string}`;
    const times = { validAfterSec: 0, validBeforeSec: 0 };
    const transfer = { from: CUSTOMER, to: CUSTOMER, valueMicro: 0, ...times, nonce };
    await rig.send('cancel', transfer, await customerWallet.sign({ hash }));
    rig.mayBroadcast = true;
    await rig.pass(45_000);
    assert.deepEqual([session.transferState, session.failureCode], ['expired', 'authorization_cancelled']);
    assert.equal(rig.customerMicro, FUNDS_MICRO);
  });

  test('16.10: a provider that fails after it was paid has the money, and may still pay out', async () => {
    const rig = new FiatRig({ on });
    const session = await rig.locked();
    await rig.sign(session);
    await rig.pass(40_000);
    await rig.provide(session, { status: 'failed', txHash: session.txHash });
    assert.deepEqual(
      [session.errorCause, session.status, session.alarm],
      ['provider_failed', 'processing', 'provider_failed'],
    );
    assert.equal((await rig.fiat.service.submit(session, rig.intent(session).intentId))?.row.status, 409);
    await rig.provide(session, { status: 'started', txHash: session.txHash });
    assert.equal(session.transferState, 'provider_processing');
    await rig.provide(session, { status: 'success', txHash: session.txHash });
    assert.equal(session.status, 'completed');
  });

  test('16.8: a success after another end counts, and an operator is shown it; a late row undoes nothing', async () => {
    const rig = new FiatRig({ on });
    const session = await rig.locked();
    assert.equal(await rig.fiat.service.cancel(session), null);
    await rig.provide(session, { status: 'created' });
    assert.equal(session.status, 'cancelled');
    await rig.provide(session, { status: 'success' });
    assert.deepEqual([session.status, session.transferState], ['completed', 'complete']);
    assert.equal(session.alarm, 'late_success');
  });

  test('16.10: a rail that takes back what was final is an alarm, and the transfer is followed again', async () => {
    const hooks: RailHooks = {};
    const rig = new FiatRig({ on, rail: (rail) => hookedRail(rail, hooks) });
    const session = await rig.locked();
    await rig.sign(session);
    await rig.pass(40_000);
    hooks.authorization = async () => ({ state: 'unused' });
    hooks.transaction = async () => null;
    await rig.pass(31_000);
    assert.deepEqual([session.transferState, session.alarm], ['submitted_on_chain', 'finality_violated']);
    delete hooks.authorization;
    delete hooks.transaction;
    await rig.pass(2000);
    assert.equal(session.transferState, 'confirmed');
  });

  test('16.10: a rail that is behind the block of a transfer does not take it back', async () => {
    const hooks: RailHooks = {};
    const rig = new FiatRig({ on, rail: (rail) => hookedRail(rail, hooks) });
    const session = await rig.locked();
    await rig.sign(session);
    await rig.pass(40_000);
    assert.equal(session.transferState, 'confirmed');
    hooks.head = async () => ({ block: 0, finalizedBlock: 0, finalizedSec: 0 });
    hooks.authorization = async () => ({ state: 'unused' });
    hooks.transaction = async () => null;
    await rig.pass(31_000);
    assert.deepEqual([session.transferState, session.alarm], ['confirmed', null]);
  });

  test('16.10: a reported hash that carries our authorization is ours, another one an alarm', async () => {
    const rig = new FiatRig({ on });
    const [ours, foreign] = [await rig.locked(), await rig.locked()];
    for (const session of [ours, foreign]) await rig.sign(session);
    await rig.provide(ours, { txHash: ours.txHash });
    assert.equal(ours.alarm, null);
    await rig.provide(foreign, { txHash: UNKNOWN_HASH });
    assert.deepEqual([foreign.transferState, foreign.alarm], ['submitted_on_chain', 'reported_hash_is_foreign']);
    await rig.pass(40_000);
    assert.equal(foreign.transferState, 'confirmed', 'ours counts all the same');
    assert.equal(rig.providerMicro, FUNDS_MICRO + 2 * AMOUNT_MICRO);
    assert.ok(rig.isConserved && PROVIDER !== CUSTOMER);
  });

  test('16.22: the repeat of a signature is not answered before the disk has the first', async () => {
    const rig = new FiatRig({ on });
    const session = await rig.locked();
    const signature = await signTransfer(rig.rail, rig.intent(session));
    const syncs: (() => void)[] = [];
    rig.fiat.sessions.durable = () => new Promise((resolve) => syncs.push(resolve));
    let answers = 0;
    const asked = async () => {
      const answer = rig.authorize(session, signature).finally(() => answers++);
      await settled();
      return { answer };
    };
    const both = [await asked(), await asked()];
    assert.notEqual(rig.intent(session).signature, null, 'it is written');
    assert.deepEqual([answers, syncs.length], [0, 2]);
    for (const sync of syncs) sync();
    assert.deepEqual(await Promise.all(both.map(({ answer }) => answer)), [null, null]);
  });

  test('16.20: a transfer that could not be sent is over in the second in which its time ends', async () => {
    const rig = new FiatRig({ on });
    const session = await rig.locked();
    rig.mayBroadcast = false;
    await rig.sign(session);
    const endMs = rig.intent(session).validBeforeSec * 1000;
    rig.clock.advance(endMs - 1 - rig.nowMs);
    await rig.tick();
    await rig.tick();
    assert.equal(session.transferState, 'submission_pending');
    await rig.pass(1000);
    assert.deepEqual([session.transferState, session.failureCode], ['expired', 'not_carried_out_in_time']);
  });
}
