/**
 * A crash between each pair of the seven steps (RULES.md 16.22): control.db as the process left it is opened again, and
 * the session goes on to its end. The file is copied at the moment of the crash, as kill -9 leaves it, because what was
 * written stays with the system; test/fault/fiat.test.ts kills the process itself.
 */
import assert from 'node:assert/strict';
import { copyFileSync } from 'node:fs';
import { test } from 'node:test';
import { CRASH_POINTS, crashAt } from '../../../support/fiatCrashes.ts';
import { FiatRig } from '../../../support/fiatRig.ts';

const AMOUNT_MICRO = 25_000_000;
const FUNDS_MICRO = 1_000_000_000;
const KEY = '0190a0b0-c0d0-7000-8000-0000000000af';

for (const point of CRASH_POINTS) {
  test(`16.22: after a crash ${point} the session goes on, and is paid once`, async () => {
    const rig = new FiatRig();
    const left = `${rig.path}.left`;
    let isGone = false;
    let isBack = false;
    crashAt(rig, point, () => {
      if (isBack) return;
      if (!isGone) for (const end of ['', '-wal']) copyFileSync(rig.path + end, left + end);
      isGone = true;
      throw new Error('the process has ended');
    });
    await walk(rig, () => isGone);
    assert.ok(isGone, 'the point was reached');
    isBack = true;
    rig.open(left);
    await walk(rig, () => false);
    const session = rig.fiat.sessions.ofKey(rig.customer.index, KEY)!;
    assert.equal(session.status, 'completed');
    await rig.pass(1000);
    assert.equal(rig.books.availableMicro(rig.customer.index), FUNDS_MICRO - AMOUNT_MICRO);
    assert.equal(rig.books.availableMicro(rig.company.index), FUNDS_MICRO + AMOUNT_MICRO);
    assert.equal(rig.fiat.transfers.envelopesOf(session.id).length, 1);
    assert.deepEqual(rig.fiat.webhooks.waiting(), []);
  });
}

/** A person who begins, signs and comes back, and a provider, whatever of it has happened before. */
async function walk(rig: FiatRig, isOver: () => boolean): Promise<void> {
  for (let round = 0; round < 80 && !isOver(); round++) {
    try {
      if (await takeStep(rig)) return;
    } catch (error) {
      if (!isOver()) throw error;
    }
  }
}

/** @returns true when there is nothing left to do. */
async function takeStep(rig: FiatRig): Promise<boolean> {
  const session = rig.fiat.sessions.ofKey(rig.customer.index, KEY);
  if (session === undefined || session.status === 'initiated') {
    await rig.create('offramp', { idempotencyKey: KEY });
    return false;
  }
  if (session.transferState === 'awaiting_provider') await rig.provide(session, {});
  else if (session.transferState === 'waiting_for_wallet') await rig.sign(session);
  else if (session.transferState === 'confirmed') {
    rig.provider.set(session.partnerReference, rig.rowOf(session, { status: 'success', txHash: session.txHash }));
    const event = { provider: 'fake', eventId: 'e1', partnerReference: session.partnerReference };
    rig.fiat.webhooks.add(event, Buffer.from('{}'), rig.nowMs);
  }
  await rig.pass(1000);
  return session.status === 'completed';
}
