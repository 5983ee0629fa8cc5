/**
 * The events of one shard as lines for people and other programs: names, ids and units are those of the API. It keeps
 * the markets and the open orders that later lines name, so memory grows with their number and not with the length of
 * the journal.
 *
 * If an order was accepted in trimmed records, its ids and outcome are null until a snapshot that contains the order is
 * reached (`addOpenOrders`).
 */
import {
  CLOSE_REASON,
  CLOSE_REASON_NAMES,
  MARKET_STATUS_NAMES,
  MATCH_TYPE_NAMES,
  MOVEMENT,
  MOVEMENT_NAMES,
  SIDE,
  SIDE_NAMES,
  STAGE,
  STAGE_NAMES,
  stageAfter,
  TIME_IN_FORCE_NAMES,
} from '../../shared/base/codes.ts';
import { filledMicros, fillTime, MICROS_PER_MS } from '../../shared/base/fillTimes.ts';
import { bytesToUuid, HASH_BYTES, toHex } from '../../shared/base/hex.ts';
import { ID_KIND, timeOrderedId } from '../../shared/base/ids.ts';
import { mulSafe } from '../../shared/base/int.ts';
import { ownTicks } from '../../shared/base/orderMath.ts';
import { tickToPrice8 } from '../../shared/base/units.ts';
import { kindOutcome, kindSide, NO_MARKET, PLACE_BIT_POST_ONLY } from '../../shared/wire/commands.ts';
import { decodeEvents, type Event, type EventOf } from '../../shared/wire/events.ts';
import { DOUBLE_SHIFT, SLOT_STATE, WORD_SHIFT } from '../book/orders.ts';
import type { ShardState } from '../core/state.ts';
import type { JournalRecord } from '../journal/journalRecord.ts';

