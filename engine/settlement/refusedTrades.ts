/**
 * Trades that the contract refuses for good, and what an administrator does about them (RULES.md 17.40 to 17.42). The
 * ledger unwinds a trade; its journal says so, and the follower notes it here.
 *
 * Invariants:
 *   REFUSED-1  A trade is retried or unwound, never both: a request to unwind holds it until the ledger refuses the
 *              unwinding.
 *   REFUSED-2  A trade is unwound only if its failure is final on the chain, and only once both orders are closed: the
 *              fee of a later fill depends on all fills before it.
 */
import { prepared } from '../../shared/base/prepared.ts';
import type { StoreDatabase } from '../../shared/records/recordedDatabase.ts';
import type {
  FailedTrade,
  TradePlace,
  TradeQuestions,
  TradeRefusal,
  Unwinding,
} from '../../shared/wire/tradeQuestions.ts';
import { unwindingOf } from './unwinding.ts';
import { KIND, type Work, type WorkRows } from './work.ts';

type Handlers = {
  readonly [N in keyof TradeQuestions]: (ask: TradeQuestions[N]['ask']) => TradeQuestions[N]['answer'];
};
type TradeRow = Work & {
  readonly taker_account: number;
  readonly is_held: number;
  readonly unwound_ms: number | null;
  /** True if the block of the failed transaction is final. */
  readonly is_final: number | null;
};
type FailedRow = Omit<FailedTrade, 'failedMs'> & { readonly id: number; readonly failedMs: number };

const TRIED_AGAIN = 'an administrator has it tried again';

export class RefusedTrades {
  readonly handlers: Handlers = {
    failedTrades: ({ after, limit }) => this.#list(after, limit),
    marketTrades: ({ market }) => {
      this.#follow();
      return this.#countIn(market);
    },
    mayUnwind: (place) => ({ refusal: this.#whyNot(this.#find(place)) }),
    unwindTrade: (place) => this.#unwind(place),
    releaseTrade: (place) => this.#release(place),
    retryTrade: (place) => ({ refusal: this.#retry(place) }),
  };
  readonly #db: StoreDatabase;
  readonly #rows: WorkRows;
  readonly #follow: () => void;

  /** @param follow reads the journals up to now */
  constructor(db: StoreDatabase, rows: WorkRows, follow: () => void = () => {}) {
    this.#db = db;
    this.#rows = rows;
    this.#follow = follow;
  }

  #countIn(market: number): TradeQuestions['marketTrades']['answer'] {
    const sql = `SELECT ifnull(sum(status = 'failed'), 0) AS failed,
        ifnull(sum(status IN ('pending', 'submitted')), 0) AS open
      FROM work WHERE market = ? AND status <> 'settled' AND kind = ${KIND.TRADE} AND unwound_ms IS NULL`;
    return prepared<[number], TradeQuestions['marketTrades']['answer']>(this.#db, sql).get(market)!;
  }

  #list(after: number, limit: number): TradeQuestions['failedTrades']['answer'] {
    const found = prepared<[number, number], FailedRow>(
      this.#db,
      `SELECT id, shard, sequence AS tradeSequence, matched_ms AS matchedMs, market, account AS maker,
           taker_account AS taker, amount AS lots, yes_ticks AS yesTicks, reason,
           (SELECT at_ms FROM history WHERE work = work.id ORDER BY step DESC LIMIT 1) AS failedMs
         FROM work WHERE status = 'failed' AND unwound_ms IS NULL AND id > ? ORDER BY id LIMIT ?`,
    ).all(after, limit);
    return { trades: found.map(({ id, ...trade }) => trade), next: found.length < limit ? null : found.at(-1)!.id };
  }

  /** Keeps REFUSED-1: durable before the ledger is asked. */
  #unwind(place: TradePlace): TradeQuestions['unwindTrade']['answer'] {
    const trade = this.#find(place);
    const refusal = this.#whyNot(trade);
    if (refusal !== null) return { refusal };
    this.#hold(trade!, true);
    return { refusal: null, unwinding: this.#unwindingOf(trade!) };
  }

  /** Keeps REFUSED-2. */
  #whyNot(trade: TradeRow | undefined): TradeRefusal | null {
    const refusal = whyNotFailed(trade);
    if (refusal !== null) return refusal;
    const { is_final, maker_order, taker_order } = trade!;
    if (is_final !== 1) return 'not final';
    const isOpen = [maker_order!, taker_order!].some((order) => this.#rows.order(order).slot !== null);
    if (isOpen) return 'orders open';
    return this.#isNeighbourHeld(trade!) ? 'being unwound' : null;
  }

  /** The fee of the second of two fills of one order depends on how the first ended. */
  #isNeighbourHeld({ id, maker_order, taker_order }: TradeRow): boolean {
    const found = prepared(
      this.#db,
      `SELECT 1 FROM work WHERE status = 'failed' AND is_held = 1 AND unwound_ms IS NULL AND id <> @id
         AND (maker_order IN (@maker_order, @taker_order) OR taker_order IN (@maker_order, @taker_order))`,
    );
    return found.get({ id, maker_order, taker_order }) !== undefined;
  }

  #release(place: TradePlace): null {
    const trade = this.#find(place);
    if (trade !== undefined) this.#hold(trade, false);
    return null;
  }

  #retry(place: TradePlace): TradeRefusal | null {
    const trade = this.#find(place);
    const refusal = whyNotFailed(trade);
    if (refusal !== null) return refusal;
    if (trade!.is_held === 1) return 'being unwound';
    this.#db.transaction(() => this.#rows.retry(trade!, 0, TRIED_AGAIN))();
    return null;
  }

  #hold({ id }: TradeRow, isHeld: boolean): void {
    prepared(this.#db, 'UPDATE work SET is_held = ? WHERE id = ?').run(isHeld ? 1 : 0, id);
  }

  #unwindingOf(trade: TradeRow): Unwinding {
    const { market, account: maker, taker_account: taker, amount: lots, yes_ticks, maker_order, taker_order } = trade;
    const fill = { lots, yesTicks: yes_ticks!, ticksPerUnit: this.#rows.market(market).ticks_per_unit };
    const party = (id: number) => {
      const { side, outcome, fee_bps: feeBps, received } = this.#rows.order(id);
      return { side, outcome, feeBps, received };
    };
    return { market, maker, taker, changes: unwindingOf(fill, party(maker_order!), party(taker_order!)) };
  }

  #find({ shard, tradeSequence }: TradePlace): TradeRow | undefined {
    return prepared<[number, number], TradeRow>(
      this.#db,
      `SELECT work.*, jobs.is_final FROM work LEFT JOIN jobs ON jobs.id = work.job
         WHERE shard = ? AND kind = ${KIND.TRADE} AND sequence = ? AND part = 0`,
    ).get(shard, tradeSequence);
  }
}

function whyNotFailed(trade: TradeRow | undefined): TradeRefusal | null {
  if (trade === undefined) return 'unknown';
  if (trade.unwound_ms !== null) return 'unwound';
  return trade.status === 'failed' ? null : 'not failed';
}
