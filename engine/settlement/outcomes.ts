/**
 * The meaning of a receipt for the work of its transaction, and what becomes of that work as the chain goes on.
 *
 * Invariants:
 *   OUTCOMES-1  Work follows the transaction that is its `job`: the last one that was sent for it, until one has done
 *               it. A reorganisation can carry out an earlier one that was reverted before; the last one then finds
 *               nothing to do.
 *   OUTCOMES-2  A trade is taken for settled only by the contract's word: an event, or its answer when it is asked.
 */
import { decodeErrorResult, decodeEventLog, encodeFunctionData, type Hex } from 'viem';
import type { Floors } from '../../shared/base/floors.ts';
import { chainTradeId } from '../../shared/chain/batch.ts';
import type { Draft } from '../../shared/chain/envelopeRows.ts';
import type { JobListener } from '../../shared/chain/envelopes.ts';
import { EXCHANGE_ABI, PAYMENTS_ABI } from '../../shared/chain/exchangeAbi.ts';
import type { ChainNode, Log, Receipt } from '../../shared/chain/node.ts';
import { NodeUnreachable } from '../../shared/chain/rpc.ts';
import { operationId } from './drafts.ts';
import type { News } from './news.ts';
import { KIND, type Work, type WorkRows } from './work.ts';

type Result = { readonly work: Work; readonly is: 'mined' | 'failed' | 'again'; readonly reason: string };

/** Failures that pass once other work is on the chain; the second only if that is an older fill of the same order. */
const SHORT_OF_FUNDS = 'InsufficientHeld';
const OUT_OF_ORDER = 'MinTakerNetNotMet';
/** A reorganisation may put a trade before the deployment of its market, which another key sends. */
const TOO_EARLY = 'UnknownToken';
const MOST_TOO_EARLY = 12;
const DONE_BEFORE = 'TradeAlreadySettled';
const REVERTED = 'the transaction was reverted';
const MINED = '';

type OutcomesOptions = {
  readonly rows: WorkRows;
  readonly node: ChainNode;
  readonly news: News;
  /** A late move is final. Called in the transaction that says so. */
  readonly onMovedLate: (work: Work) => void;
  /** The contract that pays; null: the operator does, and a payment has a transaction of its own. */
  readonly payments: Hex | null;
  readonly floors?: Floors;
};

export class Outcomes {
  /** Batches of trades in a row that were reverted, or in which nothing was settled. Other work does not count. */
  failedInRow = 0;
  readonly #rows: WorkRows;
  readonly #node: ChainNode;
  readonly #news: News;
  readonly #onMovedLate: (work: Work) => void;
  readonly #payments: Hex | null;
  readonly #floors: Floors;

  constructor({ rows, node, news, onMovedLate, payments, floors = [] }: OutcomesOptions) {
    this.#payments = payments;
    this.#floors = floors;
    this.#rows = rows;
    this.#node = node;
    this.#news = news;
    this.#onMovedLate = onMovedLate;
  }

  async read(job: number, receipt: Receipt): Promise<() => void> {
    const { exchange, work } = this.#rows.job(job);
    const results = receipt.isSuccess
      ? await this.#resultsOf(work, exchange as Hex, receipt)
      : work.map((each) => ({ work: each, is: 'again', reason: REVERTED }) as const);
    return () => {
      this.#rows.setMined(job, receipt);
      for (const result of results) this.#apply(job, result, receipt.blockNumber);
      if (work[0].kind === KIND.TRADE) {
        this.failedInRow = results.some(({ is }) => is === 'mined') ? 0 : this.failedInRow + 1;
      }
    };
  }

  /** A reorganisation has taken the block of the transaction away: it is sent again. */
  unmined(job: number): void {
    this.#rows.setMined(job, null);
    for (const { id } of this.#ofJob(job)) {
      const status = this.#rows.get(id)!.status;
      if (status === 'mined' || status === 'failed') this.#rows.setStatus(id, 'submitted');
    }
  }

  final(job: number): void {
    this.#rows.setFinal(job);
    for (const work of this.#ofJob(job)) {
      const { id, status, maker_order, taker_order } = work;
      if (status !== 'mined') continue;
      this.#rows.setStatus(id, 'settled');
      if (work.kind === KIND.LATE_MOVE) this.#onMovedLate(work);
      for (const order of [maker_order, taker_order]) if (order !== null) this.#rows.dropOrder(order);
    }
  }

  /** For the jobs of a key. @param lost gives the same transaction another nonce of that key */
  of(lost: (job: number, draft: Draft) => void): JobListener {
    return {
      read: (job, receipt) => this.read(job, receipt),
      unmined: (job) => this.unmined(job),
      final: (job) => this.final(job),
      lost,
    };
  }

