/**
 * The matching core as a subject of the matching bench: the work for an order that passed all checks. It drives the
 * engine's own book, matcher, ledger and order pool directly.
 *
 *   inside    collateral reserved and released, both sides of every fill settled with fees, order rows, level queues,
 *             account lists, the touched lists; credits handed to the shared cells after every batch
 *   left out  everything around it: hash index, grid and state checks, digest, events, signature, journal
 *
 * An order is placed at a tick and cancelled by its row in the pool; the caller maps ids to rows.
 */

import { Market } from '../engine/book/market.ts';
import { Markets } from '../engine/book/markets.ts';
import { Groups } from '../engine/book/orderGroups.ts';
import { DOUBLE_SHIFT, Orders, WORD_SHIFT } from '../engine/book/orders.ts';
import { Closing } from '../engine/core/closing.ts';
import { ExpiryHeap } from '../engine/core/expiry.ts';
import { GroupLimits } from '../engine/core/groupLimits.ts';
import { Matcher } from '../engine/core/matcher.ts';
import { Ledger } from '../engine/money/ledger.ts';
import { Digest } from '../engine/output/digest.ts';
import { EventWriter } from '../engine/output/emit.ts';
import { assert } from '../shared/base/assert.ts';
import { CLOSE_REASON, MARKET_STATUS, OUTCOME, SIDE, TIME_IN_FORCE } from '../shared/base/codes.ts';
import { OpenOrderIndex } from '../shared/base/openOrderIndex.ts';
import { Balances, createBalances } from '../shared/wire/balances.ts';
import { packKind } from '../shared/wire/commands.ts';
import { RecordBuffer } from '../shared/wire/record.ts';
import {
  DEPOSIT_MICRO,
  MARKET,
  SPLIT_ATOMIC,
  TAPE_ACCOUNTS,
  TAPE_FEE_BPS,
  TAPE_LOTS,
  TAPE_TICKS_PER_UNIT,
} from './commandTape.ts';
import type { Run } from './matchingRun.ts';
import { foldTrade, ID_OFFSET, LOTS_OFFSET, OPERATION, OPERATION_BYTES, type Stream, type Totals } from './workload.ts';

class NoOpenOrders extends OpenOrderIndex {
  override remove(): void {}
}

class NoDigest extends Digest {
  override markOrder(): void {}
}

/** Emits nothing, but sums up the trades, so that every run is checked and not only timed. */
class TradeCount extends EventWriter {
  trades = 0;
  tradedLots = 0;
  checksum = 0;
  readonly idOfRow: Int32Array;

  constructor(orders: Orders, ledger: Ledger, idOfRow: Int32Array) {
    super(new RecordBuffer(64), orders, ledger);
    this.idOfRow = idOfRow;
  }

  override fill(maker: number, _taker: number, _sequence: number, _type: number, tick: number, lots: number): void {
    const units = lots / TAPE_LOTS;
    this.trades++;
    this.tradedLots += units;
    this.checksum = foldTrade(this.checksum, this.idOfRow[maker], units, tick);
  }

  override closed(): void {}
}

const BUY_GTC = packKind(SIDE.BUY, OUTCOME.YES, TIME_IN_FORCE.GTC, 0);
const SELL_GTC = packKind(SIDE.SELL, OUTCOME.YES, TIME_IN_FORCE.GTC, 0);

export class CoreRun implements Run {
  readonly count: number;
  readonly #orders = new Orders();
  readonly #ledger = new Ledger(new Balances(createBalances()), true);
  readonly #market: Market;
  readonly #matcher: Matcher;
  readonly #closing: Closing;
  readonly #trades: TradeCount;
  readonly #operations: Int32Array;
  readonly #rowOfId: Int32Array;
  readonly #idOfRow: Int32Array;
  #sequence = 0;

  constructor(operations: Int32Array) {
    const orders = this.#orders;
    const ledger = this.#ledger;
    this.#operations = operations;
    this.count = operations.length / FIELDS;
    this.#rowOfId = new Int32Array(this.count);
    this.#idOfRow = new Int32Array(this.count);
    this.#trades = new TradeCount(orders, ledger, this.#idOfRow);
    const uuid = new Uint32Array(4);
    const status = MARKET_STATUS.ACTIVE;
    this.#market = new Market(
      orders,
      MARKET,
      uuid,
      TAPE_TICKS_PER_UNIT,
      TAPE_TICKS_PER_UNIT,
      status,
      TAPE_FEE_BPS,
      0,
      1,
    );
    const [markets, digest] = [new Markets(), new NoDigest(orders, ledger)];
    this.#closing = new Closing(orders, ledger, new NoOpenOrders(), new ExpiryHeap(orders), digest, this.#trades);
    const groupLimits = new GroupLimits(orders, markets, new Groups(), this.#closing);
    this.#matcher = new Matcher(orders, ledger, markets, this.#closing, groupLimits, digest, this.#trades);
    ledger.goLive();
    for (let account = 1; account <= TAPE_ACCOUNTS; account++) {
      ledger.credit(account, DEPOSIT_MICRO);
      ledger.addTokens(account, MARKET, OUTCOME.YES, SPLIT_ATOMIC);
    }
    ledger.releaseCredits();
  }

