/**
 * The history that every account must be shown, computed from the events of a journal by the obvious means: all orders
 * and fills in memory, big integers, no index. It shares the form of ids with the projector and the queries, no more.
 */
import { JournalReader } from '../../engine/journal/reader.ts';
import { JournalHead } from '../../engine/journal/row.ts';
import { CLOSE_REASON_NAMES, SIDE_NAMES, TIME_IN_FORCE_NAMES } from '../../shared/base/codes.ts';
import { bytesToUuid } from '../../shared/base/hex.ts';
import { ID_KIND, timeOrderedId } from '../../shared/base/ids.ts';
import { decodeEvents, type EventOf } from '../../shared/wire/events.ts';
import { labelOf } from './historyReader.ts';
import { TEST_KEY } from './journalKey.ts';

type Row = Record<string, unknown>;

export type OracleOrder = {
  readonly id: string;
  readonly event: EventOf<'ORDER'>;
  readonly side: string;
  readonly outcome: number;
  readonly timeInForce: string;
  clientId: string | null;
  left: bigint;
  paid: bigint;
  /** The name of CLOSE_REASON; null while it is open. */
  reason: string | null;
  updatedMs: number;
};
type OracleFill = {
  readonly id: string;
  readonly event: EventOf<'FILL'>;
  readonly maker: OracleOrder;
  readonly taker: OracleOrder;
  readonly atMs: number;
  /** In microseconds, later than every earlier fill of the market. */
  readonly time: string;
};
/** Rows of one list, each with its sort key. */
export type Sorted = { readonly atMs: number; readonly rank: number; readonly key: string; readonly row: Row };

type Market = { readonly id: string; readonly unit: bigint };

const FIELDS_OF_FILL = [
  'party_order_id',
  'party_side',
  'party_outcome_index',
  'notional_usdc_micro',
  'token_quantity_atomic',
  'party_outcome_name',
];
const NO_FILL = Object.fromEntries(FIELDS_OF_FILL.map((name) => [name, null]));

export class HistoryOracle {
  readonly orders: OracleOrder[] = [];
  readonly fills: OracleFill[] = [];
  readonly #markets = new Map<number, Market>();
  readonly #slots = new Map<number, OracleOrder>();

  /** Reads a journal whose shard is 0. */
  constructor(journalPath: string) {
    const reader = new JournalReader(journalPath, TEST_KEY);
    reader.readFrom(new JournalHead(0, 0, 0), reader.facts().lastSequence, ({ timeMs, events }) => {
      let last: OracleOrder | null = null;
      for (const event of decodeEvents(events.words, events.word, events.end)) {
        if (event.name === 'MARKET') this.#open(event);
        if (event.name === 'ORDER') last = this.#place(event);
        if (event.name === 'ORDER_TAG' && event.clientId !== '') last!.clientId = event.clientId;
        if (event.name === 'FILL') this.#fill(event, timeMs);
        if (event.name === 'CLOSED') this.#close(event, timeMs);
      }
    });
    reader.close();
  }

  marketId(market: number): string {
    return this.#markets.get(market)!.id;
  }

