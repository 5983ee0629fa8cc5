/**
 * kill -9 between the seven steps of an off-ramp (RULES.md 16.22): another process goes on with the files, and the
 * transfer is carried out once. The suite kills at some of the points, the soak at all of them.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { STRIPPED_BEFORE } from '../../shared/base/stripTypes.ts';
import { temporaryDirectory } from '../support/directory.ts';
import {
  CHAIN_CRASH_POINTS,
  type CrashPoint,
  LEDGER_CRASH_POINTS,
  sessionOfWalk,
  walkOffRamp,
} from '../support/fiatCrashes.ts';
import { chainLeftIn, FiatRig } from '../support/fiatRig.ts';
import { timesOf } from '../support/seeds.ts';

const VICTIM = fileURLToPath(new URL('../support/fiatVictim.ts', import.meta.url));
const AMOUNT_MICRO = 25_000_000;
const FUNDS_MICRO = 1_000_000_000;
/** Longer than the walk of the process that was killed. */
const LATER_MS = 300_000;

type Crash = { readonly on: 'ledger' | 'evm'; readonly point: CrashPoint };

const IN_SUITE: readonly Crash[] = [
  { on: 'ledger', point: 'after the signature was stored' },
  { on: 'ledger', point: 'after the debit' },
  { on: 'evm', point: 'after the envelope was stored' },
  { on: 'evm', point: 'after the broadcast' },
];
const ALL: readonly Crash[] = [
  ...LEDGER_CRASH_POINTS.map((point) => ({ on: 'ledger', point }) as const),
  ...CHAIN_CRASH_POINTS.map((point) => ({ on: 'evm', point }) as const),
];

for (const { on, point } of timesOf({ suite: IN_SUITE, soak: ALL })) {
  test(`16.22: killed ${point} (rail ${on}), the session goes on in another process and is paid once`, async () => {
    const directory = temporaryDirectory();
    const args = [...STRIPPED_BEFORE, VICTIM, directory, on, point];
    const victim = spawn(process.execPath, args, { stdio: 'inherit' });
    const [, signal] = await once(victim, 'exit');
    assert.equal(signal, 'SIGKILL', 'the point was reached');
    const rig = new FiatRig({ directory, on, ...(on === 'evm' ? { evm: await chainLeftIn(directory) } : {}) });
    rig.clock.advance(LATER_MS);
    await walkOffRamp(rig, () => false);
    const session = sessionOfWalk(rig)!;
    assert.equal(session.status, 'completed');
    await rig.pass(1000);
    assert.equal(rig.customerMicro, FUNDS_MICRO - AMOUNT_MICRO);
    assert.equal(rig.providerMicro, FUNDS_MICRO + AMOUNT_MICRO);
    assert.equal(rig.fiat.payer.transactionsOf(session.id).length, 1);
  });
}
