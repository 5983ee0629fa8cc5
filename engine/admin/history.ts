/**
 * The events of one shard as lines for people and other programs: names, ids and units as in the API. Holds what later
 * lines need of markets and open orders, so memory grows with those and not with the history.
 *
 * Of an order that was accepted in records which are no longer there, ids and outcome are null until a snapshot tells
 * of it (`takeOver`).
 */
import {
  CLOSE_REASON,
  CLOSE_REASON_NAMES,
  MARKET_STATUS_NAMES,
  MATCH_TYPE_NAMES,
  MOVEMENT_NAMES,
  SIDE,
  SIDE_NAMES,
  TIME_IN_FORCE_NAMES,
} from '../../shared/codes.ts';
import {
  kindBits,
  kindOutcome,
  kindSide,
  kindTimeInForce,
  NO_MARKET,
  PLACE_BIT_POST_ONLY,
} from '../../shared/commands.ts';
import * as ev from '../../shared/events.ts';
import { bytesToUuid, HASH_BYTES, toHex } from '../../shared/hex.ts';
import { ID_KIND, timeOrderedId } from '../../shared/ids.ts';
import { mulSafe } from '../../shared/int.ts';
import { ownTicks } from '../../shared/orderMath.ts';
import { readSafe, readSigned } from '../../shared/record.ts';
import { readClientId } from '../../shared/tag.ts';
import { tickToPrice8 } from '../../shared/units.ts';
import { NUMBERS, PLACE_OF, WORDS } from '../orders.ts';
import type { ShardState } from '../state.ts';

type Market = {
  readonly id: string;
  readonly ticksPerUnit: number;
  /** What a line about the market said last; collateral alone changes with every minted set and is not told. */
  told: string;
};
type Order = { readonly id: string; readonly hash: string; readonly side: number; readonly outcome: number };
type Line = Record<string, string | number | boolean | null>;
/** @param marketId null for what belongs to no market: deposits and withdrawals. */
export type LineVisitor = (line: Line, marketId: string | null) => void;

export class History {
  readonly #shard: number;
  readonly #visit: LineVisitor;
  readonly #markets = new Map<number, Market>();
  /** Open orders by slot. */
  readonly #orders = new Map<number, Order>();
  #sequence = 0;
  #timeMs = 0;

  constructor(shard: number, visit: LineVisitor) {
    this.#shard = shard;
    this.#visit = visit;
  }

  /** The markets a snapshot knows: none is ever forgotten, so they serve earlier records as well. */
  takeOverMarkets(state: ShardState): void {
    for (const { index, uuid, ticksPerUnit } of state.markets.all()) {
      this.#markets.set(index, { id: bytesToUuid(bytesOf(uuid, 0, 4)), ticksPerUnit, told: '' });
    }
  }

