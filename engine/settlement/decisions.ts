/**
 * Decisions of markets. A key of their own proposes them to the contract `Resolutions`, where they wait and another key
 * can veto them. The ledger follows once the chain has carried one out.
 *
 *   wanted ──► proposed ──► decided ──► the ledger decides
 *                  │ veto       └ otherwise: an alarm, and the ledger waits
 *                  └──► none: the market is undecided
 *
 * Invariants:
 *   DECISIONS-1  A decision is proposed and carried out once all trades, splits, merges and late moves of its market
 *                are in a block: transactions of two keys have no common order.
 *   DECISIONS-2  Claims of a market wait until its decision is settled, and no other work waits with them.
 *   DECISIONS-3  The outcome of a decision is the contract's state in a final block. It does not matter who sent which
 *                transaction, or whether this process was running. Transactions only cause the outcome, and may be sent
 *                twice.
 *   DECISIONS-4  After a veto a decision is proposed again only on request, or if the ledger has already decided.
 */
import { encodeFunctionData } from 'viem';
import {
  DECISION_STATES,
  type DecisionDelays,
  type DecisionState,
  type DecisionsHealth,
} from '../../shared/base/chainFacts.ts';
import { checkedHex } from '../../shared/base/hex.ts';
import { lastSettledBlock } from '../../shared/chain/depth.ts';
import { type Draft, EnvelopeRows } from '../../shared/chain/envelopeRows.ts';
import { Envelopes } from '../../shared/chain/envelopes.ts';
import { RESOLUTIONS_ABI } from '../../shared/chain/exchangeAbi.ts';
import type { ChainKey } from '../../shared/chain/key.ts';
import type { Block, ChainNode, Hex, Receipt } from '../../shared/chain/node.ts';
import type { StoreDatabase } from '../../shared/records/recordedDatabase.ts';
import type { DecisionAnswer, DecisionAsk } from '../../shared/wire/chainQuestions.ts';
import { type Decision, DecisionRows, ofLedger } from './decisionRows.ts';
import type { News } from './news.ts';
import { Proposals, type Standing } from './proposals.ts';
import type { Rotation } from './rotation.ts';
import type { WorkRows } from './work.ts';

type DecisionsOptions = {
  readonly db: StoreDatabase;
  readonly node: ChainNode;
  readonly key: ChainKey;
  readonly chainId: number;
  readonly mostFeeWei: bigint;
  readonly nowMs: () => number;
  readonly resolutions: Hex;
  readonly work: WorkRows;
  readonly rotation: Rotation;
  readonly news: News;
};
type Heads = { readonly head: Block; readonly finalized: Block };

/** Each check costs two or three calls to the node. */
const LOOK_MS = 2000;
const MOST_TOGETHER = 50;
const MOST_OF_LEDGER = 16;
const DECISION_GAS = 400_000;
const ONE_PPM = 1_000_000;

export class Decisions {
  readonly rows: DecisionRows;
  readonly proposals: Proposals;
  /** False while a veto or the administrator has revoked the key's right to propose. */
  mayPropose = true;
  #delays: DecisionDelays | null = null;
  readonly #options: DecisionsOptions;
  readonly #envelopes: Envelopes;
  readonly #envelopeRows: EnvelopeRows;
  #lookedMs = Number.NEGATIVE_INFINITY;
  #lookedAt = -1;

  constructor(options: DecisionsOptions) {
    this.#options = options;
    const { db, key, node, resolutions } = options;
    this.rows = new DecisionRows(db);
    this.proposals = new Proposals(node, resolutions, this.rows);
    this.#envelopeRows = new EnvelopeRows(db, key.address);
    this.#envelopes = new Envelopes({ ...options, rows: this.#envelopeRows, jobs: this });
    if (db.isFollowing !== true) this.begin();
  }

