/**
 * The checks and waits of a start, from the moment all shards are READY to the first accepted request; and the answers
 * to probes.
 * Owner: the gateway thread.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Readiness } from '../../shared/api/platform.ts';
import type { Clock } from '../../shared/base/clock.ts';
import type { Progress } from '../../shared/wire/progress.ts';
import type { Logger } from '../base/log.ts';
import type { MemberRole } from '../base/memberRole.ts';
import { StartError } from '../base/startError.ts';
import { type ContractStore, describe, isSameSigning } from '../markets/contracts.ts';
import { type CatchUpOptions, catchUp } from '../shardlink/keyCatchUp.ts';
import type { Views } from '../shardlink/views.ts';
import type { ClockWatch } from './clockWatch.ts';
import type { Lifecycle } from './lifecycle.ts';

const UNCOUNTED = 'Redis does not count: limited requests are refused, except cancels and heartbeats';
const UNSETTLED = 'settlement is unhealthy: orders are refused';
/** A start waits this long for the idempotency keys of the last process; after that only requests with a key wait. */
const KEYS_WAIT_MS = 5000;
const SAY_EVERY_MS = 10_000;
/** A start waits this long for the read model; after that it continues with volumes that are still growing. */
const READ_MODEL_WAIT_MS = 1000;

/**
 * Refuses the start if control.db and a journal are for different contracts, as after one of them was restored from an
 * older backup: clients would sign for contracts that the shard refuses.
 * @param journaled by shard, the contracts at the end of its journal; null: the contracts that shards are started with
 */
export function requireContracts({ first, current, pending }: ContractStore, journaled: Views['contracts']): void {
  if (pending !== null) return;
  for (const [shard, contracts] of journaled.entries()) {
    const known = contracts === null ? first : { chainId: contracts.chainId, exchange: contracts.exchangeAddress };
    if (isSameSigning(known, current)) continue;
    const [mine, journal] = [describe(current), describe(known)];
    throw new StartError(`control.db is for the contract ${mine}, the journal of shard ${shard} for ${journal}`);
  }
}

/**
 * The nonces of the last process are lost, so requests signed up to the second in which it may have ended are refused.
 * This waits for the next second; signatures made from then on are accepted.
 */
export async function awaitNonceWindow(startedSec: number, clock: Clock): Promise<void> {
  const waitMs = (startedSec + 1) * 1000 - clock.nowMs();
  if (waitMs > 0) await sleep(waitMs);
}

/** Looks up the idempotency keys of the last process. That may take longer: until then requests with a key are busy. */
export function awaitFirstKeys({ log, ...options }: CatchUpOptions & { readonly log: Logger }): Promise<void> {
  const done = catchUp(options).catch((error) =>
    log.error({ err: error }, 'the idempotency keys of the last process could not be read'),
  );
  return Promise.race([done, sleep(KEYS_WAIT_MS, undefined, { ref: false })]);
}

/**
 * Waits until the read model shows what the shards have recovered, and the catalogue up to this revision, or until
 * READ_MODEL_WAIT_MS have passed.
 */
export async function awaitReadModel(progress: Progress, catalogRevision: number): Promise<void> {
  const waits = [progress.awaitCatalog(catalogRevision, READ_MODEL_WAIT_MS)];
  for (let shard = 0; shard < progress.shards; shard++) {
    waits.push(progress.awaitProjected(shard, progress.committed(shard), READ_MODEL_WAIT_MS));
  }
  await Promise.all(waits);
}

type Waits = { problem(): string | null };

/** Logs what a start waits for, if it takes long. */
export async function sayWaits(log: Logger, waits: Waits, start: Promise<void>): Promise<void> {
  const say = (): void => log.info({ waits_for: waits.problem() ?? 'the read model' }, 'starting');
  const timer = setInterval(say, SAY_EVERY_MS);
  await start.finally(() => clearInterval(timer));
}

/** Turns a failure that an operator can remove into one line instead of a stack trace. */
export function explain(error: Error): never {
  throw new StartError(error.message);
}

type ReadinessSources = {
  readonly lifecycle: Pick<Lifecycle, 'isReady' | 'isDraining' | 'phase'>;
  readonly threads: { readonly shards: { problem(): string | null }; readonly readModelProblem: string | null };
  /** Null without a cluster. */
  readonly member: Pick<MemberRole, 'fields' | 'problem'> | null;
  readonly standing: { readonly unhealthy: unknown };
  /** Null where rate limits are counted in this process alone. */
  readonly sharedCounters: { readonly isAnswering: boolean } | null;
};

/**
 * Probes report a shard that is down and a Redis that does not count; other requests are still answered. While
 * settlement refuses orders, the exchange is ready for everything else: the status stays, and the reason says so.
 */
export function readinessOf(
  { lifecycle, threads, member, standing, sharedCounters }: ReadinessSources,
  clockWatch: Pick<ClockWatch, 'problem'>,
): Readiness {
  const role = member?.fields;
  if (lifecycle.isDraining) return { status: 'draining', ...role };
  const ofThreads = threads.shards.problem() ?? member?.problem ?? clockWatch.problem ?? threads.readModelProblem;
  const problem = ofThreads ?? (sharedCounters?.isAnswering === false ? UNCOUNTED : null);
  const reason = lifecycle.isReady ? problem : null;
  if (reason !== null) return { status: 'degraded', reason, ...role };
  const isUnsettled = lifecycle.isReady && standing.unhealthy !== null;
  return { status: lifecycle.phase, ...(isUnsettled ? { reason: UNSETTLED } : {}), ...role };
}
