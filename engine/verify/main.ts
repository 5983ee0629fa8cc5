/**
 * Thread entry of a verifier: makes signature checks that busy shards offer (checkBoard.ts), and sleeps when there are
 * none. It owns nothing but what it remembers of signers, so it may end at any moment.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { assert } from '../../shared/assert.ts';
import { createKeccak } from '../../shared/keccak.ts';
import type { VerifierOptions } from '../../shared/threads.ts';
import { cachedNobleVerifier } from './cachedNoble.ts';
import { CheckHelper } from './checkBoard.ts';
import { createVerifier } from './verifier.ts';

/** Only bounds how long a lost wake-up would last. */
const IDLE_WAIT_MS = 1000;

assert(parentPort !== null, 'verifier: runs as a worker thread');
const { checkBoard, verifier } = workerData as VerifierOptions;
const keccak = await createKeccak();
const chosen = createVerifier(verifier, keccak);
const helper = new CheckHelper(checkBoard, chosen.name === 'noble' ? cachedNobleVerifier(keccak) : chosen);
for (;;) if (!helper.help()) helper.rest(IDLE_WAIT_MS);
