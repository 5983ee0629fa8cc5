/**
 * An engine in the test's own thread, driven through a real command ring: place, cancel, fund, then read the events.
 * Signatures are taken for granted here (the verifier has its own tests); time is the test's to move.
 */
import assert from 'node:assert/strict';
import { checkShard } from '../../engine/check.ts';
import { Engine } from '../../engine/engine.ts';
import type { JournalStore } from '../../engine/journal.ts';
import { NUMBERS, PLACE_OF, WORDS } from '../../engine/orders.ts';
import type { Verifier } from '../../engine/verify/verifier.ts';
import { Balances, createBalances } from '../../shared/balances.ts';
import { CLOSE_REASON, MARKET_STATUS, MOVEMENT, OUTCOME, SIDE, TIME_IN_FORCE } from '../../shared/codes.ts';
import * as cmd from '../../shared/commands.ts';
import { DOMAIN_NAME, DOMAIN_VERSION, hasherFor } from '../../shared/eip712.ts';
import { ERRORS, OK } from '../../shared/errors.ts';
import * as ev from '../../shared/events.ts';
import { RecordBuffer, readSafe, writeSafe } from '../../shared/record.ts';
import { RingConsumer, RingProducer } from '../../shared/ring.ts';
import { createRingBuffer } from '../../shared/ringLayout.ts';
import { writeClientId } from '../../shared/tag.ts';

const acceptAll: Verifier = { name: 'noble', verify: () => true };

export const DOMAIN = {
  name: DOMAIN_NAME,
  version: DOMAIN_VERSION,
  chainId: 137,
  verifyingContract: '0x00000000000000000000000000000000000000ee',
};

export type Reply = { code: number; sequence: number; a: number; b: number; c: number };

/** Orders are told by their sequence number, which is theirs alone; slots are used again. Ticks are in Yes terms. */
export type Fill = {
  kind: 'fill';
  maker: number;
  taker: number;
  lots: number;
  ticks: number;
  matchType: number;
  makerFee: number;
  takerFee: number;
};
export type Closed = { kind: 'closed'; order: number; reason: number; left: number };
export type Told =
  | Fill
  | Closed
  | { kind: 'order'; order: number }
  | { kind: 'rest'; order: number; lots: number }
  | { kind: 'dormant' | 'woken'; order: number };

export type Outcome = {
  reply: Reply;
  /** Of a PLACE: the order's hash. */
  hash: Uint32Array;
  /** What became of orders, as it happened; a TICK that came first included. */
  told: Told[];
  /** Event types, all of them. */
  types: number[];
  /** The public ones: each has the next number of its market, a fill the next two. */
  frames: { market: number; sequence: number; type: number }[];
};

export const fillsOf = (outcome: Outcome): Fill[] => outcome.told.filter((event) => event.kind === 'fill');
export const closedOf = (outcome: Outcome): Closed[] => outcome.told.filter((event) => event.kind === 'closed');

export type PlaceOptions = {
  account?: number;
  market?: number;
  side?: number;
  outcome?: number;
  ticks?: number;
  lots?: number;
  makerAmount?: number;
  takerAmount?: number;
  timeInForce?: number;
  postOnly?: boolean;
  selfTrade?: number;
  expirationSec?: number;
  feeBps?: number;
  minTakerNet?: number;
  authorized?: boolean;
  salt?: number;
  /** Any of these makes the command an extended one. */
  clientId?: string;
  clientIdTaken?: boolean;
  group?: number;
  deadlineMs?: number;
};

const EXTENSIONS = ['clientId', 'clientIdTaken', 'group', 'deadlineMs'] as const;
export type Extension = Pick<PlaceOptions, (typeof EXTENSIONS)[number]>;

export type MarketOptions = {
  ticksPerUnit?: number;
  feeBps?: number;
  status?: number;
  startMs?: number;
  endMs?: number;
  minOrderAtomic?: number;
};

