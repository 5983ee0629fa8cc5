/**
 * What a start looks into and waits for, between the shards' being READY and the first request that is taken.
 * Owner: the gateway thread.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../shared/clock.ts';
import type { Progress } from '../shared/progress.ts';
import { type ContractBook, describe, isSameSigning } from './control/contracts.ts';
import { type CatchUpOptions, catchUp } from './idempotency/catchUp.ts';
import type { Logger } from './log.ts';
import { StartError } from './startError.ts';
import type { Views } from './views/index.ts';

/** How long a start waits for the keys of the last process; beyond it only requests with a key wait. */
const KEYS_WAIT_MS = 5000;
/** How long a start waits for the read model before it goes on with volumes that are still growing. */
const READ_MODEL_WAIT_MS = 1000;

/**
 * Whoever put back an older control.db, or an older journal, would have clients sign for what is refused.
 * @param told by shard, what its journal ends with; null is what shards begin with.
 */
export function requireContracts({ first, current, pending }: ContractBook, told: Views['contracts']): void {
  if (pending !== null) return;
  for (const [shard, contracts] of told.entries()) {
    const known = contracts === null ? first : { chainId: contracts.chainId, exchange: contracts.exchangeAddress };
    if (isSameSigning(known, current)) continue;
    const [mine, journal] = [describe(current), describe(known)];
    throw new StartError(`control.db is for the contract ${mine}, the journal of shard ${shard} for ${journal}`);
  }
}

/**
 * The last process took its nonces with it, so nothing signed up to the second it may have ended in is accepted; from
 * the next second on everything that is signed now is.
 */
export async function nonceWindow(startedSec: number, clock: Clock): Promise<void> {
  const waitMs = (startedSec + 1) * 1000 - clock.nowMs();
  if (waitMs > 0) await sleep(waitMs);
}

/** Until it is done, which may be later, requests with a key are told to come again. */
export function firstKeys({ log, ...options }: CatchUpOptions & { readonly log: Logger }): Promise<void> {
  const done = catchUp(options).catch((error) => log.error({ err: error }, 'idempotency keys could not be read'));
  return Promise.race([done, sleep(KEYS_WAIT_MS, undefined, { ref: false })]);
}

/** That it shows what the shards have recovered, or soon will. */
export async function readModel(progress: Progress): Promise<void> {
  const waits: Promise<boolean>[] = [];
  for (let shard = 0; shard < progress.shards; shard++) {
    waits.push(progress.awaitProjected(shard, progress.committed(shard), READ_MODEL_WAIT_MS));
  }
  await Promise.all(waits);
}
