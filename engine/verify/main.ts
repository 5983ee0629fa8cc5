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
import { SharedTables } from './sharedTables.ts';
import { createVerifier } from './verifier.ts';

/** Only bounds how long a lost wake-up would last. */
const IDLE_WAIT_MS = 1000;

assert(parentPort !== null, 'verifier: runs as a worker thread');
const { checkBoard, signerTables, verifier } = workerData as VerifierOptions;
const keccak = await createKeccak();
const chosen = createVerifier(verifier, keccak);
const shared = signerTables === null ? undefined : new SharedTables(signerTables);
const own = chosen.name === 'noble' ? cachedNobleVerifier(keccak, { shared }) : chosen;
const helper = new CheckHelper(checkBoard, own);
for (;;) if (!helper.help()) helper.rest(IDLE_WAIT_MS);
