/**
 * An engine in the test's own thread, driven through a real command ring: place, cancel, fund, then read the events.
 * Signatures are taken for granted here, because the verifier has its own tests; the test moves the time. The
 * invariants of the engine are checked after every command.
 */
import assert from 'node:assert/strict';
import { DOUBLE_SHIFT, SLOT_STATE, WORD_SHIFT } from '../../engine/book/orders.ts';
import type { Engine } from '../../engine/core/engine.ts';
import { checkInvariants } from '../../engine/core/invariants.ts';
import type { Verifier } from '../../engine/verify/verifier.ts';
import { CLOSE_REASON, MARKET_STATUS, MOVEMENT, SIDE } from '../../shared/base/codes.ts';
import { Balances, createBalances } from '../../shared/wire/balances.ts';
import {
  ANY_GRANT,
  ANY_STAGE,
  BOTH_OUTCOMES,
  BOTH_SIDES,
  COMMAND,
  type CommandType,
  claimCommand,
  EXTENDED_PLACE,
  NO_MARKET,
  REPLACE_MODE,
} from '../../shared/wire/commands.ts';
import { decodeEvents, EVENT, type EventOf } from '../../shared/wire/events.ts';
import { flagsExpecting } from '../../shared/wire/expectedRemainder.ts';
import { RecordBuffer, writeSafe, writeSigned } from '../../shared/wire/record.ts';
import { RingConsumer, RingProducer } from '../../shared/wire/ring.ts';
import { createRingBuffer } from '../../shared/wire/ringLayout.ts';
import {
  amountsOf,
  isExtended,
  type MarketPatch,
  type MarketTerms,
  type PlacementFields,
  writeMarketOpen,
  writeMarketPatch,
  writePlacement,
} from './commandBodies.ts';
import { MemoryJournal, makeEngine, replayRows } from './engine.ts';
import { validateBooks } from './naiveBook.ts';
import { type Closed, type Fill, type OrderEvent, OrderEventReader } from './orderEvents.ts';

const DAY_MS = 86_400_000;

type Reply = { code: number; sequence: number; a: number; b: number; c: number };

export type CommandResult = {
  reply: Reply;
  /** The order's hash, if the command is a PLACE. */
  hash: Uint32Array;
  /** The events of orders by sequence number, with the events of a TICK before. */
  events: OrderEvent[];
  /** The types of all events. */
  types: number[];
  /** The public ones: each has the next number of its market, a fill the next two. */
  frames: { market: number; sequence: number; type: number }[];
};

export const fillsOf = ({ events }: CommandResult): Fill[] => events.filter((event) => event.kind === 'fill');
export const closedOf = ({ events }: CommandResult): Closed[] => events.filter((event) => event.kind === 'closed');

/** An order by lots and ticks, with everything else as it usually is; amounts that are given go before them. */
export type PlaceOptions = Partial<PlacementFields> & {
  account?: number;
  market?: number;
  ticks?: number;
  lots?: number;
};
export type MarketOptions = Partial<MarketTerms>;
/** The reference is the number of the fill. */
type UnwoundFill = { market: number; account: number; takerAccount: number; reference: number };

type RigOptions = {
  collateralCheck?: boolean | undefined;
  verifier?: Verifier | undefined;
  /** Balances shared with another rig: two shards of one exchange. */
  balances?: Balances | undefined;
  postOnlyUntilMs?: number;
  /** Orders that the shard accepts in its life. */
  mostOrders?: number;
  /** Starts from what another rig journaled. */
  journal?: MemoryJournal;
  /** Gives the engine the state that it starts with. */
  fill?: (engine: Engine) => void;
  /** Orders and holders that one record may close and pay. */
  rowsOfRecord?: number;
  /** That come into force with the next command. */
  rules?: number;
};

export class EngineRig {
  readonly balances: Balances;
  readonly journal = new MemoryJournal();
  readonly engine: Engine;
  nowMs = 1_800_000_000_000;
  /** The shard's own clock, if it differs from the clock of commands. */
  clockMs: number | undefined;
  /** False: the test decides when a journal transaction is durable (`commit`). */
  commitsAtOnce = true;
  /** The account of an order, by its sequence number. */
  readonly accountOf = new Map<number, number>();
  readonly #isOnlyShard: boolean;
  readonly #orderEvents = new OrderEventReader();
  #salt = 0;
  #reference = 0;
  readonly #producer: RingProducer;
  readonly #consumer: RingConsumer;
  readonly #command = new RecordBuffer(4096);

