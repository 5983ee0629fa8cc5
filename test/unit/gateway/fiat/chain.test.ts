/** Sessions on a chain (RULES.md 16.46 to 16.48): finality, forks, fees, and nodes that are wrong. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FiatSession } from '../../../../gateway/fiat/fiatSessionsStore.ts';
import { RailDown } from '../../../../gateway/fiat/rail.ts';
import { FiatRig, signTransfer } from '../../../support/fiatRig.ts';
import { hookedRail, type RailHooks } from '../../../support/hookedRail.ts';
import { Random } from '../../../support/random.ts';
import { seedOr, timesOf } from '../../../support/seeds.ts';

const AMOUNT_MICRO = 25_000_000;
const FUNDS_MICRO = 1_000_000_000;
const HIGHEST_FEE_WEI = 1_000_000_000_000;
const CONFIRMED = ['confirmed', 'confirmed', 'confirmed'];
const SIMULATIONS = { suite: 1, soak: 300 };

/** The chain of a rig that has one. */
function chainOf(rig: FiatRig) {
  return rig.evm!.chain;
}

async function signedOut(rig: FiatRig): Promise<FiatSession> {
  const session = await rig.locked();
  await rig.sign(session);
  assert.equal(session.transferState, 'submitted_on_chain');
  return session;
}

test('16.48: 32 confirmations are not enough while the block is not final', async () => {
  const rig = new FiatRig({ on: 'evm', finality: 60 });
  const session = await signedOut(rig);
  await rig.pass(55_000);
  assert.equal(session.transferState, 'submitted_on_chain');
  assert.equal(rig.customerMicro, FUNDS_MICRO - AMOUNT_MICRO, 'it is in a block');
  await rig.pass(10_000);
  assert.equal(session.transferState, 'confirmed');
});

test('16.48: a block that is taken back takes the transfer along, which is carried out again, once', async () => {
  const rig = new FiatRig({ on: 'evm', finality: 40 });
  const session = await signedOut(rig);
  await rig.pass(20_000);
  assert.equal(rig.customerMicro, FUNDS_MICRO - AMOUNT_MICRO);
  chainOf(rig).reorganise(25);
  chainOf(rig).forget();
  await rig.pass(30_000);
  chainOf(rig).reorganise(35);
  await rig.pass(90_000);
  assert.deepEqual([session.transferState, session.alarm], ['confirmed', null]);
  assert.equal(rig.customerMicro, FUNDS_MICRO - AMOUNT_MICRO);
});

test('16.48: a transfer that anybody else has sent is the transfer, and ours costs nothing', async () => {
  const rig = new FiatRig({ on: 'evm' });
  const session = await signedOut(rig);
  const { from, to, valueMicro, validAfterSec, validBeforeSec, nonce } = rig.intent(session);
  const transfer = { from, to, valueMicro, validAfterSec, validBeforeSec, nonce };
  const txHash = await rig.send('transfer', transfer, await signTransfer(rig.rail, transfer));
  await rig.pass(40_000);
  assert.deepEqual([session.transferState, session.txHash], ['confirmed', txHash]);
  assert.equal(rig.customerMicro, FUNDS_MICRO - AMOUNT_MICRO);
});

test('16.48: a transaction that fees have left behind is replaced, and waits where no more is offered', async () => {
  const rig = new FiatRig({ on: 'evm' });
  const session = await rig.locked();
  chainOf(rig).baseFee = 1_000_000_000n;
  await rig.sign(session);
  chainOf(rig).baseFee = 50_000_000_000n;
  await rig.pass(62_000, 1000);
  const prices = rig.fiat.transfers.envelopesOf(session.id).map(({ fee, accountNonce }) => ({ fee, accountNonce }));
  assert.ok(prices.length === 2 && prices[1]!.fee > prices[0]!.fee);
  assert.ok(prices.every(({ accountNonce }) => accountNonce === 0));
  await rig.pass(40_000);
  assert.equal(session.transferState, 'confirmed');

  const second = await rig.locked();
  chainOf(rig).baseFee = 2_000_000_000_000n;
  await rig.sign(second);
  await rig.pass(120_000, 2000);
  assert.equal(second.transferState, 'submitted_on_chain', 'it waits');
  assert.ok(rig.fiat.transfers.envelopesOf(second.id).every(({ fee }) => fee <= 1_000_000_000_000));
  chainOf(rig).baseFee = 1_000_000_000n;
  await rig.pass(60_000);
  assert.equal(second.transferState, 'confirmed');
});

test('16.21: a transfer that must not be sent leaves no gap behind which others wait', async () => {
  const rig = new FiatRig({ on: 'evm' });
  const given = await signedOut(rig);
  chainOf(rig).forget();
  await rig.provide(given, { status: 'failed' });
  const next = await signedOut(rig);
  await rig.pass(40_000);
  assert.deepEqual([next.transferState, given.transferState], ['confirmed', 'submitted_on_chain']);
  assert.equal(rig.customerMicro, FUNDS_MICRO - AMOUNT_MICRO);
  await rig.pass(1_800_000, 20_000);
  assert.equal(given.transferState, 'expired');
});

test('16.21: a gap below which the highest fee was offered is filled once the node has forgotten it', async () => {
  const rig = new FiatRig({ on: 'evm' });
  chainOf(rig).baseFee = 2_000_000_000_000n;
  await rig.pass(2000);
  const given = await signedOut(rig);
  await rig.provide(given, { status: 'failed' });
  chainOf(rig).forget();
  chainOf(rig).baseFee = 1_000_000_000n;
  await rig.pass(2000);
  const next = await signedOut(rig);
  const offersOf = ({ id }: FiatSession) =>
    rig.fiat.transfers.envelopesOf(id).map(({ accountNonce, fee }) => ({ accountNonce, fee }));
  const highest = [{ accountNonce: 0, fee: HIGHEST_FEE_WEI }];
  assert.deepEqual([offersOf(given), offersOf(next)], [highest, highest]);
  await rig.pass(40_000);
  assert.equal(next.transferState, 'confirmed');
});

