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
import { CRASH_POINTS, type CrashPoint, sessionOfWalk, walkOffRamp } from '../support/fiatCrashes.ts';
import { FiatRig } from '../support/fiatRig.ts';

const VICTIM = fileURLToPath(new URL('../support/fiatVictim.ts', import.meta.url));
const AMOUNT_MICRO = 25_000_000;
const FUNDS_MICRO = 1_000_000_000;
/** Longer than the walk of the process that was killed. */
const LATER_MS = 300_000;
const IN_SUITE: readonly CrashPoint[] = ['after the signature was stored', 'after the broadcast', 'after the debit'];
const points = process.env['SOAK'] === 'on' ? CRASH_POINTS : IN_SUITE;

for (const point of points) {
  test(`16.22: killed ${point}, the session goes on in another process and is paid once`, async () => {
    const directory = temporaryDirectory();
    const victim = spawn(process.execPath, [...STRIPPED_BEFORE, VICTIM, directory, point], { stdio: 'inherit' });
    const [, signal] = await once(victim, 'exit');
    assert.equal(signal, 'SIGKILL', 'the point was reached');
    const rig = new FiatRig({ directory });
    rig.clock.advance(LATER_MS);
    await walkOffRamp(rig, () => false);
    const session = sessionOfWalk(rig)!;
    assert.equal(session.status, 'completed');
    await rig.pass(1000);
    assert.equal(rig.books.availableMicro(rig.customer.index), FUNDS_MICRO - AMOUNT_MICRO);
    assert.equal(rig.books.availableMicro(rig.company.index), FUNDS_MICRO + AMOUNT_MICRO);
    assert.equal(rig.fiat.transfers.envelopesOf(session.id).length, 1);
  });
}
