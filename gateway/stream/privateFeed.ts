/**
 * The private side of the stream: which accounts an event concerns, and what it says to them. An order is told of when
 * it is placed, at each of its fills, and once when it is over (RULES.md 8.9).
 * Owner: the gateway thread, inside the pump, right after the views have applied an event.
 */
import { SIDE } from '../../shared/codes.ts';
import { kindBits, kindSide, NO_GROUP, PLACE_BIT_EXTENDED } from '../../shared/commands.ts';
import * as ev from '../../shared/events.ts';
import * as prv from '../../shared/privateRecord.ts';
import { readSafe } from '../../shared/record.ts';
import { HASH_WORDS } from '../views/hashIndex.ts';
import type { Views } from '../views/index.ts';
import type { PrivateIntake } from './privateIntake.ts';

/**
 * The order a shard has accepted last, which alone may be off the grid. One with an extended PLACE is told of when the
 * event behind its ORDER has come, because that may be its ORDER_TAG; `untoldIn` is the record it is from till then.
 */
type Incoming = { slot: number; makerAmount: number; takerAmount: number; untoldIn: number };

const NO_SLOT = -1;
const TOLD = -1;

export class PrivateFeed {
  readonly #views: Views;
  readonly #intake: PrivateIntake;
  /** By shard. */
  readonly #incoming: readonly Incoming[];
  /** The record and the order at hand, one object for all of them. */
  readonly #origin = { shard: 0, shardSequence: 0, timeMs: 0 };
  readonly #order = {
    market: 0,
    kind: 0,
    hash: new Uint32Array(0) as Uint32Array,
    hashWord: 0,
    createdMs: 0,
    orderSequence: 0,
    clientId: null as string | null,
    group: NO_GROUP as number,
    ticksPerUnit: 0,
    makerAmount: 0,
    takerAmount: 0,
    quantityLots: 0,
    remainingLots: 0,
  };

  constructor(views: Views, intake: PrivateIntake) {
    this.#views = views;
    this.#intake = intake;
    this.#incoming = views.orders.map(() => ({ slot: NO_SLOT, makerAmount: 0, takerAmount: 0, untoldIn: TOLD }));
  }

  applied(shard: number, words: Uint32Array, word: number): void {
    const slot = words[word + ev.EV_SLOT]!;
    const incoming = this.#incoming[shard]!;
    if (incoming.untoldIn !== TOLD) this.#tellWaiting(shard, incoming);
    switch (ev.typeOf(words[word + ev.EV_TYPE]!)) {
      case ev.EVENT.ORDER: {
        incoming.slot = slot;
        incoming.makerAmount = readSafe(words, word + ev.ORDER_MAKER_AMOUNT);
        incoming.takerAmount = readSafe(words, word + ev.ORDER_TAKER_AMOUNT);
        const isExtended = (kindBits(words[word + ev.EV_FLAGS]!) & PLACE_BIT_EXTENDED) !== 0;
        if (isExtended) incoming.untoldIn = this.#views.outcomes[shard]!.shardSequence;
        else prv.writePlaced(this.#append(shard, slot), this.#origin, this.#order);
        break;
      }
      case ev.EVENT.FILL:
        this.#filled(shard, words, word);
        break;
      case ev.EVENT.CLOSED:
        prv.writeClosed(this.#append(shard, slot), this.#origin, this.#order, words, word);
        break;
      default:
    }
  }

  recovered(shard: number, shardSequence: number): void {
    const incoming = this.#incoming[shard]!;
    incoming.slot = NO_SLOT;
    incoming.untoldIn = TOLD;
    this.#intake.resumed(shard, shardSequence);
  }

  /** In every record something follows an ORDER: what does not come is of a shard that died, and is told again. */
  #tellWaiting(shard: number, incoming: Incoming): void {
    const isSameRecord = incoming.untoldIn === this.#views.outcomes[shard]!.shardSequence;
    incoming.untoldIn = TOLD;
    if (!isSameRecord) return;
    const place = this.#append(shard, incoming.slot);
    // The views may have its first fill already.
    this.#order.remainingLots = this.#order.quantityLots;
    prv.writePlaced(place, this.#origin, this.#order);
  }

  /** Each of the two orders has its own frame, also when both are of one account. */
  #filled(shard: number, words: Uint32Array, word: number): void {
    const maker = this.#append(shard, words[word + ev.EV_SLOT]!);
    prv.writeFill(maker, this.#origin, this.#order, prv.ROLE.MAKER, words, word);
    const taker = this.#append(shard, words[word + ev.FILL_TAKER_SLOT]!);
    prv.writeFill(taker, this.#origin, this.#order, prv.ROLE.TAKER, words, word);
  }

  /** Room for a frame of the order in this slot, which is read into `#order`. */
  #append(shard: number, slot: number): prv.RecordPlace {
    const { timeMs, shardSequence } = this.#views.outcomes[shard]!;
    this.#origin.shard = shard;
    this.#origin.shardSequence = shardSequence;
    this.#origin.timeMs = timeMs;
    this.#read(shard, slot);
    return this.#intake.append(shard, shardSequence, this.#views.orders[shard]!.accountOf(slot));
  }

  /** What rests is on the grid, so its signed amounts follow from lots and limit. */
  #read(shard: number, slot: number): void {
    const orders = this.#views.orders[shard]!;
    const order = this.#order;
    order.market = orders.marketOf(slot);
    order.kind = orders.kind[slot]!;
    order.hash = orders.hash;
    order.hashWord = slot * HASH_WORDS;
    order.createdMs = orders.createdMs[slot]!;
    order.orderSequence = orders.orderSequence[slot]!;
    order.clientId = orders.clientIdOf(slot);
    order.group = orders.groupOf(slot);
    order.ticksPerUnit = this.#views.markets.ticksPerUnit(order.market);
    order.quantityLots = orders.quantityLots[slot]!;
    order.remainingLots = orders.remainingLots[slot]!;
    const incoming = this.#incoming[shard]!;
    if (slot === incoming.slot) {
      order.makerAmount = incoming.makerAmount;
      order.takerAmount = incoming.takerAmount;
      return;
    }
    const notionalMicro = order.quantityLots * orders.limitTicks[slot]!;
    const tokensAtomic = order.quantityLots * order.ticksPerUnit;
    const isBuy = kindSide(order.kind) === SIDE.BUY;
    order.makerAmount = isBuy ? notionalMicro : tokensAtomic;
    order.takerAmount = isBuy ? tokensAtomic : notionalMicro;
  }
}