test('16.21: a new key of the relayer has its own account nonces, and sends the remaining transfers', async () => {
  const rig = new FiatRig({ on: 'evm' });
  const first = await signedOut(rig);
  await rig.pass(40_000);
  const lost = await signedOut(rig);
  chainOf(rig).forget();
  rig.evm!.relayerKey = `0x${'0b'.repeat(32)}`;
  rig.open();
  const next = await signedOut(rig);
  await rig.pass(120_000, 1000);
  assert.deepEqual(
    [first, lost, next].map((each) => rig.session(each).transferState),
    CONFIRMED,
  );
  assert.deepEqual(
    rig.fiat.transfers.envelopesOf(next.id).map(({ accountNonce }) => accountNonce),
    [0],
  );
  assert.equal(rig.customerMicro, FUNDS_MICRO - 3 * AMOUNT_MICRO);
});

test('16.48: while the chain does not answer, a signature is not kept, and nothing ends', async () => {
  const down = async (): Promise<never> => Promise.reject(new RailDown('timeout'));
  const hooks: RailHooks & { isSignedBy?: () => Promise<boolean> } = {};
  const rig = new FiatRig({ on: 'evm', rail: (rail) => hookedRail(rail, hooks) });
  const session = await rig.locked();
  hooks.isSignedBy = down;
  assert.equal((await rig.authorize(session))?.row.code, 'FIAT_UNAVAILABLE');
  assert.equal(session.transferState, 'waiting_for_wallet');
  delete hooks.isSignedBy;
  assert.equal(await rig.authorize(session), null);
});

test('16.47: USDC that the provider has sent to the wallet completes the session once it is final', async () => {
  const rig = new FiatRig({ on: 'evm', finality: 40 });
  const session = await rig.create('onramp');
  const txHash = await rig.sendFromProvider(AMOUNT_MICRO);
  await rig.provide(session, { status: 'success', txHash });
  await rig.pass(36_000);
  assert.equal(session.status, 'processing');
  await rig.pass(10_000);
  assert.deepEqual([session.status, session.alarm], ['completed', null]);
  assert.equal(rig.books.availableMicro(rig.customer.index), FUNDS_MICRO, 'the books have nothing of it');
});

test('16.47: a payment that a fork has replaced is followed under its new name', async () => {
  const rig = new FiatRig({ on: 'evm', finality: 40 });
  const session = await rig.create('onramp');
  const first = await rig.sendFromProvider(AMOUNT_MICRO);
  await rig.provide(session, { status: 'success', txHash: first });
  await rig.pass(10_000);
  chainOf(rig).reorganise(15);
  chainOf(rig).forget();
  const second = await rig.sendFromProvider(AMOUNT_MICRO);
  await rig.provide(session, { status: 'success', txHash: second });
  await rig.pass(50_000);
  assert.deepEqual([session.status, session.txHash, session.alarm], ['completed', second, null]);
});

test('16.48: an account that may not take money out sends nothing that it has signed', async () => {
  const rig = new FiatRig({ on: 'evm' });
  const session = await rig.locked();
  rig.frozen.add(rig.customer.index);
  await rig.sign(session);
  assert.deepEqual([session.errorCause, session.failureCode], ['broadcast_refused', 'blocked']);
  rig.frozen.clear();
  await rig.pass(1000);
  assert.equal(session.transferState, 'submitted_on_chain');
});

for (let index = 0; index < timesOf(SIMULATIONS); index++) {
  const seed = seedOr(20_260_722) + index;
  test(`16.48: with wrong nodes, forks, lost bytes and restarts each is paid once (seed ${seed})`, async () => {
    await simulate(seed);
  });
}

async function simulate(seed: number): Promise<void> {
  const random = new Random(seed);
  const rig = new FiatRig({ on: 'evm', finality: 40 });
  const ids: string[] = [];
  const chain = chainOf(rig);
  for (let step = 0; step < 60; step++) {
    chain.faults = random.pick([0, 10, 40]);
    const chance = random.below(100);
    if (chance < 20 && ids.length < 5) {
      chain.faults = 0;
      const session = await rig.locked();
      ids.push(session.id);
      await rig.sign(session);
    } else if (chance < 30) chain.reorganise(random.between(1, 30));
    else if (chance < 36) chain.forget();
    else if (chance < 42) chain.useNonceElsewhere(rig.evm!.relayer);
    else if (chance < 50) chain.baseFee = BigInt(random.pick([1, 30, 300])) * 1_000_000_000n;
    else if (chance < 60) rig.open();
    else await rig.pass(random.pick([1000, 5000, 20_000]), 1000);
  }
  chain.faults = 0;
  chain.baseFee = 1_000_000_000n;
  await rig.pass(400_000, 2000);
  for (const id of ids) {
    const session = rig.session({ id });
    const cause = `${session.transferState} ${session.failureCode}`;
    assert.equal(session.transferState, 'confirmed', cause);
    assert.equal((await rig.rail.authorization(session.walletAddress, rig.intent(session).nonce)).state, 'used');
  }
  assert.equal(rig.customerMicro, FUNDS_MICRO - ids.length * AMOUNT_MICRO);
  assert.ok(rig.isConserved);
}