  constructor(options: RigOptions = {}) {
    this.#isOnlyShard = options.balances === undefined;
    this.balances = options.balances ?? new Balances(createBalances());
    const ring = createRingBuffer(1 << 16);
    this.#producer = new RingProducer(ring);
    this.#consumer = new RingConsumer(ring);
    const { collateralCheck = true, rowsOfRecord, verifier } = options;
    this.engine = makeEngine(this.balances, this.journal, collateralCheck, verifier, rowsOfRecord);
    if (options.journal !== undefined) this.#replay(options.journal);
    options.fill?.(this.engine);
    this.engine.goLive(options.postOnlyUntilMs, options.mostOrders, options.rules);
  }

  /** A fresh engine that has replayed everything this one journaled. */
  replayed(collateralCheck = true): Engine {
    const engine = makeEngine(new Balances(createBalances()), new MemoryJournal(), collateralCheck);
    replayRows(engine, this.journal);
    return engine;
  }

  /** A rig that starts from this one's journal, as a shard does after a crash of the process or of its thread alone. */
  recovered(options: Omit<RigOptions, 'collateralCheck' | 'verifier'> = {}): EngineRig {
    const rig = new EngineRig({ journal: this.journal, ...options });
    rig.nowMs = this.nowMs;
    rig.#salt = this.#salt;
    rig.#reference = this.#reference;
    return rig;
  }

  /** The journal transaction is durable: credits may be spent by other shards. */
  commit(): void {
    this.engine.state.ledger.releaseCredits();
  }

