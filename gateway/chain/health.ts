/**
 * The gateway's view of settlement's health, which decides whether orders may be placed (RULES.md 17.4). Each change is
 * logged in one line.
 * Owner: the gateway thread.
 *
 * Invariant:
 *   CHAINHEALTH-1  Placing is refused until settlement has reported that it is healthy and the ledger has applied its
 *                  reports, and again once settlement is silent.
 */
import type { DecisionDelays } from '../../shared/base/chainFacts.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { ERRORS, type ErrorRow } from '../../shared/base/errors.ts';
import type { SettlementHealth } from '../../shared/wire/threads.ts';
import type { Logger } from '../base/log.ts';
import type { SettlementStanding } from '../shardlink/settlementPort.ts';

/** The thread reports each second. */
const SILENT_MS = 15_000;
/** A person who sleeps needs about an hour to wake up, look at a proposal and veto it. */
const LEAST_DELAY_SEC = 3600;
const SILENT = 'the settlement thread does not report';

type ChainHealthOptions = {
  /** A key with a lower balance raises an alert. */
  readonly lowBalanceWei: bigint;
  readonly clock: Clock;
  readonly log: Logger;
  /** @param reason null: settlement is healthy again. */
  readonly onChange: (reason: string | null) => void;
};

export class ChainHealth implements SettlementStanding {
  readonly isReported = true;
  /** Null until the thread has reported. */
  latest: SettlementHealth | null = null;
  /** Why placing is refused; null while settlement is healthy. */
  unhealthy: string | null = SILENT;
  /** True if, since the start, the node has answered once and matched the settings: contracts, keys, fees. */
  hasAgreed = false;
  readonly #options: ChainHealthOptions;
  #reportedMs = 0;
  #isSilent = true;
  #problemOf: (facts: SettlementHealth) => string | null = () => null;

  constructor(options: ChainHealthOptions) {
    this.#options = options;
  }

  /** Adds a further condition: reports of settlement that the ledger has to apply first. */
  waitFor(problemOf: (facts: SettlementHealth) => string | null): void {
    this.#problemOf = problemOf;
  }

  /** The error that placing is refused with, or null. */
  get refusal(): ErrorRow | null {
    return this.unhealthy === null ? null : ERRORS.SETTLEMENT_UNHEALTHY;
  }

  /** True while the node answers and matches the settings. */
  get isConnected(): boolean {
    return !this.#isSilent && this.latest !== null && this.latest.problem === null;
  }

  /** The jobs whose keys have less money for gas than they should. */
  get lowKeys(): readonly string[] {
    const { lowBalanceWei } = this.#options;
    const low = (this.latest?.balances ?? []).filter(({ wei }) => wei !== null && wei < lowBalanceWei);
    return low.map(({ job }) => job);
  }

  note(health: SettlementHealth): void {
    const { log, clock } = this.#options;
    const before = this.latest;
    const lowBefore = this.lowKeys;
    this.latest = health;
    this.#reportedMs = clock.nowMs();
    if (health.problem === null) this.hasAgreed = true;
    if (health.problem !== (before?.problem ?? null)) {
      if (health.problem === null) log.info('the node of the chain answers as it should');
      else log.warn({ problem: health.problem }, 'settlement cannot use its node');
    }
    for (const { node, state, reason } of health.nodes) {
      if (state === (before?.nodes.find((other) => other.node === node)?.state ?? 'well')) continue;
      if (state === 'well') log.info({ node }, 'a node of RPC_URL is as the others again');
      else log.warn({ node, state, reason }, 'a node of RPC_URL is not as the others');
    }
    if (health.isWaitingForLog && before?.isWaitingForLog !== true) {
      log.warn('settlement waits until the log of the cluster takes its record');
    }
    if (health.foreign > (before?.foreign ?? 0)) {
      log.error({ foreign: health.foreign }, 'another program sends transactions with a key of this exchange');
    }
    for (const { job, address } of health.balances) {
      const isLow = this.lowKeys.includes(job);
      if (isLow && !lowBefore.includes(job))
        log.error({ key: `${job}_KEY`, address }, 'a key has little money left for gas: send it some');
    }
    if (health.isAtMostFee && before?.isAtMostFee !== true) {
      log.error('a transaction waits: gas costs more than MOST_FEE_GWEI allows');
    }
    if (health.differences > 0 && (before?.differences ?? 0) === 0) {
      log.fatal({ differences: health.differences }, 'ledger and chain differ: no orders are placed');
    }
    this.#noteDelays(health.decisions.delays, before?.decisions.delays ?? null);
    this.tick();
  }

  #noteDelays(now: DecisionDelays | null, before: DecisionDelays | null): void {
    if (now === null) return;
    const isShort = ({ delaySec, leastDelaySec }: DecisionDelays) =>
      Math.min(delaySec, leastDelaySec) < LEAST_DELAY_SEC;
    if (!isShort(now) || (before !== null && isShort(before))) return;
    this.#options.log.warn(now, 'a decision on the chain can take effect before a person had an hour to veto it');
  }

  /** Notices a silent thread. */
  tick(): void {
    const { clock, log, onChange } = this.#options;
    this.#isSilent = this.latest === null || clock.nowMs() - this.#reportedMs >= SILENT_MS;
    const unhealthy = this.#isSilent ? SILENT : (this.latest!.unhealthy ?? this.#problemOf(this.latest!));
    if (unhealthy === this.unhealthy) return;
    this.unhealthy = unhealthy;
    if (unhealthy === null) log.info('settlement is healthy: orders are placed');
    else log.warn({ reason: unhealthy }, 'settlement is unhealthy: no orders are placed');
    onChange(unhealthy);
  }
}
