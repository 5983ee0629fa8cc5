/** Hand-made journals for tests: event records as a shard would write them, without a shard. */
import assert from 'node:assert/strict';
import { Journal } from '../../engine/journal/journal.ts';
import { JournalRecord } from '../../engine/journal/journalRecord.ts';
import { CLOSE_REASON, OUTCOME, SIDE, TIME_IN_FORCE } from '../../shared/base/codes.ts';
import { uuidToBytes } from '../../shared/base/hex.ts';
import {
  ANY_COMMAND,
  COMMAND,
  COMMAND_VERSION,
  EXTENDED_PLACE,
  PLACE_BIT_POST_ONLY,
  packKind,
} from '../../shared/wire/commands.ts';
import { ANY_EVENT, EVENT, EVENT_BYTES, EVENT_VERSION, type EventType } from '../../shared/wire/events.ts';
import { RecordBuffer, writeSafe } from '../../shared/wire/record.ts';
import { amountsOf } from './commandBodies.ts';
import { TEST_KEY } from './journalKey.ts';

type OrderSpec = {
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

/** The slots of both orders, the rest as the engine would say it. */
type FillSpec = {
  maker: number;
  taker: number;
  yesTicks: number;
  lots: number;
  matchType?: number;
  makerFee?: number;
  takerFee?: number;
};

type MarketTerms = {
  readonly status: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly resolvedMs: number;
};

type OpenOrder = { readonly account: number; readonly market: number; remainingLots: number };

/** EXT_ROUTE and the index in a batch, with the 16 bytes of the key and of its payload's fingerprint. */
type KeyUse = { route: number; row: number; key: Uint8Array; fingerprint: Uint8Array };

/** Writes one journal; numbers its rows, orders and trades like a shard does. */
export class JournalScript {
  readonly journal: Journal;
  readonly #command = new RecordBuffer(512);
  readonly #events = new RecordBuffer(4096);
  readonly #shard: number;
  /** Open orders by slot. */
  readonly #open = new Map<number, OpenOrder>();
  #orderSequence = 0;
  #tradeSequence = 0;
  #timeMs = 0;

  constructor(journalPath: string, shard = 0, shards = 1) {
    this.#shard = shard;
    this.journal = Journal.open({ journalPath, journalSync: 'normal', shard, shards, key: TEST_KEY });
  }

  /**
   * One committed record with the events that `write` adds; returns its sequence. Its command says nothing but the
   * time, and the use of an idempotency key if there is one.
   */
  record(timeMs: number, write: (script: JournalScript) => void, keyUse?: KeyUse): number {
    const sequence = this.add(timeMs, write, keyUse);
    this.journal.commit();
    return sequence;
  }

  /** The same as a record that is committed with the next ones: for histories of millions. */
  add(timeMs: number, write: (script: JournalScript) => void, keyUse?: KeyUse): number {
    this.#timeMs = timeMs;
    this.#events.clear();
    write(this);
    this.#command.clear();
    const { BYTES, TYPE } = keyUse === undefined ? COMMAND.TICK : { ...COMMAND.PLACE, BYTES: EXTENDED_PLACE.BYTES };
    const word = this.#command.append(BYTES, TYPE | (COMMAND_VERSION << 16));
    writeSafe(this.#command.words, word + ANY_COMMAND.timeMs, timeMs);
    if (keyUse !== undefined) {
      this.#command.words[word + EXTENDED_PLACE.keyUse] = keyUse.route | (keyUse.row << 8);
      this.#command.bytes.set(keyUse.key, (word + EXTENDED_PLACE.key) * 4);
      this.#command.bytes.set(keyUse.fingerprint, (word + EXTENDED_PLACE.fingerprint) * 4);
    }
    const row = new JournalRecord();
    row.sequence = this.journal.lastSequence + 1;
    row.timeMs = timeMs;
    row.command.set(this.#command.words, 0, this.#command.lengthBytes);
    row.events.set(this.#events.words, 0, this.#events.lengthBytes);
    this.journal.append(row);
    return row.sequence;
  }

  market(market: number, uuid: string, ticksPerUnit = 100, terms: Partial<MarketTerms> = {}): void {
    const { status = 0, startMs = 0, endMs = 0, resolvedMs = 0 } = terms;
    const word = this.#event(EVENT.MARKET.TYPE, 0, 0, market, status);
    this.#events.words[word + EVENT.MARKET.ticksPerUnit] = ticksPerUnit;
    writeSafe(this.#events.words, word + EVENT.MARKET.startMs, startMs);
    writeSafe(this.#events.words, word + EVENT.MARKET.endMs, endMs);
    writeSafe(this.#events.words, word + EVENT.MARKET.resolvedMs, resolvedMs);
    uuidToBytes(uuid, this.#events.bytes, (word + EVENT.MARKET.uuid) * 4);
  }

  /** Returns the order's hash: 30 bytes mixed from its slot, its shard and its sequence number. */
  order(spec: OrderSpec): Uint8Array {
    const { side = SIDE.BUY, outcome = OUTCOME.YES, timeInForce = TIME_IN_FORCE.GTC } = spec;
    const kind = packKind(side, outcome, timeInForce, spec.postOnly ? PLACE_BIT_POST_ONLY : 0);
    const word = this.#event(EVENT.ORDER.TYPE, spec.slot, spec.account, spec.market, kind);
    const { words, bytes } = this.#events;
    const { makerAmount, takerAmount } = { ...amountsOf(side, spec.lots, spec.limitTicks), ...spec };
    const sequence = ++this.#orderSequence;
    const hash = spec.hash ?? this.#hashOf(spec.slot, sequence);
    this.#open.set(spec.slot, { account: spec.account, market: spec.market, remainingLots: spec.lots });
    bytes.set(hash, (word + EVENT.ORDER.hash) * 4);
    writeSafe(words, word + EVENT.ORDER.makerAmount, makerAmount);
    writeSafe(words, word + EVENT.ORDER.takerAmount, takerAmount);
    writeSafe(words, word + EVENT.ORDER.quantityLots, spec.lots);
    writeSafe(words, word + EVENT.ORDER.remainingLots, spec.lots);
    words[word + EVENT.ORDER.limitTicks] = spec.limitTicks;
    words[word + EVENT.ORDER.feeBps] = 50;
    writeSafe(words, word + EVENT.ORDER.sequence, sequence);
    writeSafe(words, word + EVENT.ORDER.createdMs, this.#timeMs);
    if (spec.clientId !== undefined) this.#tag(spec, spec.clientId, sequence);
    return hash;
  }

  #hashOf(slot: number, sequence: number): Uint8Array {
    const hash = new Uint8Array(32).fill(slot + 1);
    hash[30] = this.#shard;
    hash[31] = sequence;
    hash[29] ^= sequence >>> 8;
    return hash;
  }

  #tag({ slot, account, market, group = 0 }: OrderSpec, clientId: string, sequence: number): void {
    const word = this.#event(EVENT.ORDER_TAG.TYPE, slot, account, market, group);
    const { words, bytes } = this.#events;
    words[word + EVENT.ORDER_TAG.clientIdBytes] = clientId.length;
    bytes.set(Buffer.from(clientId), (word + EVENT.ORDER_TAG.clientId) * 4);
    writeSafe(words, word + EVENT.ORDER_TAG.priority, sequence);
  }

  /** An order that rests at once. */
  place(spec: OrderSpec): Uint8Array {
    const hash = this.order(spec);
    const word = this.#event(EVENT.REST.TYPE, spec.slot, spec.account, spec.market, 0);
    writeSafe(this.#events.words, word + EVENT.REST.remainingLots, spec.lots);
    return hash;
  }

  fill({
    maker: makerSlot,
    taker: takerSlot,
    yesTicks,
    lots,
    matchType = 0,
    makerFee = 0,
    takerFee = 0,
  }: FillSpec): void {
    const [maker, taker] = [this.#openAt(makerSlot), this.#openAt(takerSlot)];
    maker.remainingLots -= lots;
    taker.remainingLots -= lots;
    const word = this.#event(EVENT.FILL.TYPE, makerSlot, maker.account, maker.market, matchType);
    const { words } = this.#events;
    words[word + EVENT.FILL.yesTicks] = yesTicks;
    words[word + EVENT.FILL.takerSlot] = takerSlot;
    words[word + EVENT.FILL.takerAccount] = taker.account;
    writeSafe(words, word + EVENT.FILL.lots, lots);
    writeSafe(words, word + EVENT.FILL.tradeSequence, ++this.#tradeSequence);
    writeSafe(words, word + EVENT.FILL.makerFee, makerFee);
    writeSafe(words, word + EVENT.FILL.takerFee, takerFee);
    writeSafe(words, word + EVENT.FILL.makerRemainingLots, maker.remainingLots);
    writeSafe(words, word + EVENT.FILL.takerRemainingLots, taker.remainingLots);
  }

  closed(slot: number, reason: number): void {
    const { account, market, remainingLots } = this.#openAt(slot);
    this.#open.delete(slot);
    const word = this.#event(EVENT.CLOSED.TYPE, slot, account, market, reason);
    writeSafe(this.#events.words, word + EVENT.CLOSED.remainingLots, remainingLots);
  }

  /** The end of an order that was filled. */
  filled(slot: number): void {
    assert.equal(this.#openAt(slot).remainingLots, 0, 'a filled order has nothing left');
    this.closed(slot, CLOSE_REASON.FILLED);
  }

  #openAt(slot: number): OpenOrder {
    const order = this.#open.get(slot);
    assert.ok(order !== undefined, `an order is open in slot ${slot}`);
    return order;
  }

  #event(type: EventType, slot: number, account: number, market: number, flags: number): number {
    const word = this.#events.append(EVENT_BYTES[type], type | (EVENT_VERSION << 16));
    const { words } = this.#events;
    words[word + ANY_EVENT.slot] = slot;
    words[word + ANY_EVENT.account] = account;
    words[word + ANY_EVENT.market] = market;
    words[word + ANY_EVENT.flags] = flags;
    return word;
  }
}