  /** Forgets transactions of an earlier key: nothing follows them any more. */
  begin(): void {
    const own = new Set(this.#envelopeRows.unsettled().map(({ job }) => job));
    this.#options.db.transaction(() => this.rows.forgetJobs((job) => own.has(job)))();
  }

  /** Requests a decision of the market; a repeat changes nothing. */
  want(decision: DecisionAsk): DecisionAnswer {
    const { market, marketId, status, payoutYesPpm: payout_yes_ppm } = decision;
    if (!this.rows.isOnChain(market)) return 'not on the chain';
    const before = this.rows.get(market);
    const isSame = before?.status === status && before.payout_yes_ppm === payout_yes_ppm;
    if (before !== undefined && (isSame || before.state !== 'otherwise'))
      return isSame ? 'wanted' : 'another is wanted';
    const uuid = checkedHex(marketId);
    this.#options.db.transaction(() => this.rows.add({ market, uuid, status, payout_yes_ppm }))();
    this.#lookedMs = Number.NEGATIVE_INFINITY;
    return 'wanted';
  }

  /**
   * True while a decision is under way. Funds do not begin to move then, because others may carry the decision out in
   * the middle.
   */
  get areUnderWay(): boolean {
    return this.rows.after(-1, 1).length > 0;
  }

  /** True once every transaction is final. */
  get isQuiet(): boolean {
    return this.#envelopeRows.unsettled().length === 0;
  }

  health(): DecisionsHealth {
    const { mayPropose, proposals } = this;
    const counts = Object.fromEntries(DECISION_STATES.map((state) => [state, this.rows.count(state)]));
    return {
      counts: counts as Record<DecisionState, number>,
      mayPropose,
      delays: this.#delays,
      foreign: proposals.foreign,
    };
  }

  get envelopes(): Pick<Envelopes, 'foreign' | 'isAtMostFee' | 'lastRefusal'> {
    return this.#envelopes;
  }

  /** One round. An error of the node ends it; the next goes on. */
  async step(heads: Heads): Promise<void> {
    if (this.#options.nowMs() - this.#lookedMs >= LOOK_MS) {
      this.#addOfLedger();
      await this.#look(heads);
      this.#lookedMs = this.#options.nowMs();
    }
    await this.#envelopes.step(heads);
  }

  async read(job: number, { isSuccess, blockNumber }: Receipt): Promise<() => void> {
    return () => {
      const decision = this.rows.ofJob(job);
      if (decision === undefined) return;
      if (isSuccess) this.rows.done(decision.market);
      else this.rows.failed(decision, blockNumber);
    };
  }

  /** The same bytes are sent again; the state of the contract shows whether anything more is needed. */
  unmined(): void {}

  final(): void {}

  lost(job: number): void {
    const decision = this.rows.ofJob(job);
    if (decision !== undefined) this.rows.done(decision.market);
  }

  /** Adds the decisions that the ledger made before the chain. */
  #addOfLedger(): void {
    const { db, work, rotation } = this.#options;
    const found = this.rows.ofLedger(rotation.active.number, MOST_OF_LEDGER);
    const missing = found.filter(({ market }) => this.rows.get(market) === undefined);
    if (missing.length === 0) return;
    db.transaction(() => {
      for (const each of missing) this.rows.add(ofLedger(each, work.market(each.market).uuid));
    })();
  }

