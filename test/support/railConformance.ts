/** The tests that every rail passes (gateway/fiat/rail.ts): a new one calls this with a rig of its own. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { carriesOut, type Rail, type RelayRail } from '../../gateway/fiat/rail.ts';
import { CONFIRMATIONS } from '../../shared/chain/depth.ts';
import type { TransferAuthorization } from '../../shared/crypto/eip3009.ts';

export type RailRig<R extends Rail = Rail> = {
  readonly rail: R;
  /** A wallet with the funds, and an address that can be paid. */
  readonly from: string;
  readonly to: string;
  readonly fundsMicro: number;
  readonly nowSec: () => number;
  sign(transfer: TransferAuthorization): Promise<string>;
  signCancel(nonce: string): Promise<string>;
  /** Sends as the exchange does. @returns the hash; null if the rail refuses it */
  pay(transfer: TransferAuthorization, signature: string): Promise<string | null>;
  /** Sends without the exchange, as anybody can. */
  send(transfer: TransferAuthorization, signature: string): Promise<void>;
  sendCancel(nonce: string, signature: string): Promise<void>;
  mine(blocks: number): Promise<void>;
};

const HOUR_SEC = 3600;

export function testRail(name: string, makeRig: () => Promise<RailRig> | RailRig): void {
  const on = (title: string, check: (rig: RailRig) => Promise<void>): void => {
    test(`${name} rail: ${title}`, async () => check(await makeRig()));
  };
  testAuthorizations(on);
}

/** The tests of a rail whose transactions have nonces and prices, beside those of every rail. */
export function testRelayRail(name: string, makeRig: () => Promise<Omit<RailRig<RelayRail>, 'pay'>>): void {
  const withPay = async (): Promise<RailRig<RelayRail>> => {
    const rig = await makeRig();
    return { ...rig, pay: (transfer, signature) => payByEnvelope(rig.rail, transfer, signature) };
  };
  testRail(name, withPay);
  testEnvelopes((title, check) => {
    test(`${name} rail: ${title}`, async () => check(await withPay()));
  });
}

async function payByEnvelope(rail: RelayRail, transfer: TransferAuthorization, signature: string): Promise<string> {
  const [accountNonce, fee] = [await rail.accountNonce(), await rail.fee()];
  const envelope = await rail.envelope({ accountNonce, fee, replaced: null, transfer, signature });
  assert.equal(await rail.broadcast(envelope.signed), 'accepted');
  return envelope.txHash;
}

type On<R extends Rail = Rail> = (title: string, check: (rig: RailRig<R>) => Promise<void>) => void;

function testAuthorizations(on: On): void {
  on('a transfer that the relayer sends is carried out, with confirmations and finality', async (rig) => {
    const { transfer, txHash } = await relay(rig, { valueMicro: 7_000_000 });
    assert.equal((await rig.rail.transaction(txHash))?.status, 'pending');
    await rig.mine(1);
    const mined = await rig.rail.transaction(txHash);
    assert.ok(carriesOut(mined, transfer));
    assert.equal(mined!.transfers[0]!.nonce, transfer.nonce);
    assert.deepEqual(await rig.rail.authorization(rig.from, transfer.nonce), {
      state: 'used',
      txHash,
      block: mined!.block,
    });
    assert.equal(await rig.rail.balanceMicro(rig.from), rig.fundsMicro - 7_000_000);
    await rig.mine(CONFIRMATIONS);
    const head = await rig.rail.head();
    assert.ok(head.block - mined!.block! + 1 >= CONFIRMATIONS && head.finalizedBlock >= mined!.block!);
    assert.equal(await rig.rail.creditDeposit(txHash, rig.to, 'test:1'), 7_000_000);
  });

  on('a nonce is used once, by whatever transaction', async (rig) => {
    const { transfer, signature } = await relay(rig, { valueMicro: 1_000_000 });
    await rig.mine(1);
    await rig.send(transfer, signature).catch(() => {});
    await rig.mine(2);
    assert.equal(await rig.rail.balanceMicro(rig.from), rig.fundsMicro - 1_000_000);
    assert.equal(await rig.rail.preflight(transfer, signature), 'nonce_used');
  });

  on('the same authorization of two senders in one block is carried out once', async (rig) => {
    const { transfer, signature } = await relay(rig, { valueMicro: 1_000_000 });
    await rig.send(transfer, signature);
    await rig.mine(3);
    assert.equal((await rig.rail.authorization(rig.from, transfer.nonce)).state, 'used');
    assert.equal(await rig.rail.balanceMicro(rig.from), rig.fundsMicro - 1_000_000);
  });

  on('the bounds of the time are strict on both sides', async (rig) => {
    const nowSec = rig.nowSec();
    const faultWith = async (validAfterSec: number, validBeforeSec: number) => {
      const transfer = makeTransfer(rig, { validAfterSec, validBeforeSec });
      return rig.rail.preflight(transfer, await rig.sign(transfer));
    };
    assert.equal(await faultWith(nowSec - 1, nowSec + HOUR_SEC), null);
    assert.equal(await faultWith(nowSec, nowSec + HOUR_SEC), 'not_in_time');
    assert.equal(await faultWith(0, nowSec), 'not_in_time');
    assert.equal(await faultWith(0, nowSec + 1), null);
  });

  on('a cancelled nonce is useless, and says that it was cancelled', async (rig) => {
    const transfer = makeTransfer(rig, {});
    await rig.sendCancel(transfer.nonce, await rig.signCancel(transfer.nonce));
    await rig.mine(2);
    assert.equal((await rig.rail.authorization(rig.from, transfer.nonce)).state, 'cancelled');
    const txHash = await rig.pay(transfer, await rig.sign(transfer));
    await rig.mine(2);
    if (txHash !== null) assert.equal((await rig.rail.transaction(txHash))?.status, 'reverted');
    assert.equal(await rig.rail.balanceMicro(rig.from), rig.fundsMicro);
  });
}

