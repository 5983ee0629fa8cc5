/** Hand-made journals for tests: event records as a shard would write them, without a shard. */
import { Journal } from '../../engine/journal.ts';
import { CLOSE_REASON, OUTCOME, SIDE, TIME_IN_FORCE } from '../../shared/codes.ts';
import {
  CMD_TIME_MS,
  COMMAND,
  COMMAND_BYTES,
  COMMAND_VERSION,
  PLACE_BIT_POST_ONLY,
  packKind,
} from '../../shared/commands.ts';
import {
  CLOSED_REMAINING_LOTS,
  EV_ACCOUNT,
  EV_FLAGS,
  EV_MARKET,
  EV_SLOT,
  EVENT,
  EVENT_BYTES,
  EVENT_VERSION,
  type EventType,
  FILL_LOTS,
  FILL_MAKER_FEE,
  FILL_MAKER_REMAINING_LOTS,
  FILL_TAKER_ACCOUNT,
  FILL_TAKER_FEE,
  FILL_TAKER_REMAINING_LOTS,
  FILL_TAKER_SLOT,
  FILL_TRADE_SEQUENCE,
  FILL_YES_TICKS,
  MARKET_TICKS_PER_UNIT,
  MARKET_UUID,
  ORDER_CREATED_MS,
  ORDER_FEE_BPS,
  ORDER_HASH,
  ORDER_LIMIT_TICKS,
  ORDER_LOTS,
  ORDER_MAKER_AMOUNT,
  ORDER_REMAINING_LOTS,
  ORDER_SEQUENCE,
  ORDER_TAKER_AMOUNT,
  REST_REMAINING_LOTS,
  TAG_CLIENT_ID,
  TAG_CLIENT_ID_BYTES,
  TAG_PRIORITY,
} from '../../shared/events.ts';
import { uuidToBytes } from '../../shared/hex.ts';
import { RecordBuffer, writeSafe } from '../../shared/record.ts';

export type OrderSpec = {
  slot: number;
  account: number;
  market: number;
  limitTicks: number;
  lots: number;
  side?: number;
  outcome?: number;
  timeInForce?: number;
  postOnly?: boolean;
  /** Default: on the grid of a market with 100 ticks per unit. */
  makerAmount?: number;
  takerAmount?: number;
  clientId?: string;
  group?: number;
  /** Default: as `order` says. */
  hash?: Uint8Array;
};

export type FillSpec = {
  makerSlot: number;
  makerAccount: number;
  takerSlot: number;
  takerAccount: number;
  market: number;
  yesTicks: number;
  lots: number;
  makerRemainingLots: number;
  takerRemainingLots: number;
  matchType?: number;
  makerFee?: number;
  takerFee?: number;
};

/** Writes one journal; numbers its rows, orders and trades like a shard does. */
export class JournalScript {
  readonly journal: Journal;
  readonly #command = new RecordBuffer(256);
  readonly #events = new RecordBuffer(4096);
  readonly #shard: number;
  #orderSequence = 0;
  #tradeSequence = 0;
  #timeMs = 0;

  constructor(journalPath: string, shard = 0, shards = 1) {
    this.#shard = shard;
    this.journal = Journal.open({ journalPath, journalSync: 'normal', shard, shards });
  }