/** Keeps what was appended, as a journal would, and hands it back to a fresh engine. */
export class MemoryJournal implements Pick<JournalStore, 'append'> {
  readonly rows: { sequence: number; timeMs: number; words: Uint32Array; eventWord: number; eventBytes: number }[] = [];

  /** As it is now, whatever is appended here later: what was durable at this moment. */
  copy(): MemoryJournal {
    const copy = new MemoryJournal();
    copy.rows.push(...this.rows);
    return copy;
  }

  append(
    sequence: number,
    timeMs: number,
    commandWords: Uint32Array,
    commandWord: number,
    commandBytes: number,
    eventWords: Uint32Array,
    eventWord: number,
    eventBytes: number,
  ): void {
    const words = new Uint32Array((commandBytes + eventBytes) / 4);
    words.set(commandWords.subarray(commandWord, commandWord + commandBytes / 4));
    words.set(eventWords.subarray(eventWord, eventWord + eventBytes / 4), commandBytes / 4);
    this.rows.push({ sequence, timeMs, words, eventWord: commandBytes / 4, eventBytes });
  }
}

type RigOptions = {
  collateralCheck?: boolean;
  verifier?: Verifier;
  /** Shared with another rig: two shards of one exchange. */
  balances?: Balances;
  postOnlyUntilMs?: number;
  /** Starts from what another rig journaled. */
  journal?: MemoryJournal;
};

