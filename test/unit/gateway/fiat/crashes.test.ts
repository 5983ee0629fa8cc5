/**
 * A crash between each pair of the seven steps (RULES.md 16.22): control.db as the process left it is opened again, and
 * the session goes on to its end. The file is copied at the moment of the crash, as kill -9 leaves it, because what was
 * written stays with the system; test/fault/fiat.test.ts kills the process itself.
 */
import assert from 'node:assert/strict';
import { copyFileSync } from 'node:fs';
import { test } from 'node:test';
import {
  CHAIN_CRASH_POINTS,
  crashAt,
  LEDGER_CRASH_POINTS,
  sessionOfWalk,
  walkOffRamp,
} from '../../../support/fiatCrashes.ts';
import { FiatRig } from '../../../support/fiatRig.ts';

const AMOUNT_MICRO = 25_000_000;
const FUNDS_MICRO = 1_000_000_000;

const cases = [
  ...LEDGER_CRASH_POINTS.map((point) => ({ on: 'ledger', point }) as const),
  ...CHAIN_CRASH_POINTS.map((point) => ({ on: 'evm', point }) as const),
];

for (const { on, point } of cases) {
  test(`16.22: ${on} rail: after a crash ${point} the session goes on, and is paid once`, async () => {
    const rig = new FiatRig({ on });
    const left = `${rig.path}.left`;
    let isGone = false;
    let isBack = false;
    crashAt(rig, point, () => {
      if (isBack) return;
      if (!isGone) for (const end of ['', '-wal']) copyFileSync(rig.path + end, left + end);
      isGone = true;
      throw new Error('the process has ended');
    });
    await walkOffRamp(rig, () => isGone);
    assert.ok(isGone, 'the point was reached');
    isBack = true;
    rig.open(left);
    await walkOffRamp(rig, () => false);
    const session = sessionOfWalk(rig)!;
    assert.equal(session.status, 'completed');
    await rig.pass(1000);
    assert.equal(rig.customerMicro, FUNDS_MICRO - AMOUNT_MICRO);
    assert.equal(rig.providerMicro, FUNDS_MICRO + AMOUNT_MICRO);
    assert.equal(rig.fiat.payer.transactionsOf(session.id).length, 1);
    assert.deepEqual(rig.fiat.webhooks.waiting(), []);
  });
}