  /** One committed row with the events that `write` adds; returns its sequence. */
  record(timeMs: number, write: (script: JournalScript) => void): number {
    this.#timeMs = timeMs;
    this.#events.clear();
    write(this);
    this.#command.clear();
    const word = this.#command.append(COMMAND_BYTES[COMMAND.TICK], COMMAND.TICK | (COMMAND_VERSION << 16));
    writeSafe(this.#command.words, word + CMD_TIME_MS, timeMs);
    const sequence = this.journal.lastSequence + 1;
    const { words, lengthBytes } = this.#events;
    this.journal.append(sequence, timeMs, this.#command.words, 0, this.#command.lengthBytes, words, 0, lengthBytes);
    this.journal.commit();
    return sequence;
  }

  market(market: number, uuid: string, ticksPerUnit = 100): void {
    const word = this.#event(EVENT.MARKET, 0, 0, market, 0);
    this.#events.words[word + MARKET_TICKS_PER_UNIT] = ticksPerUnit;
    uuidToBytes(uuid, this.#events.bytes, (word + MARKET_UUID) * 4);
  }

  /** Returns the order's hash: 30 bytes of its slot, its shard, its sequence, of which the rest is mixed into them. */
  order(spec: OrderSpec): Uint8Array {
    const { side = SIDE.BUY, outcome = OUTCOME.YES, timeInForce = TIME_IN_FORCE.GTC } = spec;
    const kind = packKind(side, outcome, timeInForce, spec.postOnly ? PLACE_BIT_POST_ONLY : 0);
    const word = this.#event(EVENT.ORDER, spec.slot, spec.account, spec.market, kind);
    const { words, bytes } = this.#events;
    const usdc = spec.lots * spec.limitTicks;
    const tokens = spec.lots * 100;
    const sequence = ++this.#orderSequence;
    const hash = spec.hash ?? this.#hashOf(spec.slot, sequence);
    bytes.set(hash, (word + ORDER_HASH) * 4);
    writeSafe(words, word + ORDER_MAKER_AMOUNT, spec.makerAmount ?? (side === SIDE.BUY ? usdc : tokens));
    writeSafe(words, word + ORDER_TAKER_AMOUNT, spec.takerAmount ?? (side === SIDE.BUY ? tokens : usdc));
    writeSafe(words, word + ORDER_LOTS, spec.lots);
    writeSafe(words, word + ORDER_REMAINING_LOTS, spec.lots);
    words[word + ORDER_LIMIT_TICKS] = spec.limitTicks;
    words[word + ORDER_FEE_BPS] = 50;
    writeSafe(words, word + ORDER_SEQUENCE, sequence);
    writeSafe(words, word + ORDER_CREATED_MS, this.#timeMs);
    if (spec.clientId !== undefined) this.#tag(spec, spec.clientId, sequence);
    return hash;
  }

  #hashOf(slot: number, sequence: number): Uint8Array {
    const hash = new Uint8Array(32).fill(slot + 1);
    hash[30] = this.#shard;
    hash[31] = sequence;
    hash[29]! ^= sequence >>> 8;
    return hash;
  }

  #tag({ slot, account, market, group = 0 }: OrderSpec, clientId: string, sequence: number): void {
    const word = this.#event(EVENT.ORDER_TAG, slot, account, market, group);
    const { words, bytes } = this.#events;
    words[word + TAG_CLIENT_ID_BYTES] = clientId.length;
    bytes.set(Buffer.from(clientId), (word + TAG_CLIENT_ID) * 4);
    writeSafe(words, word + TAG_PRIORITY, sequence);
  }

  rest(slot: number, account: number, market: number, remainingLots: number): void {
    const word = this.#event(EVENT.REST, slot, account, market, 0);
    writeSafe(this.#events.words, word + REST_REMAINING_LOTS, remainingLots);
  }

  /** An order that rests at once. */
  place(spec: OrderSpec): Uint8Array {
    const hash = this.order(spec);
    this.rest(spec.slot, spec.account, spec.market, spec.lots);
    return hash;
  }

  fill(spec: FillSpec): void {
    const word = this.#event(EVENT.FILL, spec.makerSlot, spec.makerAccount, spec.market, spec.matchType ?? 0);
    const { words } = this.#events;
    words[word + FILL_YES_TICKS] = spec.yesTicks;
    words[word + FILL_TAKER_SLOT] = spec.takerSlot;
    words[word + FILL_TAKER_ACCOUNT] = spec.takerAccount;
    writeSafe(words, word + FILL_LOTS, spec.lots);
    writeSafe(words, word + FILL_TRADE_SEQUENCE, ++this.#tradeSequence);
    writeSafe(words, word + FILL_MAKER_FEE, spec.makerFee ?? 0);
    writeSafe(words, word + FILL_TAKER_FEE, spec.takerFee ?? 0);
    writeSafe(words, word + FILL_MAKER_REMAINING_LOTS, spec.makerRemainingLots);
    writeSafe(words, word + FILL_TAKER_REMAINING_LOTS, spec.takerRemainingLots);
  }

  closed(slot: number, account: number, market: number, reason: number, remainingLots: number): void {
    const word = this.#event(EVENT.CLOSED, slot, account, market, reason);
    writeSafe(this.#events.words, word + CLOSED_REMAINING_LOTS, remainingLots);
  }

  /** The end of an order that was filled. */
  filled(slot: number, account: number, market: number): void {
    this.closed(slot, account, market, CLOSE_REASON.FILLED, 0);
  }

  #event(type: EventType, slot: number, account: number, market: number, flags: number): number {
    const word = this.#events.append(EVENT_BYTES[type]!, type | (EVENT_VERSION << 16));
    const { words } = this.#events;
    words[word + EV_SLOT] = slot;
    words[word + EV_ACCOUNT] = account;
    words[word + EV_MARKET] = market;
    words[word + EV_FLAGS] = flags;
    return word;
  }
}
