/** The rail in the books of the exchange (RULES.md 16.40 to 16.43): the behaviour of every rail, and its own. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { E } from '../../../../shared/base/errors.ts';
import { cancelDigest } from '../../../../shared/crypto/eip3009.ts';
import { CUSTOMER, customerWallet, FiatRig, PROVIDER, settled, signTransfer } from '../../../support/fiatRig.ts';
import { type RailRig, testRail } from '../../../support/railConformance.ts';

const FUNDS_MICRO = 1_000_000_000;

function railRig(): RailRig {
  const rig = new FiatRig();
  const { ledger: rail } = rig;
  const must = (sent: object): void => {
    if ('fault' in sent) throw new Error(String(sent.fault));
  };
  return {
    rail,
    from: CUSTOMER,
    to: PROVIDER,
    fundsMicro: FUNDS_MICRO,
    nowSec: () => Math.floor(rig.nowMs / 1000),
    sign: (transfer) => signTransfer(rail, transfer),
    signCancel: async (nonce) => {
      const hash = cancelDigest(await rail.domain(), CUSTOMER, nonce) as `0x${string}`;
      return customerWallet.sign({ hash });
    },
    pay: async (transfer, signature) => {
      const sent = await rail.send('transfer', transfer, signature);
      return 'txHash' in sent ? sent.txHash : null;
    },
    send: async (transfer, signature) => must(await rail.send('transfer', transfer, signature)),
    sendCancel: async (nonce, signature) => {
      const nothing = { valueMicro: 0, validAfterSec: 0, validBeforeSec: 0 };
      must(await rail.send('cancel', { from: CUSTOMER, to: CUSTOMER, ...nothing, nonce }, signature));
    },
    mine: async (blocks) => {
      for (let block = 0; block < blocks; block++) await rig.pass(1000);
    },
  };
}

testRail('ledger', railRig);

test('16.42: people cannot pay each other, and no one who is not linked is paid', async () => {
  const rig = new FiatRig();
  const stranger = `0x${'77'.repeat(20)}`;
  const other = `0x${'88'.repeat(20)}`;
  rig.accounts.signUp({ displayName: null, email: null, role: 'user', referralCode: null, wallet: other }, 1);
  for (const to of [stranger, other, CUSTOMER]) {
    const transfer = {
      from: CUSTOMER,
      to,
      valueMicro: 1,
      validAfterSec: 0,
      validBeforeSec: 2_000_000_000,
      nonce: NONCE,
    };
    const signature = await signTransfer(rig.ledger, transfer);
    assert.deepEqual(await rig.ledger.send('transfer', transfer, signature), { fault: 'blocked' });
    assert.equal(await rig.ledger.isReachable(to), false);
  }
});

test('16.41: the domain names the contract of the exchange', async () => {
  const { ledger } = new FiatRig();
  assert.equal((await ledger.domain()).verifyingContract, '0xab27b729d9cc4cb1c00960700446924159e9298d');
});

test('16.40: a debit that the books do not answer holds back finality, and is made once', async () => {
  const rig = new FiatRig();
  rig.books.silence = 'done';
  await rig.sendFromCustomer(5_000_000);
  await rig.pass(10_000);
  const { block, finalizedBlock } = await rig.ledger.head();
  assert.ok(finalizedBlock < block - 5, 'a block with an undecided transaction is not final');
  rig.open();
  rig.books.silence = 'none';
  await rig.pass(40_000);
  assert.equal(rig.books.availableMicro(rig.customer.index), FUNDS_MICRO - 5_000_000);
  assert.equal(rig.books.availableMicro(rig.company.index), FUNDS_MICRO + 5_000_000);
  assert.ok(rig.isConserved);
});

test('16.44: arrivals are listed in the order of their blocks, page by page', async () => {
  const rig = new FiatRig();
  const hashes: string[] = [];
  for (const valueMicro of [1, 2, 3]) {
    hashes.push(await rig.sendFromCustomer(valueMicro));
    await rig.pass(2000);
  }
  await settled();
  const first = rig.ledger.arrivals(rig.company.index, '', 2);
  const rest = rig.ledger.arrivals(rig.company.index, first.cursor, 2);
  assert.deepEqual(
    [...first.arrivals, ...rest.arrivals].map(({ txHash }) => txHash),
    hashes,
  );
  const end = rig.ledger.arrivals(rig.company.index, rest.cursor, 2);
  assert.deepEqual([end.arrivals, end.cursor], [[], rest.cursor]);
  assert.deepEqual(rig.ledger.arrivals(rig.customer.index, '', 2).arrivals, []);
});

test('16.44: an arrival that the books answer late is in no page before the cursor', async () => {
  const rig = new FiatRig();
  rig.books.silence = 'done';
  const late = await rig.sendFromCustomer(1);
  await rig.pass(2000);
  rig.books.silence = 'none';
  // The first one is asked again by the tick that carries out the second.
  const move = rig.books.move.bind(rig.books);
  rig.books.move = async (account, kind, amountMicro, reference) =>
    amountMicro === 1 ? { movement: null, code: E.OUTCOME_UNKNOWN } : move(account, kind, amountMicro, reference);
  const early = await rig.sendFromCustomer(2);
  await rig.pass(2000);
  const first = rig.ledger.arrivals(rig.company.index, '', 10);
  rig.books.move = move;
  await rig.pass(2000);
  const rest = rig.ledger.arrivals(rig.company.index, first.cursor, 10);
  assert.deepEqual(
    [...first.arrivals, ...rest.arrivals].map(({ txHash }) => txHash),
    [late, early],
  );
});

test('16.43: a transfer without the USDC for it is refused, and makes no row', async () => {
  const rig = new FiatRig();
  await assert.rejects(rig.sendFromCustomer(FUNDS_MICRO + 1), { message: 'insufficient_balance' });
  assert.deepEqual([...rig.rows.open()], []);
});

const NONCE = `0x${'09'.repeat(32)}`;
