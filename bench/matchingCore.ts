/**
 * The matching core as a subject of the matching bench: what is left of an order when it is known to be good. It drives
 * the engine's own book, matcher, ledger and order pool directly.
 *
 *   inside    collateral reserved and released, both sides of every fill settled with fees, order rows, level queues,
 *             account lists, the touched lists; credits handed to the shared cells after every batch
 *   left out  everything around it: hash index, grid and state checks, digest, events, signature, journal
 *
 * An order is placed at a tick and cancelled by its row: to know the row of an id is the caller's part here.
 */
import { Digest } from '../engine/digest.ts';
import { Emitter } from '../engine/emit.ts';
import { ExpiryHeap } from '../engine/expiry.ts';
import { Groups } from '../engine/groups.ts';
import { HashIndex } from '../engine/hashIndex.ts';
import { Ledger } from '../engine/ledger.ts';
import { Market } from '../engine/market.ts';
import { Markets } from '../engine/markets.ts';
import { Matcher } from '../engine/matcher.ts';
import { NUMBERS, Orders, WORDS } from '../engine/orders.ts';
import { assert } from '../shared/assert.ts';
import { Balances, createBalances } from '../shared/balances.ts';
import { CLOSE_REASON, MARKET_STATUS, OUTCOME, SIDE, TIME_IN_FORCE } from '../shared/codes.ts';
import { packKind } from '../shared/commands.ts';
import { RecordBuffer } from '../shared/record.ts';
import {
  DEPOSIT_MICRO,
  MARKET,
  SPLIT_ATOMIC,
  TAPE_ACCOUNTS,
  TAPE_FEE_BPS,
  TAPE_LOTS,
  TAPE_TICKS_PER_UNIT,
} from './commandTape.ts';
import type { Run } from './matchingThread.ts';
import { foldTrade, ID_OFFSET, LOTS_OFFSET, OPERATION, OPERATION_BYTES, type Stream, type Totals } from './workload.ts';

class NoHashes extends HashIndex {
  override close(): void {}
}

class NoDigest extends Digest {
  override noteOrder(): void {}
}

/** Writes nothing; folds the trades together, so that every run is checked and not only timed. */
class TradeCount extends Emitter {
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
  readonly #told: TradeCount;
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
    this.#told = new TradeCount(orders, ledger, this.#idOfRow);
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
    this.#matcher = new Matcher(
      orders,
      ledger,
      new NoHashes(),
      new ExpiryHeap(orders),
      new Markets(),
      new Groups(),
      new NoDigest(orders, ledger),
      this.#told,
    );
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
    this.#ledger.beginCommand();
    if (operations[at + TYPE] === OPERATION.CANCEL) {
      this.#matcher.close(this.#market, this.#rowOfId[id], CLOSE_REASON.USER);
      return;
    }
    const isSweep = operations[at + TYPE] === OPERATION.SWEEP;
    this.#place(id, operations[at + ORDER_SIDE], operations[at + TICK], operations[at + LOTS], isSweep);
  }

  endBatch(): void {
    this.#ledger.releaseCredits();
  }

  check(totals: Totals): void {
    const { trades, tradedLots, checksum } = this.#told;
    assert(trades === totals.trades && tradedLots === totals.tradedLots, 'matching: the known trades and lots');
    assert(checksum === totals.checksum, 'matching: every trade has the known maker, lots and price');
    assert(this.#orders.openCount === totals.live, 'matching: the known orders are left');
  }

  #place(id: number, side: number, tick: number, lots: number, isSweep: boolean): void {
    const orders = this.#orders;
    const ledger = this.#ledger;
    const market = this.#market;
    const matcher = this.#matcher;
    const account = 1 + (id % TAPE_ACCOUNTS);
    const isBuy = side === SIDE.BUY;
    if (isBuy) assert(ledger.tryReserve(account, lots * tick), 'matching: everybody has enough');
    else ledger.reserveTokens(account, MARKET, OUTCOME.YES, lots * TAPE_TICKS_PER_UNIT);

    const row = orders.allocate(account);
    orders.market[row << WORDS] = MARKET;
    orders.kind[row << WORDS] = isBuy ? BUY_GTC : SELL_GTC;
    orders.isBid[row << WORDS] = isBuy ? 1 : 0;
    orders.limitTicks[row << WORDS] = tick;
    orders.yesTicks[row << WORDS] = tick;
    orders.feeBps[row << WORDS] = TAPE_FEE_BPS;
    orders.quantityLots[row << NUMBERS] = lots;
    orders.remainingLots[row << NUMBERS] = lots;
    orders.filledNotionalMicro[row << NUMBERS] = 0;
    orders.expirationSec[row << NUMBERS] = 0;
    orders.sequence[row << NUMBERS] = ++this.#sequence;
    market.openOrders++;

    matcher.match(market, row);
    if (orders.remainingLots[row << NUMBERS] === 0) matcher.close(market, row, CLOSE_REASON.FILLED);
    else if (isSweep) matcher.close(market, row, CLOSE_REASON.FAK_REMAINDER);
    else {
      market.book.rest(row);
      this.#rowOfId[id] = row;
      this.#idOfRow[row] = id;
    }
  }
}

/** One operation of the stream as five integers, decoded ahead of the run. */
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