export class EngineRig {
  readonly balances: Balances;
  readonly journal = new MemoryJournal();
  readonly engine: Engine;
  nowMs = 1_800_000_000_000;
  /** The shard's own clock, where it is not that of the commands. */
  clockMs: number | undefined;
  /** False: the test decides when a journal transaction is durable (`commit`). */
  commitsAtOnce = true;
  /** Who placed an order, by its sequence number. */
  readonly accountOf = new Map<number, number>();
  readonly #isOnlyShard: boolean;
  readonly #orderAt = new Map<number, number>();
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
    this.engine = makeEngine(this.balances, this.journal, options.collateralCheck ?? true, options.verifier);
    if (options.journal !== undefined) this.#replay(options.journal);
    this.engine.goLive(options.postOnlyUntilMs);
  }

  /** A fresh engine that has replayed everything this one journaled. */
  replayed(collateralCheck = true): Engine {
    const engine = makeEngine(new Balances(createBalances()), new MemoryJournal(), collateralCheck);
    replayRows(engine, this.journal);
    return engine;
  }

  /** A rig that starts from this one's journal, as a shard does after a crash of the process or of its thread alone. */
  recovered(options: Pick<RigOptions, 'balances' | 'journal' | 'postOnlyUntilMs'> = {}): EngineRig {
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

  market(index: number, options: MarketOptions = {}): Outcome {
    const word = this.#begin(cmd.COMMAND.MARKET_OPEN, 0, index, 0);
    const { words } = this.#producer;
    words[word + cmd.OPEN_UUID] = index + 1;
    words[word + cmd.OPEN_TICKS_PER_UNIT] = options.ticksPerUnit ?? 100;
    words[word + cmd.OPEN_FEE_BPS] = options.feeBps ?? 50;
    writeSafe(words, word + cmd.OPEN_MIN_ORDER, options.minOrderAtomic ?? 1_000_000);
    writeSafe(words, word + cmd.OPEN_START_MS, options.startMs ?? this.nowMs);
    writeSafe(words, word + cmd.OPEN_END_MS, options.endMs ?? this.nowMs + 86_400_000);
    words[word + cmd.OPEN_STATUS] = options.status ?? MARKET_STATUS.ACTIVE;
    return this.#run();
  }

  patch(index: number, options: { status?: number; feeBps?: number; startMs?: number; endMs?: number }): Outcome {
    const market = this.engine.state.markets.peek(index);
    const word = this.#begin(cmd.COMMAND.MARKET_PATCH, 0, index, 0);
    const { words } = this.#producer;
    words[word + cmd.PATCH_STATUS] = options.status ?? cmd.UNCHANGED;
    words[word + cmd.PATCH_FEE_BPS] = options.feeBps ?? cmd.UNCHANGED;
    writeSafe(words, word + cmd.PATCH_START_MS, options.startMs ?? market?.startMs ?? 0);
    writeSafe(words, word + cmd.PATCH_END_MS, options.endMs ?? market?.endMs ?? 0);
    return this.#run();
  }

  fund(account: number, micro: number, movement: number = MOVEMENT.DEPOSIT, reference = ++this.#reference): Outcome {
    const word = this.#begin(cmd.COMMAND.FUNDS, account, cmd.NO_MARKET, movement);
    writeSafe(this.#producer.words, word + cmd.FUNDS_AMOUNT, micro);
    this.#producer.words[word + cmd.FUNDS_REFERENCE + 1] = reference;
    return this.#run();
  }

  convert(account: number, market: number, atomic: number, movement: number = MOVEMENT.SPLIT): Outcome {
    const word = this.#begin(cmd.COMMAND.CONVERT, account, market, movement);
    writeSafe(this.#producer.words, word + cmd.CONVERT_AMOUNT, atomic);
    return this.#run();
  }

  place(options: PlaceOptions): Outcome {
    const isExtended = EXTENSIONS.some((name) => options[name] !== undefined);
    const bytes = isExtended ? cmd.EXTENDED_PLACE_BYTES : undefined;
    const word = this.#begin(cmd.COMMAND.PLACE, options.account ?? 1, options.market ?? 0, 0, bytes);
    this.#writePlacement(word, options, isExtended);
    return this.#run();
  }

  /** `old` gives way to what the options say. */
  replace(old: Uint32Array, options: PlaceOptions, mode: number = cmd.REPLACE_MODE.CANCEL_REPLACE): Outcome {
    const word = this.#begin(cmd.COMMAND.REPLACE, options.account ?? 1, options.market ?? 0, mode);
    this.#writePlacement(word, options, true);
    this.#producer.words.set(old, word + cmd.REPLACE_HASH);
    return this.#run();
  }

  amend(old: Uint32Array, options: PlaceOptions): Outcome {
    return this.replace(old, options, cmd.REPLACE_MODE.AMEND);
  }

  #writePlacement(word: number, options: PlaceOptions, isExtended: boolean): void {
    const market = options.market ?? 0;
    const ticksPerUnit = this.engine.state.markets.peek(market)?.ticksPerUnit ?? 100;
    const side = options.side ?? SIDE.BUY;
    const usdc = (options.lots ?? 10_000) * (options.ticks ?? 50);
    const tokens = (options.lots ?? 10_000) * ticksPerUnit;
    const bits =
      (options.postOnly ? cmd.PLACE_BIT_POST_ONLY : 0) |
      ((options.authorized ?? true) ? cmd.PLACE_BIT_AUTHORIZED : 0) |
      (options.clientIdTaken ? cmd.PLACE_BIT_CLIENT_ID_TAKEN : 0) |
      (isExtended ? cmd.PLACE_BIT_EXTENDED : 0) |
      ((options.selfTrade ?? 0) << cmd.PLACE_SELF_TRADE_SHIFT);
    const { words } = this.#producer;
    if (isExtended) writeExtension(words, word, options);
    words[word + cmd.PLACE_SALT] = options.salt ?? ++this.#salt;
    words[word + cmd.PLACE_KIND] = cmd.packKind(
      side,
      options.outcome ?? OUTCOME.YES,
      options.timeInForce ?? TIME_IN_FORCE.GTC,
      bits,
    );
    writeSafe(words, word + cmd.PLACE_MAKER_AMOUNT, options.makerAmount ?? (side === SIDE.BUY ? usdc : tokens));
    writeSafe(words, word + cmd.PLACE_TAKER_AMOUNT, options.takerAmount ?? (side === SIDE.BUY ? tokens : usdc));
    writeSafe(words, word + cmd.PLACE_EXPIRATION_SEC, options.expirationSec ?? 0);
    words[word + cmd.PLACE_FEE_BPS] = options.feeBps ?? 50;
    writeSafe(words, word + cmd.PLACE_MIN_TAKER_NET, options.minTakerNet ?? 0);
  }

  cancel(account: number, hash: Uint32Array, reason: number = CLOSE_REASON.USER): Outcome {
    const word = this.#begin(cmd.COMMAND.CANCEL, account, cmd.NO_MARKET, reason);
    this.#producer.words.set(hash, word + cmd.CANCEL_HASH);
    return this.#run();
  }

  cancelMany(account: number, market: number = cmd.NO_MARKET, outcome: number = cmd.BOTH_OUTCOMES): Outcome {
    const word = this.#begin(cmd.COMMAND.CANCEL_MANY, account, market, CLOSE_REASON.USER);
    this.#producer.words[word + cmd.CANCEL_MANY_OUTCOME] = outcome;
    return this.#run();
  }

  resolve(index: number, payoutYesPpm: number, status: number = MARKET_STATUS.RESOLVED): Outcome {
    const word = this.#begin(cmd.COMMAND.RESOLVE, 0, index, 0);
    this.#producer.words[word + cmd.RESOLVE_STATUS] = status;
    this.#producer.words[word + cmd.RESOLVE_PAYOUT_YES_PPM] = payoutYesPpm;
    return this.#run();
  }

  claim(account: number, market = 0): Outcome {
    this.#begin(cmd.COMMAND.CLAIM, account, market, 0);
    return this.#run();
  }

  settle(market = 0): Outcome {
    this.#begin(cmd.COMMAND.SETTLE, 0, market, 0);
    return this.#run();
  }

  groupSet(account: number, group: number, windowSec: number, maxAtomic: number): Outcome {
    const word = this.#begin(cmd.COMMAND.GROUP_SET, account, cmd.NO_MARKET, 0);
    this.#producer.words[word + cmd.GROUP_INDEX] = group;
    this.#producer.words[word + cmd.GROUP_WINDOW_SEC] = windowSec;
    writeSafe(this.#producer.words, word + cmd.GROUP_MAX_ATOMIC, maxAtomic);
    return this.#run();
  }

  groupReset(account: number, group: number): Outcome {
    return this.#onGroup(cmd.COMMAND.GROUP_RESET, account, group);
  }

  groupTrip(account: number, group: number): Outcome {
    return this.#onGroup(cmd.COMMAND.GROUP_TRIP, account, group);
  }

  contracts(chainId: number, exchange: Uint8Array): Outcome {
    const word = this.#begin(cmd.COMMAND.CONTRACTS, 0, cmd.NO_MARKET, 0);
    writeSafe(this.#producer.words, word + cmd.CONTRACTS_CHAIN_ID, chainId);
    this.#producer.bytes.set(exchange, (word + cmd.CONTRACTS_EXCHANGE) * 4);
    return this.#run();
  }

  #onGroup(type: cmd.CommandType, account: number, group: number): Outcome {
    const word = this.#begin(type, account, cmd.NO_MARKET, 0);
    this.#producer.words[word + cmd.GROUP_INDEX] = group;
    return this.#run();
  }

  /** Runs the one command that `write` puts into the ring. */
  run(write: (ring: RingProducer) => void): Outcome {
    write(this.#producer);
    return this.#run();
  }

  tick(): Outcome {
    this.#begin(cmd.COMMAND.TICK, 0, cmd.NO_MARKET, 0);
    return this.#run();
  }

  /** Of an open order, by its sequence number. */
  hashOf(order: number): Uint32Array {
    const { orders } = this.engine.state;
    for (const [slot, sequence] of this.#orderAt) {
      if (sequence !== order || orders.place[slot << WORDS] === PLACE_OF.FREE) continue;
      return orders.hash.slice(orders.hashOffset(slot), orders.hashOffset(slot) + 8);
    }
    throw new Error(`order ${order} is not open`);
  }

  /** The pool row of an open order. */
  slotOf(hash: Uint32Array): number {
    const { hashes } = this.engine.state;
    assert.ok(hashes.find(hash, 0) && hashes.foundSlot >= 0, 'the order is open');
    return hashes.foundSlot;
  }

  /** What the account can use and what its orders hold. */
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

  #begin(type: cmd.CommandType, account: number, market: number, flags: number, lengthBytes?: number): number {
    return cmd.beginCommand(this.#producer, type, 7, account, this.nowMs, market, flags, lengthBytes);
  }

  #run(): Outcome {
    this.#producer.publish();
    const word = this.#consumer.next();
    this.#command.clear();
    this.#command.appendRecords(this.#consumer.words, word, this.#consumer.words[word]!);
    this.#consumer.release();
    this.engine.arrivedAt(this.clockMs ?? this.nowMs);
    this.engine.submit(this.#command.words, this.#command.bytes, 0);
    if (this.commitsAtOnce) this.commit();
    const outcome = this.#read();
    this.engine.out.clear();
    checkShard(this.engine.state);
    if (this.commitsAtOnce && this.#isOnlyShard) this.#checkCells();
    return outcome;
  }

  #replay(journal: MemoryJournal): void {
    replayRows(this.engine, journal);
    this.journal.rows.push(...journal.rows);
    const { orders } = this.engine.state;
    for (let slot = 0; slot < orders.capacity; slot++) {
      if (orders.place[slot << WORDS] === PLACE_OF.FREE) continue;
      this.#orderAt.set(slot, orders.sequence[slot << NUMBERS]!);
      this.accountOf.set(orders.sequence[slot << NUMBERS]!, orders.account[slot << WORDS]!);
    }
  }

  /** B2: of a single shard with nothing in flight, the shared cells are its nets. */
  #checkCells(): void {
    const { netMicro } = this.engine.state.ledger;
    for (let account = 0; account < netMicro.length; account++) {
      assert.equal(this.balances.availableMicro(account), netMicro[account], `cell of account ${account}`);
    }
  }

  #read(): Outcome {
    const { out } = this.engine;
    const { words } = out;
    const outcome: Outcome = {
      reply: { code: -1, sequence: 0, a: 0, b: 0, c: 0 },
      hash: this.#command.words.slice(cmd.PLACE_HASH, cmd.PLACE_HASH + 8),
      told: [],
      types: [],
      frames: [],
    };
    for (let word = 0; word < out.lengthBytes / 4; word += words[word]! / 4) {
      const type = ev.typeOf(words[word + ev.EV_TYPE]!);
      outcome.types.push(type);
      const sequence = readSafe(words, word + ev.EV_MARKET_SEQUENCE);
      if (sequence > 0) outcome.frames.push({ market: words[word + ev.EV_MARKET]!, sequence, type });
      if (type === ev.EVENT.REPLY) outcome.reply = readReply(words, word);
      else {
        const told = this.#readTold(type, words, word);
        if (told !== undefined) outcome.told.push(told);
      }
    }
    return outcome;
  }

  #readTold(type: number, words: Uint32Array, word: number): Told | undefined {
    const slot = words[word + ev.EV_SLOT]!;
    if (type === ev.EVENT.ORDER) {
      const order = readSafe(words, word + ev.ORDER_SEQUENCE);
      this.#orderAt.set(slot, order);
      this.accountOf.set(order, words[word + ev.EV_ACCOUNT]!);
      return { kind: 'order', order };
    }
    const order = this.#orderAt.get(slot)!;
    switch (type) {
      case ev.EVENT.REST:
        return { kind: 'rest', order, lots: readSafe(words, word + ev.REST_REMAINING_LOTS) };
      case ev.EVENT.CLOSED: {
        const left = readSafe(words, word + ev.CLOSED_REMAINING_LOTS);
        return { kind: 'closed', order, reason: words[word + ev.EV_FLAGS]!, left };
      }
      case ev.EVENT.DORMANT:
        return { kind: 'dormant', order };
      case ev.EVENT.WOKEN:
        return { kind: 'woken', order };
      case ev.EVENT.FILL:
        return {
          kind: 'fill',
          maker: order,
          taker: this.#orderAt.get(words[word + ev.FILL_TAKER_SLOT]!)!,
          lots: readSafe(words, word + ev.FILL_LOTS),
          ticks: words[word + ev.FILL_YES_TICKS]!,
          matchType: words[word + ev.EV_FLAGS]!,
          makerFee: readSafe(words, word + ev.FILL_MAKER_FEE),
          takerFee: readSafe(words, word + ev.FILL_TAKER_FEE),
        };
      default:
        return undefined;
    }
  }
}