function testEnvelopes(on: On<RelayRail>): void {
  testRefusals(on);

  on(
    'an account nonce is taken in turn; a replacement needs a higher fee, and one of two is carried out',
    async (rig) => {
      const { rail } = rig;
      const [low, high] = [makeTransfer(rig, { valueMicro: 1 }), makeTransfer(rig, { valueMicro: 2 })];
      const fee = await rail.fee();
      const envelopeOf = async (
        transfer: TransferAuthorization,
        price: number,
        { accountNonce = 0, replaced = null }: { accountNonce?: number; replaced?: string | null } = {},
      ) => rail.envelope({ accountNonce, fee: price, replaced, transfer, signature: await rig.sign(transfer) });
      const bumped = rail.bumpedFee(fee)!;
      const first = await envelopeOf(low, fee);
      assert.equal(await rail.broadcast(first.signed), 'accepted');
      assert.equal(await rail.broadcast(first.signed), 'accepted', 'the same bytes again');
      assert.equal(await rail.broadcast((await envelopeOf(high, fee)).signed), 'underpriced');
      const replacing = await envelopeOf(high, bumped, { replaced: first.signed });
      assert.equal(await rail.broadcast(replacing.signed), 'accepted');
      const later = await envelopeOf(makeTransfer(rig, { valueMicro: 4 }), fee, { accountNonce: 2 });
      assert.equal(await rail.broadcast(later.signed), 'accepted');
      await rig.mine(2);
      assert.equal(await rail.balanceMicro(rig.from), rig.fundsMicro - 2);
      assert.equal((await rail.transaction(later.txHash))?.status, 'pending', 'the nonce before it is missing');
      assert.equal(await rail.accountNonce(), 1);
      assert.equal(await rail.broadcast((await envelopeOf(low, bumped * 9)).signed), 'nonce_too_low');
    },
  );

  on('bytes that are not whole are refused', async (rig) => {
    const transfer = makeTransfer(rig, {});
    const signature = await rig.sign(transfer);
    const { signed } = await rig.rail.envelope({ accountNonce: 0, fee: 1, replaced: null, transfer, signature });
    assert.equal(await rig.rail.broadcast(`${signed.slice(0, -2)}00`), 'refused');
  });
}

function testRefusals(on: On<RelayRail>): void {
  on('another signature, another amount and too much money move nothing', async (rig) => {
    const transfer = makeTransfer(rig, {});
    const signature = await rig.sign(transfer);
    assert.equal(await rig.rail.preflight({ ...transfer, valueMicro: 2 }, signature), 'signature');
    const all = makeTransfer(rig, { valueMicro: rig.fundsMicro + 1 });
    assert.equal(await rig.rail.preflight(all, await rig.sign(all)), 'insufficient_balance');
    const { txHash } = await relay(rig, all);
    await rig.mine(2);
    const reverted = await rig.rail.transaction(txHash);
    assert.deepEqual([reverted?.status, reverted?.transfers], ['reverted', []]);
    assert.equal((await rig.rail.authorization(rig.from, all.nonce)).state, 'unused', 'the nonce is still good');
  });

  on('a second transaction with a used nonce is reverted', async (rig) => {
    const { transfer, signature } = await relay(rig, { valueMicro: 1_000_000 });
    await rig.mine(1);
    const terms = { accountNonce: 1, fee: await rig.rail.fee(), replaced: null };
    const again = await rig.rail.envelope({ ...terms, transfer, signature });
    await rig.rail.broadcast(again.signed);
    await rig.mine(2);
    assert.equal((await rig.rail.transaction(again.txHash))?.status, 'reverted');
    assert.equal(await rig.rail.balanceMicro(rig.from), rig.fundsMicro - 1_000_000);
  });
}

function makeTransfer(rig: RailRig, fields: Partial<TransferAuthorization>): TransferAuthorization {
  const nonce = `0x${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('hex')}`;
  const times = { validAfterSec: 0, validBeforeSec: rig.nowSec() + HOUR_SEC };
  return { from: rig.from, to: rig.to, valueMicro: 1_000_000, ...times, nonce, ...fields };
}

async function relay(rig: RailRig, fields: Partial<TransferAuthorization>) {
  const transfer = makeTransfer(rig, fields);
  const signature = await rig.sign(transfer);
  const txHash = await rig.pay(transfer, signature);
  assert.ok(txHash !== null);
  return { transfer, signature, txHash };
}