  /** Rows of GET /v1/user/orders/v2, unsorted; `row` of GET /v1/user/orders if `isLegacy`. */
  orderRows(account: number, sort: 'created_at' | 'updated_at', isLegacy = false): (Sorted & { order: OracleOrder })[] {
    return this.orders
      .filter(({ event }) => event.account === account)
      .map((order) => ({
        order,
        atMs: sort === 'created_at' ? order.event.createdMs : order.updatedMs,
        rank: 0,
        key: order.id,
        row: { ...this.#record(order), ...(isLegacy ? {} : this.#secondVersion(order)) },
      }));
  }

  tradeRows(account: number, isLegacy = false): (Sorted & { fill: OracleFill })[] {
    return this.#fillsOf(account).map((fill) => {
      const { taker } = fill;
      const unit = this.#unit(taker);
      const tokens = String(BigInt(fill.event.lots) * unit);
      const of = { id: fill.id, market_id: this.marketId(taker.event.market) };
      const at = fill.time;
      const price = digits8((this.#ticks(fill, taker.outcome) * 100_000_000n) / unit);
      const party = this.#party(fill, account);
      const isTaker = taker.event.account === account;
      const own = isTaker ? taker : fill.maker;
      const first = { outcome: taker.outcome, price, quantity: tokens, side: taker.side, tx_signature: null };
      const second = {
        ...{ taker_order_id: taker.id, maker_order_id: fill.maker.id, price },
        amount: taker.side === 'BUY' ? String(BigInt(fill.event.lots) * this.#ticks(fill, taker.outcome)) : tokens,
        ...{ taker_side: taker.side, outcome_index: taker.outcome },
        role: isTaker ? 'taker' : 'maker',
        order_hash: `0x${Buffer.from(own.event.hash).toString('hex')}`,
        fee_amount: String(isTaker ? fill.event.takerFee : fill.event.makerFee),
        fee_asset: own.side === 'BUY' ? 'TOKEN' : 'USDC',
        ...{ settlement_status: 'settled', matched_at: at },
      };
      const row = { ...of, ...(isLegacy ? { ...first, created_at: at } : second), ...party };
      return { fill, atMs: fill.atMs, rank: 0, key: fill.id, row };
    });
  }

  activityRows(account: number): Sorted[] {
    const own = this.orders.filter(({ event }) => event.account === account);
    const placed = own.map((order) => this.#ofOrder(order, 'placed', order.event.createdMs, null));
    const ended = own
      .filter(({ reason }) => reason !== null && reason !== 'filled')
      .map((order) => {
        return this.#ofOrder(
          order,
          order.reason === 'expired' ? 'expired' : 'cancelled',
          order.updatedMs,
          order.reason,
        );
      });
    const fills = this.#fillsOf(account).map((fill): Sorted => {
      const order = fill.taker.event.account === account ? fill.taker : fill.maker;
      const of = { id: fill.id, type: 'fill', market_id: this.marketId(order.event.market) };
      const amount = { quantity_atomic: String(BigInt(fill.event.lots) * this.#unit(order)) };
      const row = {
        ...{ ...of, order_id: order.id, trade_id: fill.id, side: order.side, outcome_index: order.outcome, ...amount },
        price: digits8((this.#ticks(fill, order.outcome) * 100_000_000n) / this.#unit(order)),
        ...{ reason: null, created_at: fill.time },
        ...this.#party(fill, account),
        party_outcome_name: labelOf(order.outcome),
      };
      return { atMs: fill.atMs, rank: 1, key: fill.id, row };
    });
    return [...placed, ...ended, ...fills];
  }

  #open(event: EventOf<'MARKET'>): void {
    this.#markets.set(event.market, { id: bytesToUuid(event.uuid), unit: BigInt(event.ticksPerUnit) });
  }

  #place(event: EventOf<'ORDER'>): OracleOrder {
    const { side, outcome, timeInForce } = event.kind;
    const order: OracleOrder = {
      id: timeOrderedId(event.createdMs, 0, ID_KIND.ORDER, event.sequence),
      ...{ event, side: SIDE_NAMES[side]!, outcome, timeInForce: TIME_IN_FORCE_NAMES[timeInForce]! },
      ...{ clientId: null, left: BigInt(event.quantityLots), paid: 0n, reason: null, updatedMs: event.createdMs },
    };
    this.orders.push(order);
    this.#slots.set(event.slot, order);
    return order;
  }

  #fill(event: EventOf<'FILL'>, atMs: number): void {
    const [maker, taker] = [this.#slots.get(event.makerSlot)!, this.#slots.get(event.takerSlot)!];
    const id = timeOrderedId(atMs, 0, ID_KIND.TRADE, event.tradeSequence);
    const fill = { id, event, maker, taker, atMs, time: this.#timeOf(event.market, atMs) };
    this.fills.push(fill);
    for (const order of [maker, taker]) {
      order.left -= BigInt(event.lots);
      order.paid += BigInt(event.lots) * this.#ticks(fill, order.outcome);
      order.updatedMs = atMs;
    }
  }

  #timeOf(market: number, atMs: number): string {
    const before = this.fills.findLast(({ event }) => event.market === market)?.time;
    const [start, micros] = [`${new Date(atMs).toISOString().slice(0, -1)}000Z`, before?.slice(-7, -1)];
    if (before === undefined || start > before) return start;
    return before.replace(/[0-9]{6}Z$/, `${String(Number(micros) + 1).padStart(6, '0')}Z`);
  }

  #close(event: EventOf<'CLOSED'>, atMs: number): void {
    const order = this.#slots.get(event.slot)!;
    order.reason = CLOSE_REASON_NAMES[event.reason]!;
    order.updatedMs = atMs;
    this.#slots.delete(event.slot);
  }

  /** A trade with oneself is one. */
  #fillsOf(account: number): OracleFill[] {
    return this.fills.filter(({ maker, taker }) => [maker, taker].some(({ event }) => event.account === account));
  }

