/**
 * The private side of the stream: turns the shards' events into frames for the accounts they concern. An order has a
 * frame when it is placed, one for each of its fills, and one when it is closed (RULES.md 8.9).
 * Owner: the gateway thread, inside the pump, right after the views have applied an event.
 */
import { assert } from '../../shared/base/assert.ts';
import { SIDE } from '../../shared/base/codes.ts';
import { HASH_WORDS } from '../../shared/base/openOrderIndex.ts';
import { kindBits, kindSide, NO_GROUP, PLACE_BIT_EXTENDED } from '../../shared/wire/commands.ts';
import { ANY_EVENT, EVENT, typeOf } from '../../shared/wire/events.ts';
import { writeClosed, writeFill, writePlaced } from '../../shared/wire/privateProjection.ts';
import { type RecordView, ROLE } from '../../shared/wire/privateRecord.ts';
import { readSafe } from '../../shared/wire/record.ts';
import type { RecordResult } from '../shardlink/recordResult.ts';
import type { Views } from '../shardlink/views.ts';
import type { FrameIntake } from './privateIntake.ts';

/**
 * The order that a shard placed last: only this order may be off the grid, so its signed amounts are kept. If its PLACE
 * was extended, its frame waits for the event after ORDER, which may be ORDER_TAG; until then `waitsIn` is the sequence
 * number of its record.
 */
type Incoming = { slot: number; makerAmount: number; takerAmount: number; waitsIn: number };

const NO_SLOT = -1;
const NOT_WAITING = -1;

export class PrivateFeed {
  readonly #views: Views;
  readonly #intake: FrameIntake;
  /** By shard. */
  readonly #incoming: readonly Incoming[];
  /** The record and order of the frame being written; the same two objects serve all frames. */
  readonly #origin = { shard: 0, shardSequence: 0, timeMs: 0 };
  readonly #order = {
    market: 0,
    kind: 0,
    hash: new Uint32Array(0),
    hashWord: 0,
    createdMs: 0,
    orderSequence: 0,
    origin: 0,
    clientId: null as string | null,
    group: NO_GROUP as number,
    ticksPerUnit: 0,
    makerAmount: 0,
    takerAmount: 0,
    quantityLots: 0,
    remainingLots: 0,
  };

  constructor(views: Views, intake: FrameIntake) {
    this.#views = views;
    this.#intake = intake;
    this.#incoming = views.orders.map(() => ({ slot: NO_SLOT, makerAmount: 0, takerAmount: 0, waitsIn: NOT_WAITING }));
  }

  applied(shard: number, record: RecordResult, words: Uint32Array, word: number): void {
    const slot = words[word + ANY_EVENT.slot];
    const incoming = this.#incoming[shard];
    if (incoming.waitsIn !== NOT_WAITING) this.#writeWaiting(shard, record, incoming);
    switch (typeOf(words[word + ANY_EVENT.type])) {
      case EVENT.ORDER.TYPE: {
        incoming.slot = slot;
        incoming.makerAmount = readSafe(words, word + EVENT.ORDER.makerAmount);
        incoming.takerAmount = readSafe(words, word + EVENT.ORDER.takerAmount);
        const isExtended = (kindBits(words[word + EVENT.ORDER.kind]) & PLACE_BIT_EXTENDED) !== 0;
        if (isExtended) incoming.waitsIn = record.shardSequence;
        else writePlaced(this.#append(shard, record, slot), this.#origin, this.#order);
        break;
      }
      case EVENT.FILL.TYPE:
        this.#writeFills(shard, record, words, word);
        break;
      case EVENT.CLOSED.TYPE:
        writeClosed(this.#append(shard, record, slot), this.#origin, this.#order, words, word);
        break;
      case EVENT.PUBLISHED.TYPE:
        this.#intake.published(shard, readSafe(words, word + EVENT.PUBLISHED.shardSequence));
        break;
      default:
    }
  }

  recovered(shard: number, shardSequence: number): void {
    const incoming = this.#incoming[shard];
    incoming.slot = NO_SLOT;
    incoming.waitsIn = NOT_WAITING;
    this.#intake.resumed(shard, shardSequence);
  }

  /**
   * In every record an event follows ORDER. If the next event belongs to another record, the shard died in between, and
   * the frame comes from the read model (privateIntake.ts).
   */
  #writeWaiting(shard: number, record: RecordResult, incoming: Incoming): void {
    const isSameRecord = incoming.waitsIn === record.shardSequence;
    incoming.waitsIn = NOT_WAITING;
    if (!isSameRecord) return;
    assert(incoming.slot !== NO_SLOT, 'private feed: a frame that waits has an order');
    const frame = this.#append(shard, record, incoming.slot);
    // The views may have applied the order's first fill already.
    this.#order.remainingLots = this.#order.quantityLots;
    writePlaced(frame, this.#origin, this.#order);
  }

  /** Each of the two orders has its own frame, even if both belong to one account. */
  #writeFills(shard: number, record: RecordResult, words: Uint32Array, word: number): void {
    const after = this.#views.markets.afterMicros(words[word + ANY_EVENT.market], record.timeMs);
    const maker = this.#append(shard, record, words[word + ANY_EVENT.slot]);
    writeFill(maker, this.#origin, this.#order, ROLE.MAKER, after, words, word);
    const taker = this.#append(shard, record, words[word + EVENT.FILL.takerSlot]);
    writeFill(taker, this.#origin, this.#order, ROLE.TAKER, after, words, word);
  }

  /** Reads the order in this slot into `#order`. @returns the record of its next frame. */
  #append(shard: number, { timeMs, shardSequence }: RecordResult, slot: number): RecordView {
    this.#origin.shard = shard;
    this.#origin.shardSequence = shardSequence;
    this.#origin.timeMs = timeMs;
    this.#read(shard, slot);
    return this.#intake.append(shard, shardSequence, this.#views.orders[shard].accountOf(slot));
  }

  /** A resting order is on the grid, so its signed amounts follow from lots and limit. */
  #read(shard: number, slot: number): void {
    const orders = this.#views.orders[shard];
    const order = this.#order;
    order.market = orders.marketOf(slot);
    order.kind = orders.kind[slot];
    order.hash = orders.hash;
    order.hashWord = slot * HASH_WORDS;
    order.createdMs = orders.createdMs[slot];
    order.orderSequence = orders.orderSequence[slot];
    order.origin = orders.origin[slot];
    order.clientId = orders.clientIdOf(slot);
    order.group = orders.groupOf(slot);
    order.ticksPerUnit = this.#views.markets.ticksPerUnit(order.market);
    order.quantityLots = orders.quantityLots[slot];
    order.remainingLots = orders.remainingLots[slot];
    const incoming = this.#incoming[shard];
    if (slot === incoming.slot) {
      order.makerAmount = incoming.makerAmount;
      order.takerAmount = incoming.takerAmount;
      return;
    }
    const notionalMicro = order.quantityLots * orders.limitTicks[slot];
    const tokensAtomic = order.quantityLots * order.ticksPerUnit;
    const isBuy = kindSide(order.kind) === SIDE.BUY;
    order.makerAmount = isBuy ? notionalMicro : tokensAtomic;
    order.takerAmount = isBuy ? tokensAtomic : notionalMicro;
  }
}