/** What a plain command has no words for. */
export function writeExtension(words: Uint32Array, word: number, options: Extension): void {
  writeSafe(words, word + cmd.EXT_DEADLINE_MS, options.deadlineMs ?? 0);
  words[word + cmd.EXT_GROUP] = options.group ?? cmd.NO_GROUP;
  if (options.clientId !== undefined) writeClientId(words, word, options.clientId);
}

/** The name of a refusal by its number, so that a failed comparison reads FOK_NOT_FILLED and not 701. */
export function errorKey(number: number): string {
  if (number === OK) return 'OK';
  return Object.entries(ERRORS).find(([, row]) => row.number === number)?.[0] ?? `unknown error ${number}`;
}

function readReply(words: Uint32Array, word: number): Reply {
  return {
    code: words[word + ev.EV_FLAGS]!,
    sequence: readSafe(words, word + ev.REPLY_SEQUENCE),
    a: readSafe(words, word + ev.REPLY_A),
    b: readSafe(words, word + ev.REPLY_B),
    c: readSafe(words, word + ev.REPLY_C),
  };
}

/**
 * Everything an engine knows, as bytes: what it would tell a gateway that starts now, and the numbers it would go on
 * with. Its clock is left out: refused commands move it and are not in the journal.
 */
export function stateOf(engine: Engine): Buffer {
  const { out, state } = engine;
  const parts: Buffer[] = [];
  engine.describe(() => {
    parts.push(Buffer.from(out.bytes.slice(0, out.lengthBytes)));
    out.clear();
  });
  const ready = parts.at(-1)!;
  ready.fill(0, ready.length - ev.EVENT_BYTES[ev.EVENT.READY]! + ev.READY_TIME_MS * 4);
  const digest = new Uint32Array(2);
  state.sealedDigest(digest, 0);
  const counters = [
    engine.sequence,
    state.orderSequence,
    state.matcher.tradeSequence,
    state.hashes.size,
    state.references.size,
    state.tombstones.size,
    ...digest,
    state.orders.openCount,
    state.expiry.size,
    state.markets.nextTransitionMs,
  ];
  return Buffer.concat([...parts, Buffer.from(new Float64Array(counters).buffer)]);
}

export function replayRows(engine: Engine, journal: MemoryJournal): void {
  for (const row of journal.rows) {
    engine.replay(row.sequence, row.timeMs, row.words, 0, row.eventWord, row.eventBytes);
  }
}

/** An engine over a journal of the test's own, with balances nobody shares. */
export function engineWith(journal: Pick<JournalStore, 'append'>): Engine {
  return makeEngine(new Balances(createBalances()), journal, true);
}

function makeEngine(
  balances: Balances,
  journal: Pick<JournalStore, 'append'>,
  collateralCheck: boolean,
  verifier: Verifier = acceptAll,
): Engine {
  return new Engine({ balances, collateralCheck, hasher: hasherFor(DOMAIN), verifier, journal });
}
