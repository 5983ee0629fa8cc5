/**
 * Decides from a receipt what happened to the work of its transaction, and updates that work as the chain advances.
 *
 * Invariants:
 *   OUTCOMES-1  Work follows the transaction that is its `job`: the last one sent for it, until one of them succeeds. A
 *               reorganisation can carry out an earlier transaction that was reverted before; the last one then has
 *               nothing to do, even if it was in a block before the reorganisation.
 *   OUTCOMES-2  A trade counts as settled only if the contract says so: by an event, or when asked.
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

/**
 * Failures that pass once other work is on the chain; the second passes only if that work is an older fill of the same
 * order.
 */
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
  /** Called when a late move is final, in the transaction that records this. */
  readonly onMovedLate: (work: Work) => void;
  /** The contract that makes payments; null if the operator makes each payment in its own transaction. */
  readonly payments: Hex | null;
  readonly floors?: Floors | undefined;
};

export class Outcomes {
  /** Consecutive batches of trades that were reverted or settled nothing. Other work does not count. */
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
      ? await this.#resultsOf(work, exchange, receipt)
      : work.map((each) => ({ work: each, is: 'again', reason: REVERTED }) as const);
    return () => {
      this.#rows.setMined(job, receipt);
      for (const result of results) this.#apply(job, result, receipt.blockNumber);
      if (work[0].kind === KIND.TRADE) {
        this.failedInRow = results.some(({ is }) => is === 'mined') ? 0 : this.failedInRow + 1;
      }
    };
  }

  /** A reorganisation has removed the transaction's block: the transaction is sent again. */
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

  /**
   * Returns the callbacks for the jobs of one key.
   * @param lost sends the same transaction with another nonce of that key
   */
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
        // A repeated batch emits no events.
        const isDone = await this.isSettled(tradeId(each), exchange);
        return isDone ? { work: each, is: 'mined', reason: MINED } : { work: each, is: 'again', reason: 'no event' };
      }),
    );
  }

  /** Work other than trades is done if its transaction was not reverted, except payments that failed inside it. */
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
   * Asks for the latest state, because nodes forget older ones. No later transaction holds the same trade, so a settled
   * trade was settled by this transaction or an earlier one.
   */
  async isSettled(trade: bigint, exchange: Hex): Promise<boolean> {
    const data = encodeFunctionData({ abi: EXCHANGE_ABI, functionName: 'tradeSettled', args: [trade] });
    return (await this.#word(exchange, data)) === 1n;
  }

  async #word(contract: Hex, data: Hex): Promise<bigint> {
    const answer = await this.#node.view(contract, data, 'latest');
    // A node that does not have the contract's state answers with no bytes.
    if (answer.length !== 66) throw new NodeUnreachable('the node does not have the state of the contract');
    return BigInt(answer);
  }

  /** Keeps OUTCOMES-1. */
  #apply(job: number, { work, is, reason }: Result, block: number): void {
    const now = this.#rows.get(work.id)!;
    if (now.status === 'settled') return;
    if (now.job !== job) {
      // Jobs of a key are carried out in their order.
      if (is !== 'mined' || (now.status === 'mined' && now.job! < job)) return;
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
    return decodeEventLog({ abi: EXCHANGE_ABI, topics: [topics[0], ...topics.slice(1)], data });
  } catch {
    // The log is an event that settlement does not read.
    return null;
  }
}

function failedPayment({ topics, data }: Log): (readonly [Hex, Hex])[] {
  try {
    const { args } = decodeEventLog({ abi: PAYMENTS_ABI, topics: [topics[0], ...topics.slice(1)], data });
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