type Market = {
  readonly id: string;
  readonly ticksPerUnit: number;
  /**
   * The last line about the market. If only its collateral changed, as with every minted set, no new line is written.
   */
  lastLine: string;
  stage: number;
  lastFillMicros: number;
};
type Order = { readonly id: string; readonly hash: string; readonly side: number; readonly outcome: number };
type Line = Record<string, string | number | boolean | null>;
/** @param marketId null for deposits and withdrawals, which belong to no market. */
type LineVisitor = (line: Line, marketId: string | null) => void;

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

  /** Adds the markets of a snapshot. Markets are never removed, so earlier records may name them too. */
  addMarkets(state: ShardState): void {
    for (const { index, uuid, ticksPerUnit } of state.markets.all()) {
      this.#markets.set(index, newMarket(bytesToUuid(bytesOf(uuid, 0, 4)), ticksPerUnit));
    }
  }

  /**
   * Adds the orders that are open in a snapshot, and the times of last fills, once the snapshot's record is reached.
   */
  addOpenOrders({ markets, orders }: ShardState): void {
    for (const { index, lastFillMicros } of markets.all()) {
      const market = this.#markets.get(index)!;
      market.lastFillMicros = Math.max(market.lastFillMicros, lastFillMicros);
    }
    for (let slot = 0; slot < orders.capacity; slot++) {
      if (orders.state[slot << WORD_SHIFT] === SLOT_STATE.FREE) continue;
      const kind = orders.kind[slot << WORD_SHIFT];
      this.#orders.set(slot, {
        id: timeOrderedId(
          orders.createdMs[slot << DOUBLE_SHIFT],
          orders.origin[slot << WORD_SHIFT] === 0 ? this.#shard : orders.origin[slot << WORD_SHIFT] - 1,
          ID_KIND.ORDER,
          orders.sequence[slot << DOUBLE_SHIFT],
        ),
        hash: toHex(bytesOf(orders.signed.words, orders.signed.hashOffset(slot), HASH_BYTES / 4)),
        side: kindSide(kind),
        outcome: kindOutcome(kind),
      });
    }
  }

  record({ sequence, timeMs, events }: JournalRecord): void {
    this.#sequence = sequence;
    this.#timeMs = timeMs;
    const decoded = decodeEvents(events.words, events.word, events.end);
    for (const [index, event] of decoded.entries()) this.#event(event, decoded[index + 1]);
  }

  /** @param next the following event of the record. */
  #event(event: Event, next: Event | undefined): void {
    switch (event.name) {
      case 'ORDER':
        this.#accepted(event, next);
        break;
      case 'REST':
        this.#ofOrder('open', event, this.#remaining(event));
        break;
      case 'FILL':
        this.#trade(event);
        break;
      case 'CLOSED':
        this.#closed(event);
        break;
      case 'DORMANT':
        this.#ofOrder('dormant', event, {});
        break;
      case 'WOKEN':
        this.#ofOrder('woken', event, {});
        break;
      case 'MARKET':
        this.#market(event);
        break;
      case 'STAGE':
        this.#steps(event);
        break;
      case 'FUNDS':
        this.#funds(event);
        break;
      case 'UNWOUND':
        this.#unwound(event);
        break;
    }
  }

  #accepted(event: EventOf<'ORDER'>, next: Event | undefined): void {
    const { side, outcome, timeInForce, bits } = event.kind;
    const id = timeOrderedId(event.createdMs, this.#shard, ID_KIND.ORDER, event.sequence);
    this.#orders.set(event.slot, { id, hash: toHex(event.hash), side, outcome });
    const { ticksPerUnit } = this.#marketOf(event);
    // An ORDER_TAG follows the ORDER to which it belongs.
    const clientOrderId = next?.name === 'ORDER_TAG' ? next.clientId : '';
    this.#ofOrder('order', event, {
      time_in_force: TIME_IN_FORCE_NAMES[timeInForce],
      post_only: (bits & PLACE_BIT_POST_ONLY) !== 0,
      price: tickToPrice8(event.limitTicks, ticksPerUnit),
      maker_amount: String(event.makerAmount),
      taker_amount: String(event.takerAmount),
      token_quantity_atomic: tokens(event.quantityLots, ticksPerUnit),
      fee_rate_bps: event.feeBps,
      expiration: event.expirationSec,
      ...(clientOrderId === '' ? {} : { client_order_id: clientOrderId }),
    });
  }

  /** The line shows the taker's side, like a trade in the API. Each fee is in the asset that its party receives. */
  #trade(event: EventOf<'FILL'>): void {
    const market = this.#marketOf(event);
    const { ticksPerUnit } = market;
    market.lastFillMicros = filledMicros(this.#timeMs, market.lastFillMicros);
    const maker = this.#orders.get(event.makerSlot);
    const taker = this.#orders.get(event.takerSlot)!;
    const takerTicks = ownTicks(taker.outcome, event.yesTicks, ticksPerUnit);
    const tokenQuantity = tokens(event.lots, ticksPerUnit);
    const notional = String(mulSafe(event.lots, takerTicks));
    this.#write('trade', event, {
      trade_id: timeOrderedId(this.#timeMs, this.#shard, ID_KIND.TRADE, event.tradeSequence),
      time: fillTime(this.#timeMs, market.lastFillMicros - this.#timeMs * MICROS_PER_MS),
      match_type: MATCH_TYPE_NAMES[event.matchType],
      price: tickToPrice8(takerTicks, ticksPerUnit),
      amount: taker.side === SIDE.BUY ? notional : tokenQuantity,
      taker_side: SIDE_NAMES[taker.side],
      outcome_index: taker.outcome,
      notional_usdc_micro: notional,
      token_quantity_atomic: tokenQuantity,
      taker_order_id: taker.id,
      taker_order_hash: taker.hash,
      taker_account: event.takerAccount,
      taker_fee: String(event.takerFee),
      maker_order_id: maker?.id ?? null,
      maker_order_hash: maker?.hash ?? null,
      maker_account: event.makerAccount,
      maker_side: maker === undefined ? null : SIDE_NAMES[maker.side],
      maker_outcome_index: maker?.outcome ?? null,
      maker_fee: String(event.makerFee),
    });
  }

  #closed(event: EventOf<'CLOSED'>): void {
    const { reason, slot } = event;
    const status =
      reason === CLOSE_REASON.FILLED ? 'filled' : reason === CLOSE_REASON.EXPIRED ? 'expired' : 'cancelled';
    this.#ofOrder(status, event, { reason: CLOSE_REASON_NAMES[reason], ...this.#remaining(event) });
    this.#orders.delete(slot);
  }

  #market(event: EventOf<'MARKET'>): void {
    const { ticksPerUnit } = event;
    const known = this.#markets.get(event.market);
    const market = known ?? newMarket(bytesToUuid(event.uuid), ticksPerUnit);
    this.#markets.set(event.market, market);
    const line = {
      status: MARKET_STATUS_NAMES[event.status],
      fee_bps: event.feeBps,
      ticks_per_unit: ticksPerUnit,
      min_order_size_atomic: String(event.minOrderAtomic),
      trading_starts_at: isoTime(event.startMs),
      trading_ends_at: isoTime(event.endMs),
      payout_yes_ppm: event.payoutYesPpm,
    };
    const text = JSON.stringify(line);
    if (market.lastLine !== text) {
      market.lastLine = text;
      this.#write('market', event, { ...line, collateral_usdc_micro: String(event.collateralMicro) });
    }
    this.#step(event, market, event.stage);
  }

  /** The event changes all markets of the shard at once: each gets a line. */
  #steps(event: EventOf<'STAGE'>): void {
    for (const [index, market] of this.#markets) {
      this.#step({ ...event, market: index }, market, stageAfter(market.stage, event.from, event.stage));
    }
  }

  #step(event: EventOf<'MARKET' | 'STAGE'>, market: Market, stage: number): void {
    if (market.stage === stage) return;
    market.stage = stage;
    this.#write('stage', event, { stage: STAGE_NAMES[stage] });
  }

  #funds(event: EventOf<'FUNDS'>): void {
    const isFee = event.movement === MOVEMENT.FEE;
    this.#write(isFee ? 'movement_fee' : MOVEMENT_NAMES[event.movement], event, {
      account: event.account,
      amount_usdc_micro: String(event.amount),
      ...(event.market === NO_MARKET && !isFee ? { reference_hash: toHex(event.reference) } : {}),
    });
  }

  #unwound(event: EventOf<'UNWOUND'>): void {
    this.#write('unwinding', event, {
      account: event.account,
      trade_sequence: event.tradeSequence,
      usdc_delta_micro: String(event.micro),
      yes_delta_atomic: String(event.yesAtomic),
      no_delta_atomic: String(event.noAtomic),
    });
  }

  #remaining(event: EventOf<'REST' | 'CLOSED'>): Line {
    const { ticksPerUnit } = this.#marketOf(event);
    return { remaining_token_quantity_atomic: tokens(event.remainingLots, ticksPerUnit) };
  }

  /** Writes a line about one order; every such line has the ids and the owner of the order. */
  #ofOrder(name: string, event: EventOf<'ORDER' | 'REST' | 'CLOSED' | 'DORMANT' | 'WOKEN'>, more: Line): void {
    const order = this.#orders.get(event.slot);
    this.#write(name, event, {
      order_id: order?.id ?? null,
      order_hash: order?.hash ?? null,
      account: event.account,
      side: order === undefined ? null : SIDE_NAMES[order.side],
      outcome_index: order?.outcome ?? null,
      ...more,
    });
  }

  #write(name: string, event: Event, more: Line): void {
    const marketId = event.market === NO_MARKET ? null : this.#marketOf(event).id;
    const line: Line = {
      event: name,
      time: isoTime(this.#timeMs),
      shard: this.#shard,
      shard_sequence: this.#sequence,
      market_id: marketId,
      market_sequence: event.marketSequence === 0 ? null : event.marketSequence,
      ...more,
    };
    this.#visit(line, marketId);
  }

  #marketOf({ market }: Event): Market {
    return this.#markets.get(market)!;
  }
}

function newMarket(id: string, ticksPerUnit: number): Market {
  return { id, ticksPerUnit, lastLine: '', stage: STAGE.OPEN, lastFillMicros: 0 };
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