  market(index: number, options: MarketOptions = {}): CommandResult {
    const word = this.#begin(COMMAND.MARKET_OPEN.TYPE, 0, index, 0);
    writeMarketOpen(this.#producer.words, word, index, {
      ticksPerUnit: 100,
      feeBps: 50,
      minOrderAtomic: 1_000_000,
      startMs: this.nowMs,
      endMs: this.nowMs + DAY_MS,
      status: MARKET_STATUS.ACTIVE,
      ...options,
    });
    return this.#run();
  }

  patch(index: number, options: Partial<MarketPatch>): CommandResult {
    const { startMs = 0, endMs = 0 } = this.engine.state.markets.peek(index) ?? {};
    const word = this.#begin(COMMAND.MARKET_PATCH.TYPE, 0, index, 0);
    writeMarketPatch(this.#producer.words, word, { startMs, endMs, ...options });
    return this.#run();
  }

  fund(
    account: number,
    micro: number,
    movement: number = MOVEMENT.DEPOSIT,
    reference = ++this.#reference,
  ): CommandResult {
    const word = this.#begin(COMMAND.FUNDS.TYPE, account, NO_MARKET, movement);
    writeSafe(this.#producer.words, word + COMMAND.FUNDS.amountMicro, micro);
    this.#producer.words[word + COMMAND.FUNDS.reference + 1] = reference;
    return this.#run();
  }

  /** A movement by the hash of its reference, as the gateway sends it; a deposit of full sets if it has a market. */
  move(account: number, movement: number, micro: number, reference: Uint8Array, market = NO_MARKET): CommandResult {
    const word = this.#begin(COMMAND.FUNDS.TYPE, account, market, movement);
    writeSafe(this.#producer.words, word + COMMAND.FUNDS.amountMicro, micro);
    this.#producer.bytes.set(reference, (word + COMMAND.FUNDS.reference) * 4);
    return this.#run();
  }

  /** A deposit of full sets. */
  fundSets(account: number, market: number, atomic: number, reference = ++this.#reference): CommandResult {
    const word = this.#begin(COMMAND.FUNDS.TYPE, account, market, MOVEMENT.DEPOSIT);
    writeSafe(this.#producer.words, word + COMMAND.FUNDS.amountMicro, atomic);
    this.#producer.words[word + COMMAND.FUNDS.reference + 1] = reference;
    return this.#run();
  }

  convert(account: number, market: number, atomic: number, movement: number = MOVEMENT.SPLIT): CommandResult {
    const word = this.#begin(COMMAND.CONVERT.TYPE, account, market, movement);
    writeSafe(this.#producer.words, word + COMMAND.CONVERT.amountAtomic, atomic);
    return this.#run();
  }

  /** Undoes a fill: for each party, the USDC, Yes and No that it gets. */
  unwind(
    { market, account, takerAccount, reference }: UnwoundFill,
    changes: Readonly<Record<'maker' | 'taker' | 'fee', readonly [micro: number, yes: number, no: number]>>,
  ): CommandResult {
    const { UNWIND } = COMMAND;
    const word = this.#begin(UNWIND.TYPE, account, market, takerAccount);
    const { words } = this.#producer;
    words[word + UNWIND.reference] = reference;
    writeSafe(words, word + UNWIND.tradeSequence, reference);
    for (const [party, first] of [
      ['maker', UNWIND.makerMicro],
      ['taker', UNWIND.takerMicro],
      ['fee', UNWIND.feeMicro],
    ] as const) {
      for (const [index, change] of changes[party].entries()) writeSigned(words, word + first + 2 * index, change);
    }
    return this.#run();
  }

  place(options: PlaceOptions): CommandResult {
    const bytes = isExtended(options) ? EXTENDED_PLACE.BYTES : undefined;
    const word = this.#begin(COMMAND.PLACE.TYPE, options.account ?? 1, options.market ?? 0, 0, bytes);
    this.#writePlacement(word, options, isExtended(options));
    return this.#run();
  }

  /** Replaces `old` by an order with these options. */
  replace(
    old: Uint32Array,
    options: PlaceOptions,
    mode: number = REPLACE_MODE.CANCEL_REPLACE,
    expected?: number,
  ): CommandResult {
    const flags = mode | (expected === undefined ? 0 : flagsExpecting(expected));
    const word = this.#begin(COMMAND.REPLACE.TYPE, options.account ?? 1, options.market ?? 0, flags);
    this.#writePlacement(word, options, true);
    this.#producer.words[word + EXTENDED_PLACE.expectedLow] = (expected ?? 0) % 2 ** 32;
    this.#producer.words.set(old, word + COMMAND.REPLACE.oldHash);
    return this.#run();
  }

  amend(old: Uint32Array, options: PlaceOptions): CommandResult {
    return this.replace(old, options, REPLACE_MODE.AMEND);
  }

  #writePlacement(word: number, options: PlaceOptions, isExtended: boolean): void {
    const { market = 0, side = SIDE.BUY, lots = 10_000, ticks = 50 } = options;
    const amounts = amountsOf(side, lots, ticks, this.engine.state.markets.peek(market)?.ticksPerUnit);
    const salt = options.salt ?? ++this.#salt;
    writePlacement(this.#producer.words, word, { ...amounts, feeBps: 50, ...options, side, salt }, isExtended);
  }

  cancel(account: number, hash: Uint32Array, reason: number = CLOSE_REASON.USER): CommandResult {
    const word = this.#begin(COMMAND.CANCEL.TYPE, account, NO_MARKET, reason);
    this.#producer.words.set(hash, word + COMMAND.CANCEL.hash);
    return this.#run();
  }

  cancelMany(account: number, market: number = NO_MARKET, outcome: number = BOTH_OUTCOMES): CommandResult {
    const word = this.#begin(COMMAND.CANCEL_MANY.TYPE, account, market, CLOSE_REASON.USER);
    this.#producer.words[word + COMMAND.CANCEL_MANY.outcome] = outcome;
    return this.#run();
  }

  /** Cancels orders that the administrator no longer allows the account. */
  sweep(account: number, side: number = BOTH_SIDES, grant: number = ANY_GRANT): CommandResult {
    const word = this.#begin(COMMAND.SWEEP.TYPE, account, NO_MARKET, CLOSE_REASON.ADMIN);
    this.#producer.words[word + COMMAND.SWEEP.side] = side;
    this.#producer.words[word + COMMAND.SWEEP.grant] = grant;
    return this.#run();
  }

  /** Raises the floor under the nonces of a wallet. */
  nonceFloor(account: number, wallet: number, floor: number): CommandResult {
    const word = this.#begin(COMMAND.NONCE_FLOOR.TYPE, account, NO_MARKET, 0);
    this.#producer.words[word + COMMAND.NONCE_FLOOR.wallet] = wallet;
    writeSafe(this.#producer.words, word + COMMAND.NONCE_FLOOR.floor, floor);
    return this.#run();
  }

  resolve(index: number, payoutYesPpm: number, status: number = MARKET_STATUS.RESOLVED): CommandResult {
    const word = this.#begin(COMMAND.RESOLVE.TYPE, 0, index, 0);
    this.#producer.words[word + COMMAND.RESOLVE.status] = status;
    this.#producer.words[word + COMMAND.RESOLVE.payoutYesPpm] = payoutYesPpm;
    return this.#run();
  }

  claim(account: number, market = 0): CommandResult {
    this.#begin(COMMAND.CLAIM.TYPE, account, market, 0);
    return this.#run();
  }

  settle(market = 0): CommandResult {
    this.#begin(COMMAND.SETTLE.TYPE, 0, market, 0);
    return this.#run();
  }

  groupSet(account: number, group: number, windowSec: number, maxAtomic: number): CommandResult {
    const word = this.#begin(COMMAND.GROUP_SET.TYPE, account, NO_MARKET, 0);
    this.#producer.words[word + COMMAND.GROUP_SET.group] = group;
    this.#producer.words[word + COMMAND.GROUP_SET.windowSec] = windowSec;
    writeSafe(this.#producer.words, word + COMMAND.GROUP_SET.maxAtomic, maxAtomic);
    return this.#run();
  }

  groupReset(account: number, group: number): CommandResult {
    return this.#onGroup(COMMAND.GROUP_RESET.TYPE, account, group);
  }

  groupTrip(account: number, group: number): CommandResult {
    return this.#onGroup(COMMAND.GROUP_TRIP.TYPE, account, group);
  }

  contracts(chainId: number, exchange: Uint8Array): CommandResult {
    const word = this.#begin(COMMAND.CONTRACTS.TYPE, 0, NO_MARKET, 0);
    writeSafe(this.#producer.words, word + COMMAND.CONTRACTS.chainId, chainId);
    this.#producer.bytes.set(exchange, (word + COMMAND.CONTRACTS.exchange) * 4);
    return this.#run();
  }

  /** Steps a market, or all of the shard, to another stage. */
  stage(stage: number, from: number = ANY_STAGE, market: number = NO_MARKET): CommandResult {
    const word = this.#begin(COMMAND.STAGE.TYPE, 0, market, stage);
    this.#producer.words[word + COMMAND.STAGE.from] = from;
    return this.#run();
  }

  #onGroup(type: CommandType, account: number, group: number): CommandResult {
    const word = this.#begin(type, account, NO_MARKET, 0);
    this.#producer.words[word + COMMAND.GROUP_SET.group] = group;
    return this.#run();
  }

  /** Runs the one command that `write` puts into the ring. */
  run(write: (ring: RingProducer) => void): CommandResult {
    write(this.#producer);
    return this.#run();
  }

  tick(): CommandResult {
    this.#begin(COMMAND.TICK.TYPE, 0, NO_MARKET, 0);
    return this.#run();
  }

  /** The record that goes on with the markets that are being ended. */
  step(): CommandResult {
    this.engine.step();
    return this.#ran();
  }

  /** Returns the hash of an open order by its sequence number. */
  hashOf(order: number): Uint32Array {
    const { orders } = this.engine.state;
    for (const [slot, sequence] of this.#orderEvents.orders()) {
      if (sequence !== order || orders.state[slot << WORD_SHIFT] === SLOT_STATE.FREE) continue;
      const at = orders.signed.hashOffset(slot);
      return orders.signed.words.slice(at, at + 8);
    }
    throw new Error(`order ${order} is not open`);
  }

  /** The slot of an open order. */
  slotOf(hash: Uint32Array): number {
    const { openOrders, orders } = this.engine.state;
    const slot = openOrders.find(orders.signed.words, hash, 0);
    assert.ok(slot >= 0, 'the order is open');
    return slot;
  }

  /** The account's available and reserved funds. */
  usdc(account: number): { available: number; reserved: number } {
    return { available: this.balances.availableMicro(account), reserved: this.engine.state.ledger.reservedOf(account) };
  }

  tokens(account: number, outcome: number, market = 0): { available: number; reserved: number } {
    const { ledger } = this.engine.state;
    return {
      available: ledger.availableTokens(account, market, outcome),
      reserved: ledger.reservedTokens(account, market, outcome),
    };
  }

  /** Occupied levels of a market in Yes terms, best first: "tick x lots". */
  book(market = 0): { bids: string[]; asks: string[] } {
    const found = this.engine.state.markets.peek(market);
    if (found === undefined) throw new Error('no such market');
    const side = (levels: typeof found.book.bids): string[] => {
      const rows: string[] = [];
      for (let tick = levels.bestTick; tick >= 0; tick = levels.worseThan(tick)) {
        rows.push(`${tick} x ${levels.totalLots[tick]}`);
      }
      return rows;
    };
    return { bids: side(found.book.bids), asks: side(found.book.asks) };
  }

  #begin(type: CommandType, account: number, market: number, flags: number, lengthBytes?: number): number {
    return claimCommand(this.#producer, type, 7, account, this.nowMs, market, flags, lengthBytes);
  }

  #run(): CommandResult {
    this.#producer.publish();
    const word = this.#consumer.next();
    this.#command.clear();
    this.#command.appendRecords(this.#consumer.words, word, this.#consumer.words[word]);
    this.#consumer.release();
    this.engine.arrivedAt(this.clockMs ?? this.nowMs);
    this.engine.submit(this.#command.words, this.#command.bytes, 0);
    return this.#ran();
  }

  #ran(): CommandResult {
    if (this.commitsAtOnce) this.commit();
    const result = this.#read();
    this.engine.out.clear();
    checkInvariants(this.engine.state);
    validateBooks(this.engine.state);
    if (this.commitsAtOnce && this.#isOnlyShard) this.#checkCells();
    return result;
  }

  #replay(journal: MemoryJournal): void {
    replayRows(this.engine, journal);
    this.journal.rows.push(...journal.rows);
    const { orders } = this.engine.state;
    for (let slot = 0; slot < orders.capacity; slot++) {
      if (orders.state[slot << WORD_SHIFT] === SLOT_STATE.FREE) continue;
      this.#orderEvents.note(slot, orders.sequence[slot << DOUBLE_SHIFT]);
      this.accountOf.set(orders.sequence[slot << DOUBLE_SHIFT], orders.account[slot << WORD_SHIFT]);
    }
  }

  /** BALANCES-2: with a single shard and nothing in flight, the shared cells are its nets. */
  #checkCells(): void {
    const { netMicro } = this.engine.state.ledger;
    for (let account = 0; account < netMicro.length; account++) {
      assert.equal(this.balances.availableMicro(account), netMicro[account], `cell of account ${account}`);
    }
  }

  #read(): CommandResult {
    const { out } = this.engine;
    const result: CommandResult = {
      reply: { code: -1, sequence: 0, a: 0, b: 0, c: 0 },
      hash: this.#command.words.slice(COMMAND.PLACE.hash, COMMAND.PLACE.hash + 8),
      events: [],
      types: [],
      frames: [],
    };
    for (const event of decodeEvents(out.words, 0, out.lengthBytes >>> 2)) {
      const type = EVENT[event.name].TYPE;
      const { market, marketSequence: sequence } = event;
      result.types.push(type);
      if (sequence > 0) result.frames.push({ market, sequence, type });
      if (event.name === 'REPLY') result.reply = replyOf(event);
      if (event.name === 'ORDER') this.accountOf.set(event.sequence, event.account);
      const one = this.#orderEvents.read(event);
      if (one !== undefined) result.events.push(one);
    }
    return result;
  }
}

function replyOf({ code, shardSequence: sequence, a, b, c }: EventOf<'REPLY'>): Reply {
  return { code, sequence, a, b, c };
}
