/**
 * Entry point of a verifier thread: makes the signature checks that busy shards offer (checkBoard.ts), and sleeps while
 * there are none. It owns nothing but the keys of signers that it has met, so it may end at any moment.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { assert } from '../../shared/base/assert.ts';
import { createKeccak } from '../../shared/crypto/fastKeccak.ts';
import type { VerifierOptions } from '../../shared/wire/threads.ts';
import { CheckHelper } from './checkBoard.ts';
import { createVerifier } from './createVerifier.ts';

/** Limits the delay if a wake-up is lost. */
const IDLE_WAIT_MS = 1000;

assert(parentPort !== null, 'verifier: runs as a worker thread');
const { checkBoard, verifier }: VerifierOptions = workerData;
const helper = new CheckHelper(checkBoard, createVerifier(verifier, await createKeccak()));
for (;;) {
  if (helper.help()) continue;
  helper.sleep(IDLE_WAIT_MS);
  // Lets V8 run its own tasks. Checks make no native objects, so a verifier that is never idle needs no such turn.
  await nextTurn();
}
