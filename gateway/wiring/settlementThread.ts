/**
 * The thread that settles on a chain (engine/settlement), its link and its health; only with RPC_URL. A thread that
 * ends is started again and goes on from settlement.db. In a cluster its changes are a stream of the replicated log.
 * Owner: the gateway thread.
 *
 * Invariants:
 *   SETTLETHREAD-1  The last record given to the log, and rows of the log that the thread has not applied, outlive the
 *                   thread: the next thread gets them first.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { Clock } from '../../shared/base/clock.ts';
import { STRIPPED_BEFORE } from '../../shared/base/stripTypes.ts';
import type { RecordLog } from '../../shared/records/heldLog.ts';
import type {
  FollowedRow,
  SettlementMessage,
  SettlementOptions,
  SettlementRequest,
} from '../../shared/wire/threads.ts';
import type { ChainSecrets } from '../base/chainKeys.ts';
import type { Config } from '../base/config.ts';
import type { Logger } from '../base/log.ts';
import { StartError } from '../base/startError.ts';
import { SupervisedThread } from '../base/supervisedThread.ts';
import { threadEnds } from '../base/threadEnds.ts';
import { ChainHealth } from '../chain/health.ts';
import type { AdminFeed } from '../operator/feed.ts';
import { ChainLink } from '../shardlink/settlementLink.ts';
import type { Stores } from './stores.ts';

/** A stop does not wait for a round that waits for the node: the next thread goes on where this one ended. */
const LAST_ROUND_MS = 2000;
/** A start waits for the thread; after this many failures it gives up. */
const MOST_FAILURES = 3;
const ENTRY = new URL('../../engine/settlement/main.ts', import.meta.url);

type SettlementThreadOptions = {
  /** Settings with a chain. */
  readonly config: Pick<Config, 'chain'>;
  readonly secrets: ChainSecrets;
  readonly stores: Stores;
  readonly clock: Clock;
  readonly log: Logger;
  readonly feed: AdminFeed;
  /** The memory of the replicated log; null without a cluster. */
  readonly replication: SharedArrayBuffer | null;
  /** In a cluster: called if the data of this machine contradicts the log. */
  readonly onContradiction: (error: Error) => void;
};

export class SettlementThread {
  readonly link: ChainLink;
  readonly health: ChainHealth;
  /** Rejects with StartError if settlement cannot go on with this data directory. */
  readonly connected: Promise<void>;
  readonly #log: Logger;
  readonly #thread: SupervisedThread;
  /** Null on a standby, and without a cluster. */
  #records: RecordLog | null = null;
  /** SETTLETHREAD-1 */
  #last: FollowedRow | null = null;
  #rows: FollowedRow[] = [];
  #sequence = 0;
  #isConnected = false;
  readonly #onContradiction: (error: Error) => void;
  #onConnected: () => void = () => {};
  #onRefused: (error: StartError) => void = () => {};

