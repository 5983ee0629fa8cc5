/**
 * Settlement on a chain: journals become work, work becomes transactions, receipts become statuses (RULES.md 17.1).
 *
 *   journals ──► work ──► job and envelope ──► signed bytes ──► broadcast ──► mined ──► final
 *   follower.ts           drafts.ts            shared/chain/envelopes.ts      outcomes.ts
 *
 * Invariants:
 *   ONCHAIN-1  Each arrow is durable before the next begins: whatever ends the thread, the next one continues there.
 *   ONCHAIN-2  Sending twice has no effect: the contract knows trades, batches and movements by their ids.
 *   ONCHAIN-3  The work of an account is sent in order, by one key, because earlier work in the ledger may fund later
 *              work (sendingOrder.ts). Payments, which fund nothing later, are sent in parallel (payments.ts), and so
 *              are decisions (decisions.ts).
 */

import { type Floors, floorOf } from '../../shared/base/floors.ts';
import { chainTradeId } from '../../shared/chain/batch.ts';
import { EnvelopeRows } from '../../shared/chain/envelopeRows.ts';
import { Envelopes, MOST_OPEN } from '../../shared/chain/envelopes.ts';
import type { ChainKey } from '../../shared/chain/key.ts';
import type { Block, ChainNode, Hex } from '../../shared/chain/node.ts';
import { NodeUnreachable, RpcError } from '../../shared/chain/rpc.ts';
import type { StoreDatabase } from '../../shared/records/recordedDatabase.ts';
import type { DecisionAnswer, DecisionAsk } from '../../shared/wire/chainQuestions.ts';
import type { Progress } from '../../shared/wire/progress.ts';
import type { SettlementHealth, SettlementLimits } from '../../shared/wire/threads.ts';
import type { ShardKey } from '../journal/shardKey.ts';
import { Decisions } from './decisions.ts';
import { DeployRows } from './deployRows.ts';
import { Deploys } from './deploys.ts';
import { type Chosen, type Contracts, Drafts } from './drafts.ts';
import { Follower } from './follower.ts';
import { MoneySide } from './moneySide.ts';
import type { News } from './news.ts';
import { Outcomes } from './outcomes.ts';
import type { PayBounds } from './payBounds.ts';
import { PaymentRows } from './paymentRows.ts';
import { type Payer, Payments } from './payments.ts';
import { Rotation } from './rotation.ts';
import { isOfSets } from './sendingOrder.ts';
import { KIND, type Work, WorkRows } from './work.ts';

/** Trades are collected for this long while a batch is not full: a larger batch needs less gas per trade. */
const LINGER_MS = 2000;
/** More than the trades of the largest batch. */
const MOST_LOOKED_AT = 400;
const FULL = 100;
const MOST_FAILED_IN_ROW = 5;
/** Splits and merges leave some of the operator's transactions to the trades of the next seconds. */
const MOST_SETS_OPEN = MOST_OPEN - 4;
/** A trade that waits for others may be the very one that the chain is missing, so a few more are tried. */
const LOOKED_AHEAD = 4;

type SettlementOptions = {
  readonly db: StoreDatabase;
  readonly node: ChainNode;
  readonly key: ChainKey;
  /** The key that proposes decisions. */
  readonly resolverKey: ChainKey;
  readonly deployerKey: ChainKey;
  /** Null if the operator pays, one payment per transaction. */
  readonly payer?: Payer | null;
  /** Hourly bounds; absent if there are none. */
  readonly payBounds?: PayBounds | undefined;
  readonly chainId: number;
  readonly contracts: Contracts & { readonly usdc: Hex; readonly resolutions: Hex };
  readonly mostFeeWei: bigint;
  readonly progress: Progress;
  readonly journalPaths: readonly string[];
  readonly keys: readonly ShardKey[];
  readonly nowMs: () => number;
  readonly news: News;
  readonly limits: SettlementLimits;
  /** Floors of the data directory; absent if there are none. */
  readonly floors?: Floors;
  /** In a cluster: follows the journals up to a record. */
  readonly follow?: (shard: number, sequence: number) => void;
  readonly lingerMs?: number;
};

/** The transactions of one key. */
type KeyStream = { readonly rows: EnvelopeRows; readonly envelopes: Envelopes };