  async #resultsOf(work: readonly Work[], exchange: Hex, { logs }: Receipt): Promise<Result[]> {
    if (work[0].kind !== KIND.TRADE) return this.#movementsOf(work, logs);
    const own = logs.filter(({ address }) => address === exchange).map(decodeLog);
    const settled = new Set(own.flatMap((log) => (log?.eventName === 'MatchSettled' ? [log.args.tradeId] : [])));
    const failed = new Map(
      own.flatMap((log) => (log?.eventName === 'MatchFailed' ? [[Number(log.args.index), log.args.reason]] : [])),
    );
    return Promise.all(
      work.map(async (each, index): Promise<Result> => {
        const reason = failed.get(index);
        if (settled.has(tradeId(each))) return { work: each, is: 'mined', reason: MINED };
        if (reason !== undefined && errorName(reason) !== DONE_BEFORE) return this.#failure(each, errorName(reason));
        // A batch that is repeated has no events.
        const isDone = await this.isSettled(tradeId(each), exchange);
        return isDone ? { work: each, is: 'mined', reason: MINED } : { work: each, is: 'again', reason: 'no event' };
      }),
    );
  }

  /** All that is no trade is done by a transaction that was not reverted, but payments that have failed in it. */
  #movementsOf(work: readonly Work[], logs: readonly Log[]): Result[] {
    const failed = new Map(logs.flatMap((log) => (log.address === this.#payments ? failedPayment(log) : [])));
    if (failed.size === 0) return work.map((each) => ({ work: each, is: 'mined', reason: MINED }));
    return work.map((each): Result => {
      const reason = failed.get(operationId(each, this.#floors));
      return reason === undefined
        ? { work: each, is: 'mined', reason: MINED }
        : { work: each, is: 'again', reason: errorName(reason) };
    });
  }

  #failure(work: Work, reason: string): Result {
    const passes =
      reason === SHORT_OF_FUNDS ||
      (reason === OUT_OF_ORDER && this.#rows.hasOlderFills(work)) ||
      (reason === TOO_EARLY && work.failures < MOST_TOO_EARLY);
    return { work, is: passes ? 'again' : 'failed', reason };
  }

  /**
   * Asks for the newest state, because nodes forget older ones. No later transaction has the same trade, so what is
   * settled now was settled by this one or one before it.
   */
  async isSettled(trade: bigint, exchange: Hex): Promise<boolean> {
    const data = encodeFunctionData({ abi: EXCHANGE_ABI, functionName: 'tradeSettled', args: [trade] });
    return (await this.#word(exchange, data)) === 1n;
  }

  async #word(contract: Hex, data: Hex): Promise<bigint> {
    const answer = await this.#node.view(contract, data, 'latest');
    // A node that has no state of the contract answers with no bytes.
    if (answer.length !== 66) throw new NodeUnreachable('the node does not have the state of the contract');
    return BigInt(answer);
  }

  /** Keeps OUTCOMES-1. */
  #apply(job: number, { work, is, reason }: Result, block: number): void {
    const now = this.#rows.get(work.id)!;
    if (now.status === 'settled') return;
    if (now.job !== job) {
      if (is !== 'mined' || !(now.status === 'pending' || now.status === 'submitted')) return;
      this.#rows.giveJob(now.id, job);
    }
    if (is === 'again') this.#rows.retry(now, block, reason);
    else this.#rows.setStatus(work.id, is, reason === MINED ? null : reason);
    if (is !== 'failed') return;
    const { shard, sequence: tradeSequence, market } = work;
    this.#news.add('tradeFailed', { shard, tradeSequence, market, reason });
  }

  #ofJob(job: number): Work[] {
    return this.#rows.job(job).work.filter((each) => each.job === job);
  }
}

function tradeId({ shard, sequence }: Work): bigint {
  return chainTradeId(shard, sequence);
}

function decodeLog({ topics, data }: Log) {
  try {
    return decodeEventLog({ abi: EXCHANGE_ABI, topics: topics as [Hex, ...Hex[]], data });
  } catch {
    // An event that settlement does not read.
    return null;
  }
}

function failedPayment({ topics, data }: Log): (readonly [Hex, Hex])[] {
  try {
    const { args } = decodeEventLog({ abi: PAYMENTS_ABI, topics: topics as [Hex, ...Hex[]], data });
    return [[args.operationId, args.reason]];
  } catch {
    // Another event of the contract, such as that of a role.
    return [];
  }
}

function errorName(data: Hex): string {
  try {
    return decodeErrorResult({ abi: EXCHANGE_ABI, data }).errorName;
  } catch {
    return data.slice(0, 10);
  }
}
