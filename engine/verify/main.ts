/**
 * Entry point of a verifier thread: makes the signature checks that busy shards offer (checkBoard.ts), and sleeps while
 * there are none. It owns nothing but its cache of signers, so it may end at any moment.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { assert } from '../../shared/base/assert.ts';
import { createKeccak } from '../../shared/crypto/fastKeccak.ts';
import type { VerifierOptions } from '../../shared/wire/threads.ts';
import { CachedNobleVerifier } from './cachedNoble.ts';
import { CheckHelper } from './checkBoard.ts';
import { createVerifier } from './createVerifier.ts';
import { SharedTables } from './sharedTables.ts';

/** Bounds the harm of a wake-up that is lost. */
const IDLE_WAIT_MS = 1000;

assert(parentPort !== null, 'verifier: runs as a worker thread');
const { checkBoard, signerTables, verifier } = workerData as VerifierOptions;
const keccak = await createKeccak();
const chosen = createVerifier(verifier, keccak);
const shared = signerTables === null ? undefined : new SharedTables(signerTables);
const own = chosen.name === 'noble' ? new CachedNobleVerifier(keccak, { shared }) : chosen;
const helper = new CheckHelper(checkBoard, own);
for (;;) if (!helper.help()) helper.sleep(IDLE_WAIT_MS);