  step(index: number): void {
    const operations = this.#operations;
    const at = index * FIELDS;
    const id = operations[at + ID];
    this.#ledger.startCommand();
    if (operations[at + TYPE] === OPERATION.CANCEL) {
      this.#closing.close(this.#market, this.#rowOfId[id], CLOSE_REASON.USER);
      return;
    }
    const isSweep = operations[at + TYPE] === OPERATION.SWEEP;
    this.#place(id, operations[at + ORDER_SIDE], operations[at + TICK], operations[at + LOTS], isSweep);
  }

  endBatch(): void {
    this.#ledger.releaseCredits();
  }

  check(totals: Totals): void {
    const { trades, tradedLots, checksum } = this.#trades;
    assert(trades === totals.trades && tradedLots === totals.tradedLots, 'matching: the known trades and lots');
    assert(checksum === totals.checksum, 'matching: every trade has the known maker, lots and price');
    assert(this.#orders.openCount === totals.live, 'matching: the known orders are left');
  }

  #place(id: number, side: number, tick: number, lots: number, isSweep: boolean): void {
    const orders = this.#orders;
    const ledger = this.#ledger;
    const market = this.#market;
    const matcher = this.#matcher;
    const closing = this.#closing;
    const account = 1 + (id % TAPE_ACCOUNTS);
    const isBuy = side === SIDE.BUY;
    if (isBuy) assert(ledger.tryReserve(account, lots * tick), 'matching: everybody has enough');
    else ledger.reserveTokens(account, MARKET, OUTCOME.YES, lots * TAPE_TICKS_PER_UNIT);

    const row = orders.allocate(account);
    orders.market[row << WORD_SHIFT] = MARKET;
    orders.kind[row << WORD_SHIFT] = isBuy ? BUY_GTC : SELL_GTC;
    orders.isBid[row << WORD_SHIFT] = isBuy ? 1 : 0;
    orders.limitTicks[row << WORD_SHIFT] = tick;
    orders.yesTicks[row << WORD_SHIFT] = tick;
    orders.feeBps[row << WORD_SHIFT] = TAPE_FEE_BPS;
    orders.quantityLots[row << DOUBLE_SHIFT] = lots;
    orders.remainingLots[row << DOUBLE_SHIFT] = lots;
    orders.filledNotionalMicro[row << DOUBLE_SHIFT] = 0;
    orders.expirationSec[row << DOUBLE_SHIFT] = 0;
    orders.sequence[row << DOUBLE_SHIFT] = ++this.#sequence;
    market.openOrders++;

    matcher.match(market, row);
    if (orders.remainingLots[row << DOUBLE_SHIFT] === 0) closing.close(market, row, CLOSE_REASON.FILLED);
    else if (isSweep) closing.close(market, row, CLOSE_REASON.FAK_REMAINDER);
    else {
      market.book.rest(row);
      this.#rowOfId[id] = row;
      this.#idOfRow[row] = id;
    }
  }
}

/** One operation of the stream as five integers, decoded before the run. */
const FIELDS = 5;
const TYPE = 0;
const ORDER_SIDE = 1;
const TICK = 2;
const LOTS = 3;
const ID = 4;

export function decodeOperations({ bytes }: Stream): Int32Array {
  const operations = new Int32Array((bytes.length / OPERATION_BYTES) * FIELDS);
  for (let from = 0, to = 0; from < bytes.length; from += OPERATION_BYTES, to += FIELDS) {
    operations[to + TYPE] = bytes[from];
    operations[to + ORDER_SIDE] = bytes[from + 1];
    operations[to + TICK] = bytes[from + 2];
    operations[to + LOTS] = bytes.readUInt32LE(from + LOTS_OFFSET) * TAPE_LOTS;
    operations[to + ID] = bytes.readUInt32LE(from + ID_OFFSET);
  }
  return operations;
}
