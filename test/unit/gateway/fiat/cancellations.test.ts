/** The bounds of cancellations on the ledger rail, which cost an account nothing (RULES.md 16.43). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RailTransactions } from '../../../../gateway/fiat/railTransactionsStore.ts';
import { cancelDigest } from '../../../../shared/crypto/eip3009.ts';
import { CUSTOMER, customerWallet, FiatRig, PROVIDER, signTransfer } from '../../../support/fiatRig.ts';

const [MOST, ENDLESS] = [200, 50];
const nonceOf = (index: number): string => `0x${index.toString(16).padStart(64, '0')}`;

async function signCancel(rig: FiatRig, nonce: string): Promise<string> {
  return customerWallet.sign({ hash: cancelDigest(await rig.ledger.domain(), CUSTOMER, nonce) as `0x${string}` });
}

/** @param forSec how long the authorization could still be used; 0: nothing is said of that */
async function cancel(rig: FiatRig, index: number, forSec: number, signature?: string): Promise<string | null> {
  const validBeforeSec = forSec === 0 ? 0 : Math.floor(rig.nowMs / 1000) + forSec;
  const fields = {
    from: CUSTOMER,
    to: CUSTOMER,
    valueMicro: 0,
    validAfterSec: 0,
    validBeforeSec,
    nonce: nonceOf(index),
  };
  const sent = await rig.ledger.send('cancel', fields, signature ?? (await signCancel(rig, fields.nonce)));
  return 'fault' in sent ? sent.fault : null;
}

function rowsOf(rig: FiatRig): number {
  return rig.database.prepare<[], number>('SELECT count(*) FROM rail_transactions').pluck().get()!;
}

test('an account has a bounded number of cancellations, each deleted once it has nothing to cancel', async () => {
  const rig = new FiatRig();
  for (let index = 0; index < MOST; index++) {
    assert.equal(await cancel(rig, index, 600), null);
    if (index % 32 === 31) await rig.pass(1000);
  }
  assert.equal(await cancel(rig, MOST, 600), 'too_many_cancellations');
  assert.equal(rowsOf(rig), MOST);
  assert.equal((await rig.ledger.authorization(CUSTOMER, nonceOf(MOST - 1))).state, 'unused', 'not in a block yet');
  await rig.pass(2000);
  assert.equal((await rig.ledger.authorization(CUSTOMER, nonceOf(MOST - 1))).state, 'cancelled');
  rig.open();
  assert.equal(await cancel(rig, MOST, 600), 'too_many_cancellations', 'after a restart too');
  await rig.pass(620_000, 10_000);
  assert.equal(rowsOf(rig), 0);
  assert.equal(new RailTransactions(rig.database).cancelledBy(rig.customer.index).all, 0);
  assert.equal(await cancel(rig, MOST, 600), null);
});

test('a cancellation without an end is kept for ever, and their number is bounded', async () => {
  const rig = new FiatRig();
  for (let index = 0; index < ENDLESS; index++) assert.equal(await cancel(rig, index, 0), null);
  assert.equal(await cancel(rig, ENDLESS, 0), 'too_many_cancellations');
  assert.equal(await cancel(rig, ENDLESS, 600), null);
  await rig.pass(900_000, 10_000);
  assert.equal(rowsOf(rig), ENDLESS);
  const transfer = {
    from: CUSTOMER,
    to: PROVIDER,
    valueMicro: 1,
    validAfterSec: 0,
    validBeforeSec: 2e9,
    nonce: nonceOf(0),
  };
  const sent = await rig.ledger.send('transfer', transfer, await signTransfer(rig.ledger, transfer));
  assert.deepEqual(sent, { fault: 'nonce_used' });
});

test('a wrong signature, a nonce that is used and an authorization that is over leave no row', async () => {
  const rig = new FiatRig();
  const wrong = await signCancel(rig, nonceOf(99));
  assert.equal(await cancel(rig, 1, 600, wrong), 'signature');
  assert.equal(await cancel(rig, 1, -1), 'not_in_time');
  assert.equal(rowsOf(rig), 0);
  assert.equal(await cancel(rig, 1, 600), null);
  assert.equal(await cancel(rig, 1, 601), null, 'until one of them is in a block');
  await rig.pass(2000);
  assert.equal(await cancel(rig, 1, 602), 'nonce_used');
  assert.equal(rowsOf(rig), 1, 'the other one is gone');
});

test('a signature is verified once, and a turn continues a bounded number of transactions', async () => {
  const rig = new FiatRig();
  for (let index = 0; index < 100; index++) assert.equal(await cancel(rig, index, 600), null);
  assert.equal(rig.verified, 100);
  rig.clock.advance(1000);
  const mined = (): number =>
    rig.database.prepare<[], number>("SELECT count(*) FROM rail_transactions WHERE state = 'mined'").pluck().get()!;
  const steps: number[] = [];
  for (let turn = 0; turn < 5; turn++) {
    await rig.tick();
    steps.push(mined());
  }
  assert.deepEqual(steps, [32, 64, 96, 100, 100]);
  assert.equal(rig.verified, 100);
});

test('an honest customer cancels five authorizations a minute, for as long as it likes', async () => {
  const rig = new FiatRig();
  for (let index = 0; index < 220; index++) {
    assert.equal(await cancel(rig, index, 600), null);
    if (index % 5 === 4) await rig.pass(60_000, 10_000);
  }
});

test('a turn checks a bounded number of open rows, and every row gets its turn', () => {
  const rig = new FiatRig();
  const rows = new RailTransactions(rig.database);
  const account = rig.customer.index;
  const ofAccount = { fromAccount: account, toAccount: account, accountNonce: null, fee: 0 };
  const fields = { from: CUSTOMER, to: CUSTOMER, valueMicro: 0, validAfterSec: 0, validBeforeSec: 0, signature: '0x' };
  const later = { reason: null, blockMs: null, reference: null, creditedMs: null };
  const row = { ...ofAccount, ...fields, ...later, kind: 'cancel', state: 'pending', receivedMs: rig.nowMs } as const;
  const add = (index: number): void => rows.add({ ...row, txHash: `0x${index}`, nonce: nonceOf(index) });
  for (let index = 0; index < 3; index++) add(index);
  for (let turn = 0; turn < 2; turn++) assert.equal(rows.nextOpen().length, 3, 'all of them in every turn');
  for (let index = 3; index < 1300; index++) add(index);
  const seen = [0, 1, 2].map(() => rows.nextOpen().map(({ txHash }) => txHash));
  assert.deepEqual(
    seen.map(({ length }) => length),
    [512, 512, 276],
  );
  assert.equal(new Set(seen.flat()).size, 1300);
  assert.equal(rows.nextOpen()[0]!.txHash, '0x0');
});