  #unit({ event }: OracleOrder): bigint {
    return this.#markets.get(event.market)!.unit;
  }

  #ticks({ event, taker }: Pick<OracleFill, 'event' | 'taker'>, outcome: number): bigint {
    return outcome === 0 ? BigInt(event.yesTicks) : this.#unit(taker) - BigInt(event.yesTicks);
  }

  #party(fill: OracleFill, account: number): Row {
    const order = fill.taker.event.account === account ? fill.taker : fill.maker;
    return {
      party_order_id: order.id,
      party_side: order.side,
      party_outcome_index: order.outcome,
      notional_usdc_micro: String(BigInt(fill.event.lots) * this.#ticks(fill, order.outcome)),
      token_quantity_atomic: String(BigInt(fill.event.lots) * this.#unit(order)),
    };
  }

  #record(order: OracleOrder): Row {
    const { event, side } = order;
    const { usdc, tokens, filledTokens } = this.#amounts(order);
    const maker = BigInt(event.makerAmount);
    const filled = order.left === 0n ? maker : side === 'BUY' ? (usdc * filledTokens) / tokens : filledTokens;
    const limit = this.#isImmediate(order)
      ? (usdc * 100_000_000n) / tokens
      : (BigInt(event.limitTicks) * 100_000_000n) / this.#unit(order);
    return {
      ...{ id: order.id, order_hash: `0x${Buffer.from(event.hash).toString('hex')}` },
      ...{ market_id: this.marketId(event.market), side, price: digits8(limit), status: statusOf(order) },
      remaining: String(this.#isKilled(order) ? 0n : maker - filled),
      filled_amount: String(filled),
      ...{ time_in_force: order.timeInForce, post_only: (event.kind.bits & 1) === 1 },
      created_at: new Date(event.createdMs).toISOString(),
      filled_token_quantity_atomic: String(filledTokens),
      average_fill_price: filledTokens === 0n ? null : digits8((order.paid * 100_000_000n) / filledTokens),
      sequence: event.sequence,
      outcome_index: order.outcome,
      ...(order.clientId === null ? {} : { client_order_id: order.clientId }),
    };
  }

  #secondVersion(order: OracleOrder): Row {
    const { usdc, tokens, filledTokens } = this.#amounts(order);
    const filled = order.left === 0n ? usdc : (usdc * filledTokens) / tokens;
    return {
      initial_limit_notional_usdc_micro: String(usdc),
      filled_limit_notional_usdc_micro: String(filled),
      remaining_limit_notional_usdc_micro: String(this.#isKilled(order) ? 0n : usdc - filled),
      updated_at: new Date(order.updatedMs).toISOString(),
    };
  }

  #amounts(order: OracleOrder) {
    const [maker, taker] = [BigInt(order.event.makerAmount), BigInt(order.event.takerAmount)];
    const filledTokens = (BigInt(order.event.quantityLots) - order.left) * this.#unit(order);
    return order.side === 'BUY'
      ? { usdc: maker, tokens: taker, filledTokens }
      : { usdc: taker, tokens: maker, filledTokens };
  }

  #isImmediate({ timeInForce }: OracleOrder): boolean {
    return timeInForce === 'FOK' || timeInForce === 'FAK';
  }

  #isKilled(order: OracleOrder): boolean {
    return this.#isImmediate(order) && order.reason !== null && order.left > 0n;
  }

  #ofOrder(order: OracleOrder, type: string, atMs: number, reason: string | null): Sorted {
    const { event, id } = order;
    const lots = type === 'placed' ? BigInt(event.quantityLots) : order.left;
    const row = {
      id: type === 'placed' ? id : timeOrderedId(atMs, 0, ID_KIND.ENDING, event.sequence),
      ...{ type, market_id: this.marketId(event.market), order_id: id, trade_id: null, side: order.side },
      ...{ outcome_index: order.outcome, price: this.#record(order)['price'] },
      ...{ quantity_atomic: String(lots * this.#unit(order)), reason, created_at: new Date(atMs).toISOString() },
      ...NO_FILL,
    };
    return { atMs, rank: type === 'placed' ? 0 : 2, key: id, row };
  }
}

/** Newest first. */
export function sorted<S extends Sorted>(rows: readonly S[]): S[] {
  return rows.toSorted((a, b) => b.atMs - a.atMs || b.rank - a.rank || (a.key < b.key ? 1 : a.key > b.key ? -1 : 0));
}

export function statusOf({ event, left, reason }: OracleOrder): string {
  if (reason === 'filled') return 'filled';
  if (reason === 'expired') return 'expired';
  if (reason !== null) return 'cancelled';
  return left === BigInt(event.quantityLots) ? 'open' : 'partially_filled';
}

function digits8(hundredMillionths: bigint): string {
  return `${hundredMillionths / 100_000_000n}.${String(hundredMillionths % 100_000_000n).padStart(8, '0')}`;
}