  /** Checks the next decisions in turn, and always all proposals that others have made. */
  async #look(heads: Heads): Promise<void> {
    const settled = Math.max(0, lastSettledBlock(heads));
    const { head } = heads;
    this.mayPropose = await this.proposals.mayPropose(this.#options.key.address);
    this.#delays = await this.proposals.delays();
    await this.proposals.step(settled);
    const decisions = this.rows.after(this.#lookedAt, MOST_TOGETHER);
    this.#lookedAt = decisions.length < MOST_TOGETHER ? -1 : decisions.at(-1)!.market;
    const uuids = decisions.map(({ uuid }) => uuid);
    const now = await this.proposals.standings(uuids, head.number);
    const stays = await this.proposals.standings(uuids, settled);
    for (const [index, decision] of decisions.entries()) {
      if (this.#end(decision, stays[index])) continue;
      this.#goOn(decision, now[index], head);
    }
  }

  /**
   * Keeps DECISIONS-3.
   * @returns true if there is nothing to send
   */
  #end(decision: Decision, { isDecided, decidedYes, number, isOpen }: Standing): boolean {
    const { market, status, payout_yes_ppm, base, state } = decision;
    const commit = (change: () => void): true => {
      this.#options.db.transaction(change)();
      return true;
    };
    const { news } = this.#options;
    if (isDecided && decidedYes !== payout_yes_ppm) {
      if (state === 'otherwise') return true;
      return commit(() => this.#setOtherwise(decision, decidedYes));
    }
    if (isDecided) {
      return commit(() => {
        if (this.#settle(market)) this.rows.remove(market);
        else if (state !== 'decided') {
          this.rows.set(market, 'decided');
          news.add('marketDecided', { market, status, payoutYesPpm: payout_yes_ppm });
        }
      });
    }
    if (base === null || number <= base || isOpen) return false;
    if (this.rows.isInLedger(market)) return commit(() => this.rows.setBase(market, number));
    return commit(() => {
      this.rows.remove(market);
      news.add('decisionVetoed', { market, payoutYesPpm: payout_yes_ppm, number });
    });
  }

  #setOtherwise({ market }: Decision, decidedYes: number): void {
    this.rows.set(market, 'otherwise');
    const reason = `the chain pays ${decidedYes} millionths for Yes`;
    for (const { id } of this.rows.ofLedgerIn(market)) this.#options.work.setStatus(id, 'failed', reason);
  }

  /**
   * The chain has decided as the ledger has.
   * @returns false if the ledger has not decided yet
   */
  #settle(market: number): boolean {
    for (const { id } of this.rows.ofLedgerIn(market)) this.#options.work.setStatus(id, 'settled');
    return this.rows.isInLedger(market);
  }

  #goOn(decision: Decision, standing: Standing, { number: block, timestampSec }: Block): void {
    const { market, payout_yes_ppm, base, job, state, not_before } = decision;
    const { number, from, isOpen, isDecided, yesPayout } = standing;
    const { db, rotation } = this.#options;
    const isOurs = isOpen && yesPayout === payout_yes_ppm;
    if (isOurs && (base === null || state !== 'proposed')) {
      db.transaction(() => {
        if (base === null) this.rows.setBase(market, number - 1);
        this.rows.set(market, 'proposed');
      })();
    }
    if (isDecided || job !== null || not_before > block || !this.#envelopes.hasRoom || !this.rows.isReady(market))
      return;
    if (isOurs) {
      if (timestampSec >= from) this.#send(decision, 'carryOut', [BigInt(number)]);
      return;
    }
    const isProposed = base !== null && number > base;
    // There is a proposal by others, or a veto that may still be reorganised away.
    if (isOpen || isProposed || !this.mayPropose) return;
    if (!this.rows.isInLedger(market) && rotation.active.exchange !== rotation.newest) return;
    const payouts = [payout_yes_ppm, ONE_PPM - payout_yes_ppm].map(BigInt);
    this.#send(decision, 'propose', [decision.uuid, ...payouts], number);
  }

  /** Job, base and nonce are stored in one transaction. */
  #send(
    { market }: Decision,
    functionName: 'propose' | 'carryOut',
    args: readonly unknown[],
    base: number | null = null,
  ): void {
    const { db, work, rotation, resolutions } = this.#options;
    const data = encodeFunctionData({ abi: RESOLUTIONS_ABI, functionName, args } as never);
    const draft: Draft = { to: resolutions, data, gas: DECISION_GAS };
    db.transaction(() => {
      if (base !== null) this.rows.setBase(market, base);
      const job = work.addJob(rotation.active.exchange, [], null);
      this.rows.submit(market, job);
      this.#envelopes.reserve(job, draft);
    })();
  }
}