  /** The orders that are open at the snapshot's record, once it is reached. */
  takeOverOrders({ orders }: ShardState): void {
    for (let slot = 0; slot < orders.capacity; slot++) {
      if (orders.place[slot << WORDS] === PLACE_OF.FREE) continue;
      const kind = orders.kind[slot << WORDS]!;
      this.#orders.set(slot, {
        id: timeOrderedId(
          orders.createdMs[slot << NUMBERS]!,
          this.#shard,
          ID_KIND.ORDER,
          orders.sequence[slot << NUMBERS]!,
        ),
        hash: toHex(bytesOf(orders.hash, orders.hashOffset(slot), HASH_BYTES / 4)),
        side: kindSide(kind),
        outcome: kindOutcome(kind),
      });
    }
  }

  record(sequence: number, timeMs: number, words: Uint32Array, event: number, eventBytes: number): void {
    this.#sequence = sequence;
    this.#timeMs = timeMs;
    const end = event + (eventBytes >>> 2);
    for (let word = event; word < end; word += words[word]! >>> 2) this.#event(words, word, end);
  }

  #event(words: Uint32Array, word: number, end: number): void {
    switch (ev.typeOf(words[word + ev.EV_TYPE]!)) {
      case ev.EVENT.ORDER:
        this.#accepted(words, word, end);
        break;
      case ev.EVENT.REST:
        this.#ofOrder('open', words, word, this.#remaining(words, word, ev.REST_REMAINING_LOTS));
        break;
      case ev.EVENT.FILL:
        this.#trade(words, word);
        break;
      case ev.EVENT.CLOSED:
        this.#closed(words, word);
        break;
      case ev.EVENT.DORMANT:
        this.#ofOrder('dormant', words, word, {});
        break;
      case ev.EVENT.WOKEN:
        this.#ofOrder('woken', words, word, {});
        break;
      case ev.EVENT.MARKET:
        this.#market(words, word);
        break;
      case ev.EVENT.FUNDS:
        this.#funds(words, word);
        break;
    }
  }

  #accepted(words: Uint32Array, word: number, end: number): void {
    const kind = words[word + ev.EV_FLAGS]!;
    const order = {
      id: timeOrderedId(
        readSafe(words, word + ev.ORDER_CREATED_MS),
        this.#shard,
        ID_KIND.ORDER,
        readSafe(words, word + ev.ORDER_SEQUENCE),
      ),
      hash: toHex(bytesOf(words, word + ev.ORDER_HASH, HASH_BYTES / 4)),
      side: kindSide(kind),
      outcome: kindOutcome(kind),
    };
    this.#orders.set(words[word + ev.EV_SLOT]!, order);
    const { ticksPerUnit } = this.#marketOf(words, word);
    this.#ofOrder('order', words, word, {
      time_in_force: TIME_IN_FORCE_NAMES[kindTimeInForce(kind)]!,
      post_only: (kindBits(kind) & PLACE_BIT_POST_ONLY) !== 0,
      price: tickToPrice8(words[word + ev.ORDER_LIMIT_TICKS]!, ticksPerUnit),
      maker_amount: String(readSafe(words, word + ev.ORDER_MAKER_AMOUNT)),
      taker_amount: String(readSafe(words, word + ev.ORDER_TAKER_AMOUNT)),
      token_quantity_atomic: tokens(readSafe(words, word + ev.ORDER_LOTS), ticksPerUnit),
      fee_rate_bps: words[word + ev.ORDER_FEE_BPS]!,
      expiration: readSafe(words, word + ev.ORDER_EXPIRATION_SEC),
      ...tagOf(words, word + (words[word]! >>> 2), end),
    });
  }

  /** As the taker sees it, like a trade in the API; fees are in what each party receives. */
  #trade(words: Uint32Array, word: number): void {
    const { ticksPerUnit } = this.#marketOf(words, word);
    const maker = this.#orders.get(words[word + ev.EV_SLOT]!);
    const taker = this.#orders.get(words[word + ev.FILL_TAKER_SLOT]!)!;
    const lots = readSafe(words, word + ev.FILL_LOTS);
    const takerTicks = ownTicks(taker.outcome, words[word + ev.FILL_YES_TICKS]!, ticksPerUnit);
    const tokenQuantity = tokens(lots, ticksPerUnit);
    const notional = String(mulSafe(lots, takerTicks));
    this.#tell('trade', words, word, {
      trade_id: timeOrderedId(this.#timeMs, this.#shard, ID_KIND.TRADE, readSafe(words, word + ev.FILL_TRADE_SEQUENCE)),
      match_type: MATCH_TYPE_NAMES[words[word + ev.EV_FLAGS]!]!,
      price: tickToPrice8(takerTicks, ticksPerUnit),
      amount: taker.side === SIDE.BUY ? notional : tokenQuantity,
      taker_side: SIDE_NAMES[taker.side]!,
      outcome_index: taker.outcome,
      notional_usdc_micro: notional,
      token_quantity_atomic: tokenQuantity,
      taker_order_id: taker.id,
      taker_order_hash: taker.hash,
      taker_account: words[word + ev.FILL_TAKER_ACCOUNT]!,
      taker_fee: String(readSafe(words, word + ev.FILL_TAKER_FEE)),
      maker_order_id: maker?.id ?? null,
      maker_order_hash: maker?.hash ?? null,
      maker_account: words[word + ev.EV_ACCOUNT]!,
      maker_side: maker === undefined ? null : SIDE_NAMES[maker.side]!,
      maker_outcome_index: maker?.outcome ?? null,
      maker_fee: String(readSafe(words, word + ev.FILL_MAKER_FEE)),
    });
  }

  #closed(words: Uint32Array, word: number): void {
    const reason = words[word + ev.EV_FLAGS]!;
    const status =
      reason === CLOSE_REASON.FILLED ? 'filled' : reason === CLOSE_REASON.EXPIRED ? 'expired' : 'cancelled';
    this.#ofOrder(status, words, word, {
      reason: CLOSE_REASON_NAMES[reason]!,
      ...this.#remaining(words, word, ev.CLOSED_REMAINING_LOTS),
    });
    this.#orders.delete(words[word + ev.EV_SLOT]!);
  }

  #market(words: Uint32Array, word: number): void {
    const index = words[word + ev.EV_MARKET]!;
    const known = this.#markets.get(index);
    const ticksPerUnit = words[word + ev.MARKET_TICKS_PER_UNIT]!;
    const market = known ?? { id: bytesToUuid(bytesOf(words, word + ev.MARKET_UUID, 4)), ticksPerUnit, told: '' };
    this.#markets.set(index, market);
    const line = {
      status: MARKET_STATUS_NAMES[words[word + ev.EV_FLAGS]!]!,
      fee_bps: words[word + ev.MARKET_FEE_BPS]!,
      ticks_per_unit: ticksPerUnit,
      min_order_size_atomic: String(readSafe(words, word + ev.MARKET_MIN_ORDER)),
      trading_starts_at: isoTime(readSafe(words, word + ev.MARKET_START_MS)),
      trading_ends_at: isoTime(readSafe(words, word + ev.MARKET_END_MS)),
      payout_yes_ppm: words[word + ev.MARKET_PAYOUT_YES_PPM]!,
    };
    const told = JSON.stringify(line);
    if (market.told === told) return;
    market.told = told;
    const collateral = String(readSigned(words, word + ev.MARKET_COLLATERAL));
    this.#tell('market', words, word, { ...line, collateral_usdc_micro: collateral });
  }

  #funds(words: Uint32Array, word: number): void {
    const isOfMarket = words[word + ev.EV_MARKET] !== NO_MARKET;
    this.#tell(MOVEMENT_NAMES[words[word + ev.EV_FLAGS]!]!, words, word, {
      account: words[word + ev.EV_ACCOUNT]!,
      amount_usdc_micro: String(readSafe(words, word + ev.FUNDS_EV_AMOUNT)),
      ...(isOfMarket ? {} : { reference_hash: toHex(bytesOf(words, word + ev.FUNDS_EV_REFERENCE, HASH_BYTES / 4)) }),
    });
  }

  #remaining(words: Uint32Array, word: number, field: number): Line {
    const { ticksPerUnit } = this.#marketOf(words, word);
    return { remaining_token_quantity_atomic: tokens(readSafe(words, word + field), ticksPerUnit) };
  }

  /** What happened to one order: who it is stands in every line. */
  #ofOrder(event: string, words: Uint32Array, word: number, more: Line): void {
    const order = this.#orders.get(words[word + ev.EV_SLOT]!);
    this.#tell(event, words, word, {
      order_id: order?.id ?? null,
      order_hash: order?.hash ?? null,
      account: words[word + ev.EV_ACCOUNT]!,
      side: order === undefined ? null : SIDE_NAMES[order.side]!,
      outcome_index: order?.outcome ?? null,
      ...more,
    });
  }

  #tell(event: string, words: Uint32Array, word: number, more: Line): void {
    const marketId = words[word + ev.EV_MARKET] === NO_MARKET ? null : this.#marketOf(words, word).id;
    const marketSequence = readSafe(words, word + ev.EV_MARKET_SEQUENCE);
    const line: Line = {
      event,
      time: isoTime(this.#timeMs),
      shard: this.#shard,
      shard_sequence: this.#sequence,
      market_id: marketId,
      market_sequence: marketSequence === 0 ? null : marketSequence,
      ...more,
    };
    this.#visit(line, marketId);
  }

  #marketOf(words: Uint32Array, word: number): Market {
    return this.#markets.get(words[word + ev.EV_MARKET]!)!;
  }
}

/** What the ORDER_TAG behind an ORDER adds to its line, where there is one. */
function tagOf(words: Uint32Array, word: number, end: number): Line {
  if (word >= end || ev.typeOf(words[word + ev.EV_TYPE]!) !== ev.EVENT.ORDER_TAG) return {};
  const clientOrderId = readClientId(words, word);
  return clientOrderId === null ? {} : { client_order_id: clientOrderId };
}

function tokens(lots: number, ticksPerUnit: number): string {
  return String(mulSafe(lots, ticksPerUnit));
}

function isoTime(timeMs: number): string {
  return new Date(timeMs).toISOString();
}

function bytesOf(words: Uint32Array, word: number, count: number): Uint8Array {
  return new Uint8Array(words.buffer, words.byteOffset + word * 4, count * 4);
}
