/**
 * Entry point of a verifier thread: makes the signature checks that busy shards offer (checkBoard.ts), and sleeps while
 * there are none. It owns nothing but the keys of signers it has met, so it may end at any moment.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { assert } from '../../shared/base/assert.ts';
import { createKeccak } from '../../shared/crypto/fastKeccak.ts';
import type { VerifierOptions } from '../../shared/wire/threads.ts';
import { CheckHelper } from './checkBoard.ts';
import { createVerifier } from './createVerifier.ts';

/** Bounds the harm of a wake-up that is lost. */
const IDLE_WAIT_MS = 1000;

assert(parentPort !== null, 'verifier: runs as a worker thread');
const { checkBoard, verifier } = workerData as VerifierOptions;
const helper = new CheckHelper(checkBoard, createVerifier(verifier, await createKeccak()));
for (;;) if (!helper.help()) helper.sleep(IDLE_WAIT_MS);
