/**
 * Entry point of the spot checker's thread: asks the reference again about the signature checks that shards pass to it
 * (spotCheck.ts), and reports differences. It owns nothing, so it may end at any moment.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { assert } from '../../shared/base/assert.ts';
import { NICE_IDLER, stepBack } from '../../shared/base/background.ts';
import { createKeccak } from '../../shared/crypto/fastKeccak.ts';
import type { SpotMessage, SpotOptions } from '../../shared/wire/threads.ts';
import { nobleVerifier } from './noble.ts';
import { SpotChecker } from './spotCheck.ts';

/** At most one part in so many of a core: a pause follows each question. */
const SPOT_SHARE = 20;
const LOOK_EVERY_MS = 250;

assert(parentPort !== null, 'spot checker: runs as a worker thread');
stepBack(NICE_IDLER);
const { spotMemory, shards }: SpotOptions = workerData;
const checker = new SpotChecker(spotMemory, shards, nobleVerifier(await createKeccak()));
/** No thread notifies this cell, so waiting for it is a sleep. */
const sleeper = new Int32Array(new SharedArrayBuffer(4));
for (;;) {
  const startMs = performance.now();
  const difference = checker.next();
  if (difference) parentPort.postMessage({ difference } satisfies SpotMessage);
  const tookMs = performance.now() - startMs;
  Atomics.wait(sleeper, 0, 0, difference === undefined ? LOOK_EVERY_MS : (SPOT_SHARE - 1) * tookMs);
  // Lets V8 run its own tasks.
  await nextTurn();
}