/** Facts about the thread that settlement itself does not have. */
type Surroundings = Pick<SettlementHealth, 'problem' | 'balances' | 'nodes'>;

export class Settlement {
  readonly rows: WorkRows;
  readonly payments: PaymentRows;
  readonly money: MoneySide;
  readonly rotation: Rotation;
  readonly decisions: Decisions;
  readonly #options: SettlementOptions;
  readonly #follower: Follower;
  readonly #outcomes: Outcomes;
  readonly #drafts: Drafts;
  readonly #payments: Payments;
  readonly #operator: KeyStream;
  readonly #streams: readonly KeyStream[];
  readonly #deployRows: DeployRows;
  readonly #deploys: Deploys;
  #head: Block | null = null;
  #finalizedNumber = 0;

  constructor(options: SettlementOptions) {
    this.#options = options;
    const { db, node, key, chainId, mostFeeWei, nowMs, contracts, news, payer = null } = options;
    this.rows = new WorkRows(db, nowMs);
    this.payments = new PaymentRows(db);
    this.#deployRows = new DeployRows(db, nowMs, news);
    this.rotation = new Rotation(db, this.rows, this.#deployRows, contracts.exchange);
    this.#drafts = new Drafts(this.rows, contracts, this.rotation, options.floors);
    this.money = new MoneySide({ ...options, work: this.rows, rotation: this.rotation });
    this.#follower = new Follower({
      ...options,
      ...{ work: this.rows, money: this.money, deploys: this.#deployRows, rotation: this.rotation },
    });
    this.#outcomes = new Outcomes({
      ...{ rows: this.rows, node, news, floors: options.floors, payments: payer?.contract ?? null },
      onMovedLate: (work) => this.rotation.brought(work),
    });
    this.#deploys = new Deploys({
      ...{ db, node, chainId, mostFeeWei, nowMs, rows: this.#deployRows, key: options.deployerKey },
      chain: { marketFactory: contracts.marketFactory, collateral: contracts.usdc },
    });
    this.#operator = this.#streamOf(key);
    this.decisions = new Decisions({
      ...{ db, node, chainId, mostFeeWei, nowMs, news, resolutions: contracts.resolutions },
      ...{ key: options.resolverKey, work: this.rows, rotation: this.rotation },
    });
    const paying = payer === null ? this.#operator : this.#streamOf(payer.key);
    this.#streams = [...new Set([this.#operator, paying])];
    this.#payments = new Payments({
      ...{ db, node, work: this.rows, rows: this.payments, drafts: this.#drafts, nowMs },
      bounds: options.payBounds ?? null,
      ...{ contract: payer?.contract ?? null, caller: payer?.contract ?? key.address },
      hasRoom: () => paying.envelopes.hasRoom,
      send: (work, draft) => {
        const exchange = this.rotation.exchange(work[0].exchange);
        this.#reserve({ work, exchange, batch: null, draft }, paying);
      },
    });
    if (db.isFollowing !== true) this.#takeOver();
  }

  /** A standby begins to send. Its file holds what the log holds, and everything continues from there. */
  lead(): void {
    this.rotation.begin();
    this.money.begin();
    this.#deploys.begin();
    this.decisions.begin();
    this.#takeOver();
  }

  /** A standby watches the chain, so that its state is known when it becomes the leader. */
  async look(): Promise<void> {
    const { node } = this.#options;
    const [head, finalized] = await Promise.all([node.block('latest'), node.block('finalized')]);
    if (head === null || finalized === null) return;
    this.#seen(head, finalized);
  }

  /** Makes the rows derived from a stretch of a journal; called in the transaction of a record. */
  derive(shard: number, sequence: number): void {
    this.#follower.derive(shard, sequence);
  }

  /**
   * One round: the journals, the chain, and the next transactions. An error of the node ends the round; the next round
   * continues.
   */
  async step(): Promise<void> {
    this.follow();
    const { node } = this.#options;
    const [head, finalized] = await Promise.all([node.block('latest'), node.block('finalized')]);
    if (head === null || finalized === null) return;
    this.#seen(head, finalized);
    // Each question and each key proceeds even if the node or the signer of another one fails.
    const failures: Error[] = [];
    const tried = async <T>(asked: Promise<T>): Promise<T | null> => {
      try {
        return await asked;
      } catch (error) {
        if (!(error instanceof NodeUnreachable || error instanceof RpcError)) throw error;
        failures.push(error);
        return null;
      }
    };
    await tried(this.#deploys.step({ head, finalized }));
    this.#send(head);
    await tried(this.decisions.step({ head, finalized }));
    const [read, paid] = await Promise.allSettled([
      tried(this.money.read({ head, finalized })),
      tried(this.#payments.step(head.number, this.rotation.active.number)),
    ]);
    if (read.status === 'rejected') throw read.reason;
    if (paid.status === 'rejected') throw paid.reason;
    for (const { envelopes } of this.#streams) await tried(envelopes.step({ head, finalized }));
    if (read.value !== null) {
      const isAllFinal = this.decisions.isQuiet && this.#streams.every(({ rows }) => rows.unsettled().length === 0);
      this.rotation.step(this.#follower.exchangeNumbers, isAllFinal);
      await tried(this.money.reconcile(read.value));
    }
    if (failures.length > 0) throw failures[0];
  }

  /**
   * Requests a market on the chain.
   * @returns false if it is decided: it is not deployed any more
   */
  wantMarket(market: number, uuid: Hex): boolean {
    const { db } = this.#options;
    if ((this.rows.findMarket(market)?.payout_yes_ppm ?? null) !== null) return false;
    db.transaction(() => this.#deployRows.want(market, uuid, this.rotation.newest, false))();
    return true;
  }

  /** Requests a decision on the chain, after everything that the ledger has done so far. */
  wantDecision(decision: DecisionAsk): DecisionAnswer {
    while (this.follow());
    return this.decisions.want(decision);
  }

  /** The number of markets whose trades cannot settle before the current contract knows them. */
  marketsOnTheirWay(): number {
    return this.#deployRows.countNeeded(this.rotation.newest);
  }

  /** The last signed transaction for the claim of a record; null until there is one. */
  claimTransaction(shard: number, sequence: number): Hex | null {
    const job = this.rows.jobOfClaim(shard, sequence);
    return job === null ? null : this.#operator.rows.hashOfJob(job);
  }

  /** Follows the journals, also while the node does not answer. */
  follow(): boolean {
    return this.#options.db.isFollowing !== true && this.#follower.step();
  }

  /** The shard's record up to which its journal is no longer needed. */
  followed(shard: number): number {
    return this.#follower.followed(shard);
  }

  /**
   * Returns true if the chain has settled trades that the journals do not have. Then the data directory was restored to
   * an earlier state, and its next trades would reuse ids that the contract already knows.
   */
  async isChainAhead(): Promise<boolean> {
    const { all } = this.rotation;
    for (let shard = 0; shard < this.#options.journalPaths.length; shard++) {
      const next = Math.max(this.rows.lastTrade(shard), floorOf(this.#options.floors ?? [])) + 1;
      const ids = Array.from({ length: LOOKED_AHEAD }, (_, i) => chainTradeId(shard, next + i));
      const asked = ids.flatMap((id) => all.map((exchange) => this.#outcomes.isSettled(id, exchange)));
      if ((await Promise.all(asked)).includes(true)) return true;
    }
    return false;
  }

  /** The contracts that orders are signed for now. */
  get exchanges(): readonly Hex[] {
    return this.#follower.exchanges;
  }

  /**
   * Throws CannotFollow.
   * @returns true once all journals are there.
   */
  connect(): boolean {
    return this.#follower.connect();
  }

  health(surroundings: Surroundings): SettlementHealth {
    const nowMs = this.#options.nowMs();
    const oldest = this.rows.oldestPendingMs(this.rotation.active.number);
    const streams = this.#streams.map(({ envelopes }) => envelopes);
    const keys = [...streams, this.decisions.envelopes, this.#deploys.health()];
    const facts = {
      ...surroundings,
      isWaitingForLog: false,
      ...this.money.facts(),
      failed: this.rows.countFailed(),
      failedInRow: this.#outcomes.failedInRow,
      refusedPayments: this.payments.countRefused(),
      heldUpPayments: this.payments.countHeldUp(),
      waitingSets: this.payments.countWaitingSets(),
      foreign: keys.reduce((sum, { foreign }) => sum + foreign, 0),
      oldestTradeMs: oldest.trade === null ? 0 : nowMs - oldest.trade,
      oldestWorkMs: oldest.any === null ? 0 : nowMs - oldest.any,
      unsettled: this.rows.countUnsettled(),
      headAgeMs: this.#head === null ? null : nowMs - this.#head.timestampSec * 1000,
      headNumber: this.#head?.number ?? 0,
      finalizedNumber: this.#finalizedNumber,
      behind: this.#follower.behind,
      move: this.rotation.health(nowMs),
      decisions: this.decisions.health(),
      isAtMostFee: keys.some(({ isAtMostFee }) => isAtMostFee),
      lastRefusal: keys.find(({ lastRefusal }) => lastRefusal !== null)?.lastRefusal ?? null,
    };
    return { unhealthy: whyUnhealthy(facts, this.#options.limits), ...facts };
  }

  close(): void {
    this.#follower.close();
  }

  /** Work of a key that is no longer in the settings is sent again (ONCHAIN-2). */
  #takeOver(): void {
    const own = new Set(this.#streams.flatMap(({ rows }) => rows.unsettled().map(({ job }) => job)));
    const others = this.rows.jobsUnderWay().filter((job) => !own.has(job));
    if (others.length === 0) return;
    this.#operator.rows.commit(() => {
      for (const job of others) {
        const left = this.rows.job(job).work.filter((work) => work.job === job && work.status !== 'failed');
        for (const work of left) if (work.status !== 'settled') this.rows.retry(work, 0, 'sent by another key');
      }
    });
  }

  #seen(head: Block, finalized: Block): void {
    if (head.number >= (this.#head?.number ?? 0)) this.#head = head;
    this.#finalizedNumber = finalized.number;
  }

  /** Keeps ONCHAIN-1 and -3: statuses, job and nonce are stored in one transaction. */
  #send(head: Block): void {
    const { db, nowMs, lingerMs = LINGER_MS } = this.#options;
    while (this.#operator.envelopes.hasRoom) {
      const pending = this.rows.pending(head.number, MOST_LOOKED_AT, this.rotation.active.number);
      if (pending.length === 0) return;
      if (isWorthWaiting(pending) && nowMs() - pending[0].created_ms < lingerMs) return;
      const chosen = this.#drafts.next(pending, head.gasLimit);
      if (chosen === null || (isOfSets(chosen.work[0]) && this.#operator.rows.countOpen() >= MOST_SETS_OPEN)) return;
      db.transaction(() => this.#reserve(chosen, this.#operator))();
    }
  }

  #streamOf(key: ChainKey): KeyStream {
    const { db, chainId, node, mostFeeWei, nowMs } = this.#options;
    const rows = new EnvelopeRows(db, key.address);
    const jobs = this.#outcomes.of((job, draft) => envelopes.reserve(job, draft));
    const envelopes: Envelopes = new Envelopes({ key, chainId, node, rows, jobs, mostFeeWei, nowMs });
    return { rows, envelopes };
  }

  #reserve({ exchange, work, batch, draft }: Chosen, { envelopes }: KeyStream): void {
    const job = this.rows.addJob(exchange, work, batch);
    for (const { id } of work) this.rows.submit(id, job);
    envelopes.reserve(job, draft);
  }
}

/** More trades may arrive for the batch; a split or a claim in it is not delayed. */
function isWorthWaiting(pending: readonly Work[]): boolean {
  return pending.length < FULL && pending.every(({ kind }) => kind === KIND.TRADE);
}

function whyUnhealthy(facts: Omit<SettlementHealth, 'unhealthy'>, limits: SettlementLimits): string | null {
  const { differences, failedInRow, oldestTradeMs, headAgeMs, problem } = facts;
  if (differences > 0) return 'the ledger and the chain differ';
  // While the node is away for less than the limit, this is no problem yet.
  if (headAgeMs === null) return problem ?? 'the chain was not read yet';
  if (headAgeMs > limits.headAgeMs) return problem ?? "the chain's newest block is old";
  if (facts.floorsToCarry === null) return 'requests of wallets to the contract were not read yet';
  if (oldestTradeMs > limits.waitMs) return 'a trade has waited too long for its batch';
  return failedInRow >= MOST_FAILED_IN_ROW ? 'too many batches in a row have failed' : null;
}
