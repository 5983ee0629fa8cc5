/**
 * Entry point of the spot checker's thread: asks the reference again what shards show of their signature checks
 * (spotCheck.ts), and says what differed. It owns nothing, so it may end at any moment.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { assert } from '../../shared/base/assert.ts';
import { NICE_IDLER, stepBack } from '../../shared/base/background.ts';
import { createKeccak } from '../../shared/crypto/fastKeccak.ts';
import type { SpotMessage, SpotOptions } from '../../shared/wire/threads.ts';
import { nobleVerifier } from './noble.ts';
import { SpotChecker } from './spotCheck.ts';

/** At most one part in so many of a core: a pause after each question is so much longer than the question took. */
const SPOT_SHARE = 20;
const LOOK_EVERY_MS = 250;

assert(parentPort !== null, 'spot checker: runs as a worker thread');
stepBack(NICE_IDLER);
const { spotMemory, shards } = workerData as SpotOptions;
const checker = new SpotChecker(spotMemory, shards, nobleVerifier(await createKeccak()));
/** A cell that no thread notifies: waiting for it is a sleep. */
const sleeper = new Int32Array(new SharedArrayBuffer(4));
for (;;) {
  const startMs = performance.now();
  const difference = checker.next();
  if (difference) parentPort.postMessage({ difference } satisfies SpotMessage);
  const tookMs = performance.now() - startMs;
  Atomics.wait(sleeper, 0, 0, difference === undefined ? LOOK_EVERY_MS : (SPOT_SHARE - 1) * tookMs);
  // For V8's own tasks.
  await nextTurn();
}