  constructor(options: SettlementThreadOptions) {
    const { clock, log, feed } = options;
    this.#log = log;
    this.#onContradiction = options.replication === null ? () => {} : options.onContradiction;
    this.link = new ChainLink((ask) => this.#thread.post(ask), log);
    this.health = new ChainHealth({
      lowBalanceWei: options.config.chain!.lowBalanceWei,
      clock,
      log,
      onChange: (reason) => feed.publish('settlement', { healthy: reason === null, reason }),
    });
    this.link.onNews('tradeFailed', ({ market, shard, tradeSequence, reason }) => {
      const market_id = options.stores.views.markets.id(market);
      const facts = { market_id, shard, trade_sequence: tradeSequence, reason };
      log.error(facts, 'the contract refuses this trade for good: an administrator has to retry or unwind it');
      feed.publish('settlement_trade_failed', facts);
    });
    this.connected = new Promise((resolve, reject) => {
      this.#onConnected = resolve;
      this.#onRefused = reject;
    });
    // A start that fails before it waits for this promise has a reason of its own.
    this.connected.catch(() => undefined);
    let failures = 0;
    this.#thread = new SupervisedThread({
      name: 'settlement',
      launch: () => {
        const workerData = { ...optionsOf(options), cluster: this.#clusterOf(options) };
        const worker = new Worker(ENTRY, { workerData, name: 'settlement', execArgv: STRIPPED_BEFORE });
        if (this.#rows.length > 0) worker.postMessage({ rows: this.#rows } satisfies SettlementRequest);
        return worker.on('message', (message: SettlementMessage) => this.#take(message));
      },
      onEnd: (error) => {
        this.link.threadEnded();
        if (error !== null && ++failures === MOST_FAILURES) {
          this.#onRefused(new StartError(`settlement does not start: ${error.message}`));
        }
        if (error !== null) threadEnds.note(log, 'settlement', error);
        return true;
      },
    });
  }

  /** The last record that is durable in settlement.db of a standby. */
  get sequence(): number {
    return this.#sequence;
  }

  /** Applies a row of the log, in the log's order. */
  follow({ sequence, bytes }: FollowedRow): void {
    const row = { sequence, bytes };
    this.#rows.push(row);
    this.#thread.post({ rows: [row] } satisfies SettlementRequest);
  }

  /** From now on this member leads: every row of the log is applied. */
  lead(log: RecordLog): void {
    this.#records = log;
    this.#thread.post('lead' satisfies SettlementRequest);
  }

  async stop(): Promise<void> {
    await Promise.race([this.#thread.stop(), sleep(LAST_ROUND_MS, undefined, { ref: false })]);
    await this.#thread.terminate();
  }

  #connect(): void {
    this.#isConnected = true;
    this.#onConnected();
  }

  #put(record: FollowedRow): void {
    this.#last = record;
    this.#records!.put(record.sequence, record.bytes);
  }

  #applied(sequence: number): void {
    this.#sequence = sequence;
    const first = this.#rows.findIndex((row) => row.sequence > sequence);
    this.#rows.splice(0, first < 0 ? this.#rows.length : first);
  }

  #clusterOf({ replication: memory }: SettlementThreadOptions): SettlementOptions['cluster'] {
    if (memory === null) return null;
    return { memory, leads: this.#records === null ? null : { last: this.#last } };
  }

  #take(message: SettlementMessage): void {
    if ('health' in message) this.health.note(message.health);
    else if ('reply' in message) this.link.reply(message.reply);
    else if ('news' in message) void this.link.take(message.news);
    else if ('record' in message) this.#put(message.record);
    else if ('applied' in message) this.#applied(message.applied);
    else if ('connected' in message) this.#connect();
    else {
      this.#log.error({ reason: message.refusal }, 'settlement refuses to go on: nothing is settled');
      this.#onRefused(new StartError(message.refusal));
      if (this.#isConnected) this.#onContradiction(new Error(message.refusal));
    }
  }
}

function optionsOf({ config, secrets, stores }: SettlementThreadOptions): Omit<SettlementOptions, 'cluster'> {
  const { journalPaths, progressMemory, settlementDbPath, control } = stores;
  const { first, current } = control.contracts;
  const chain = config.chain!;
  return {
    journalPaths,
    journalKey: control.journalKey,
    progress: progressMemory,
    settlementDbPath,
    rpcUrl: chain.rpcUrl,
    chainId: first.chainId,
    exchangeAddress: first.exchange,
    marketFactoryAddress: current.marketFactory,
    usdcAddress: current.usdc,
    ctfAddress: current.ctf,
    operatorKey: secrets.OPERATOR!,
    resolverKey: secrets.RESOLVER!,
    payerKey: secrets.PAYER,
    paymentsAddress: chain.paymentsAddress,
    resolutionsAddress: chain.resolutionsAddress,
    deployerKey: secrets.DEPLOYER!,
    relayerKey: secrets.RELAYER,
    permitKey: secrets.PERMIT!,
    mostFeeWei: chain.mostFeeWei,
    limits: { headAgeMs: chain.mostHeadAgeMs, waitMs: chain.mostWaitMs },
    payBounds: { accountMicro: chain.mostPaidMicro, allMicro: chain.mostPaidToAllMicro },
    movementFeeMicro: chain.movementFeeMicro,
    floors: control.platform.floors,
  };
}
