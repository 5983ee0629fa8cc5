/**
 * The private side of the stream: which accounts an event concerns, and what it says to them. An order is told of when
 * it is placed, at each of its fills, and once when it is over (RULES.md 8.9).
 * Owner: the gateway thread, inside the pump, right after the views have applied an event.
 */
import { CLOSE_REASON, type CloseReason, ORDER_STATUS, type OrderStatus, SIDE } from '../../shared/codes.ts';
import { kindSide, kindTimeInForce } from '../../shared/commands.ts';
import * as ev from '../../shared/events.ts';
import { filledAmount, remainingAmount } from '../../shared/orderMath.ts';
import { readSafe, writeSafe } from '../../shared/record.ts';
import { HASH_WORDS } from '../views/hashIndex.ts';
import type { Views } from '../views/index.ts';
import { mirrorTicks, type OpenOrders } from '../views/orders.ts';
import type { PrivateLog } from './privateLog.ts';
import * as prv from './privateRecord.ts';

/** The order a shard has accepted last, which alone may be off the grid. */
type Incoming = { slot: number; makerAmount: number; takerAmount: number };

const NO_SLOT = -1;

export class PrivateFeed {
  readonly #views: Views;
  readonly #log: PrivateLog;
  /** By shard. */
  readonly #incoming: readonly Incoming[];
  /** Accounts with records in this batch. */
  readonly #touched = new Set<number>();
  /** The amounts of the order at hand, one object for all of them. */
  readonly #amounts = {
    side: SIDE.BUY as number,
    timeInForce: 0,
    ticksPerUnit: 0,
    makerAmount: 0,
    takerAmount: 0,
    quantityLots: 0,
    remainingLots: 0,
    status: 0,
  };

  constructor(views: Views, log: PrivateLog) {
    this.#views = views;
    this.#log = log;
    this.#incoming = views.orders.map(() => ({ slot: NO_SLOT, makerAmount: 0, takerAmount: 0 }));
  }

  applied(shard: number, words: Uint32Array, word: number): void {
    switch (ev.typeOf(words[word + ev.EV_TYPE]!)) {
      case ev.EVENT.ORDER:
        this.#placed(shard, words, word);
        break;
      case ev.EVENT.FILL:
        this.#filled(shard, words, word);
        break;
      case ev.EVENT.CLOSED:
        this.#closed(shard, words, word);
        break;
      default:
    }
  }

  recovered(shard: number, shardSequence: number): void {
    this.#incoming[shard]!.slot = NO_SLOT;
    this.#log.resumed(shard, shardSequence);
  }

  /** Hands over the accounts that have new records, once these are kept (U2). */
  flush(tell: (account: number) => void): void {
    if (this.#touched.size === 0) return;
    this.#log.commit();
    for (const account of this.#touched) tell(account);
    this.#touched.clear();
  }

  #placed(shard: number, words: Uint32Array, word: number): void {
    const incoming = this.#incoming[shard]!;
    incoming.slot = words[word + ev.EV_SLOT]!;
    incoming.makerAmount = readSafe(words, word + ev.ORDER_MAKER_AMOUNT);
    incoming.takerAmount = readSafe(words, word + ev.ORDER_TAKER_AMOUNT);
    this.#status(shard, incoming.slot, ORDER_STATUS.OPEN, prv.REASON_PLACED);
  }

  #closed(shard: number, words: Uint32Array, word: number): void {
    const reason = words[word + ev.EV_FLAGS]! as CloseReason;
    this.#status(shard, words[word + ev.EV_SLOT]!, closedStatus(reason), reason);
  }

  #status(shard: number, slot: number, status: OrderStatus, reason: number): void {
    const { words, word } = this.#append(prv.PRIVATE_KIND.ORDER_STATUS, shard, slot, status);
    words[word + prv.PRV_REASON] = reason;
    writeSafe(words, word + prv.PRV_FILLED, filledAmount(this.#amounts));
  }

  /** Each of the two orders has its own frame, also when both are of one account. */
  #filled(shard: number, words: Uint32Array, word: number): void {
    const makerFee = readSafe(words, word + ev.FILL_MAKER_FEE);
    const takerFee = readSafe(words, word + ev.FILL_TAKER_FEE);
    this.#fill(shard, words, word, prv.ROLE.MAKER, words[word + ev.EV_SLOT]!, makerFee);
    this.#fill(shard, words, word, prv.ROLE.TAKER, words[word + ev.FILL_TAKER_SLOT]!, takerFee);
  }

  #fill(shard: number, from: Uint32Array, at: number, role: prv.Role, slot: number, fee: number): void {
    const orders = this.#views.orders[shard]!;
    const status = orders.remainingLots[slot] === 0 ? ORDER_STATUS.FILLED : ORDER_STATUS.PARTIALLY_FILLED;
    const { words, word } = this.#append(prv.PRIVATE_KIND.FILL, shard, slot, status);
    const ticks = mirrorTicks(orders.kind[slot]!, from[at + ev.FILL_YES_TICKS]!, this.#amounts.ticksPerUnit);
    words[word + prv.PRV_ROLE] = role;
    words[word + prv.PRV_TICKS] = ticks;
    writeSafe(words, word + prv.PRV_LOTS, readSafe(from, at + ev.FILL_LOTS));
    writeSafe(words, word + prv.PRV_TRADE_SEQUENCE, readSafe(from, at + ev.FILL_TRADE_SEQUENCE));
    writeSafe(words, word + prv.PRV_FEE, fee);
  }

  /** A record with everything that both kinds have. */
  #append(kind: prv.PrivateKind, shard: number, slot: number, status: OrderStatus) {
    const orders = this.#views.orders[shard]!;
    const outcome = this.#views.outcomes[shard]!;
    const account = orders.accountOf(slot);
    this.#readAmounts(orders, slot, status);
    const place = this.#log.append(account);
    const { words, word } = place;
    words[word + prv.PRV_KIND] = kind;
    words[word + prv.PRV_MARKET] = orders.marketOf(slot);
    writeSafe(words, word + prv.PRV_USER_SEQUENCE, this.#log.last(account));
    writeSafe(words, word + prv.PRV_TIME_MS, outcome.timeMs);
    words[word + prv.PRV_SHARD] = shard;
    writeSafe(words, word + prv.PRV_SHARD_SEQUENCE, outcome.shardSequence);
    words[word + prv.PRV_ORDER_KIND] = orders.kind[slot]!;
    for (let i = 0; i < HASH_WORDS; i++) words[word + prv.PRV_HASH + i] = orders.hash[slot * HASH_WORDS + i]!;
    writeSafe(words, word + prv.PRV_CREATED_MS, orders.createdMs[slot]!);
    writeSafe(words, word + prv.PRV_ORDER_SEQUENCE, orders.orderSequence[slot]!);
    words[word + prv.PRV_STATUS] = status;
    writeSafe(words, word + prv.PRV_REMAINING, remainingAmount(this.#amounts));
    this.#touched.add(account);
    return place;
  }

  /** What rests is on the grid, so its signed amounts follow from lots and limit. */
  #readAmounts(orders: OpenOrders, slot: number, status: OrderStatus): void {
    const amounts = this.#amounts;
    const kind = orders.kind[slot]!;
    const incoming = this.#incoming[orders.shard]!;
    amounts.side = kindSide(kind);
    amounts.timeInForce = kindTimeInForce(kind);
    amounts.ticksPerUnit = this.#views.markets.ticksPerUnit(orders.marketOf(slot));
    amounts.quantityLots = orders.quantityLots[slot]!;
    amounts.remainingLots = orders.remainingLots[slot]!;
    amounts.status = status;
    if (slot === incoming.slot) {
      amounts.makerAmount = incoming.makerAmount;
      amounts.takerAmount = incoming.takerAmount;
      return;
    }
    const notionalMicro = amounts.quantityLots * orders.limitTicks[slot]!;
    const tokensAtomic = amounts.quantityLots * amounts.ticksPerUnit;
    const isBuy = amounts.side === SIDE.BUY;
    amounts.makerAmount = isBuy ? notionalMicro : tokensAtomic;
    amounts.takerAmount = isBuy ? tokensAtomic : notionalMicro;
  }
}

function closedStatus(reason: CloseReason): OrderStatus {
  if (reason === CLOSE_REASON.FILLED) return ORDER_STATUS.FILLED;
  return reason === CLOSE_REASON.EXPIRED ? ORDER_STATUS.EXPIRED : ORDER_STATUS.CANCELLED;
}
