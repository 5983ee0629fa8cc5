/**
 * Writes the shard's events (shared/wire/events.ts) into the batch buffer. Owner: the shard thread.
 * One method per event type, arguments in the order of the layout; nothing is allocated once the buffer has grown.
 */
import { assert } from '../../shared/base/assert.ts';
import { FEE_ACCOUNT } from '../../shared/base/codes.ts';
import * as commands from '../../shared/wire/commands.ts';
import * as events from '../../shared/wire/events.ts';
import type { RecordBuffer } from '../../shared/wire/record.ts';
import * as record from '../../shared/wire/record.ts';
import type { Contracts } from '../book/contracts.ts';
import type { EventSet, Market } from '../book/market.ts';
import type { NonceFloor } from '../book/nonceFloors.ts';
import type { Group } from '../book/orderGroups.ts';
import type { Orders } from '../book/orders.ts';
import * as rows from '../book/orders.ts';
import { SLOT_STATE } from '../book/orders.ts';
import { CLIENT_ID_WORDS } from '../book/tags.ts';
import type { Ledger } from '../money/ledger.ts';

const { ANY_EVENT, EVENT, EVENT_BYTES, EVENT_VERSION } = events;
const {
  ACCOUNT,
  CLOSED,
  CONTRACTS,
  DIGEST,
  DORMANT,
  FILL,
  FUNDS,
  GROUP,
  MARKET,
  ORDER,
  ORDER_STATE,
  ORDER_TAG,
  PUBLISHED,
  READY,
  RECORD,
  REPLY,
  REST,
  TOMBSTONE,
  UNWOUND,
  WOKEN,
} = EVENT;
const { writeSafe, writeSigned } = record;
const { ANY_COMMAND, COMMAND, NO_MARKET } = commands;
const { PLACE } = COMMAND;
const { WORD_AT, DOUBLE_AT, DOUBLE_SHIFT, WORD_SHIFT } = rows;

export class EventWriter {
  readonly out: RecordBuffer;
  readonly #orders: Orders;
  readonly #ledger: Ledger;

  constructor(out: RecordBuffer, orders: Orders, ledger: Ledger) {
    this.out = out;
    this.#orders = orders;
    this.#ledger = ledger;
  }

  #start(type: number, slot: number, account: number, marketSequence: number, market: number, flags: number): number {
    const word = this.out.claim(EVENT_BYTES[type], type | (EVENT_VERSION << 16));
    const words = this.out.words;
    words[word + ANY_EVENT.slot] = slot;
    words[word + ANY_EVENT.account] = account;
    writeSafe(words, word + ANY_EVENT.marketSequence, marketSequence);
    words[word + ANY_EVENT.market] = market;
    words[word + ANY_EVENT.flags] = flags;
    return word;
  }

  /** @param at where the command starts in `command`; the type and the effective time are read from there. */
  record(shardSequence: number, command: Uint32Array, at: number): void {
    const word = this.#start(RECORD.TYPE, 0, 0, 0, NO_MARKET, 0);
    const words = this.out.words;
    writeSafe(words, word + RECORD.shardSequence, shardSequence);
    words[word + RECORD.timeMs] = command[at + ANY_COMMAND.timeMs];
    words[word + RECORD.timeMs + 1] = command[at + ANY_COMMAND.timeMs + 1];
    words[word + RECORD.command] = command[at + ANY_COMMAND.type] & 0xffff;
    zero(words, word, RECORD.unused, RECORD.WORDS);
  }

  /** Emits ORDER for an order that the command at `at` has just placed: most words are copied from the command. */
  accepted(slot: number, command: Uint32Array, at: number): void {
    const { words: fields, doubles } = this.#orders;
    const row = slot << WORD_SHIFT;
    const first = slot << DOUBLE_SHIFT;
    const account = fields[row | WORD_AT.ACCOUNT];
    const word = this.#start(ORDER.TYPE, slot, account, 0, fields[row | WORD_AT.MARKET], fields[row | WORD_AT.KIND]);
    const { words } = this.out;
    for (let i = 0; i < 8; i++) words[word + ORDER.hash + i] = command[at + PLACE.hash + i];
    copyPair(command, at + PLACE.makerAmount, words, word + ORDER.makerAmount);
    copyPair(command, at + PLACE.takerAmount, words, word + ORDER.takerAmount);
    writeSafe(words, word + ORDER.quantityLots, doubles[first | DOUBLE_AT.QUANTITY_LOTS]);
    words[word + ORDER.limitTicks] = fields[row | WORD_AT.LIMIT_TICKS];
    words[word + ORDER.feeBps] = fields[row | WORD_AT.FEE_BPS];
    copyPair(command, at + PLACE.expirationSec, words, word + ORDER.expirationSec);
    writeSafe(words, word + ORDER.sequence, doubles[first | DOUBLE_AT.SEQUENCE]);
    copyPair(words, word + ORDER.quantityLots, words, word + ORDER.remainingLots);
    words[word + ORDER.filledNotionalMicro] = 0;
    words[word + ORDER.filledNotionalMicro + 1] = 0;
    copyPair(command, at + ANY_COMMAND.timeMs, words, word + ORDER.createdMs);
    words[word + ORDER.isDormant] = 0;
    words[word + ORDER.unused] = 0;
  }

  /** Emits ORDER_STATE for an order that is already open. */
  orderState(slot: number): void {
    const o = this.#orders;
    const word = this.#start(
      ORDER_STATE.TYPE,
      slot,
      o.account[slot << WORD_SHIFT],
      0,
      o.market[slot << WORD_SHIFT],
      o.kind[slot << WORD_SHIFT],
    );
    const words = this.out.words;
    o.signed.copyHash(slot, words, word + ORDER.hash);
    writeSafe(words, word + ORDER.makerAmount, o.makerAmount[slot << DOUBLE_SHIFT]);
    writeSafe(words, word + ORDER.takerAmount, o.takerAmount[slot << DOUBLE_SHIFT]);
    writeSafe(words, word + ORDER.quantityLots, o.quantityLots[slot << DOUBLE_SHIFT]);
    words[word + ORDER.limitTicks] = o.limitTicks[slot << WORD_SHIFT];
    words[word + ORDER.feeBps] = o.feeBps[slot << WORD_SHIFT];
    writeSafe(words, word + ORDER.expirationSec, o.expirationSec[slot << DOUBLE_SHIFT]);
    writeSafe(words, word + ORDER.sequence, o.sequence[slot << DOUBLE_SHIFT]);
    writeSafe(words, word + ORDER.remainingLots, o.remainingLots[slot << DOUBLE_SHIFT]);
    writeSafe(words, word + ORDER.filledNotionalMicro, o.filledNotionalMicro[slot << DOUBLE_SHIFT]);
    writeSafe(words, word + ORDER.createdMs, o.createdMs[slot << DOUBLE_SHIFT]);
    words[word + ORDER.isDormant] = o.state[slot << WORD_SHIFT] === SLOT_STATE.DORMANT ? 1 : 0;
    words[word + ORDER_STATE.origin] = o.origin[slot << WORD_SHIFT];
  }

  /**
   * Emits ORDER_TAG, which follows ORDER or ORDER_STATE: the order's client order id, its group and its retained
   * priority.
   */
  tag(slot: number): void {
    const o = this.#orders;
    const tag = o.tag[slot << WORD_SHIFT];
    const { clientId, clientIdBytes, group, priority } = o.tags;
    const word = this.#start(
      ORDER_TAG.TYPE,
      slot,
      o.account[slot << WORD_SHIFT],
      0,
      o.market[slot << WORD_SHIFT],
      group[tag],
    );
    const { words } = this.out;
    words[word + ORDER_TAG.clientIdBytes] = clientIdBytes[tag];
    const at = tag * CLIENT_ID_WORDS;
    for (let i = 0; i < CLIENT_ID_WORDS; i++) words[word + ORDER_TAG.clientId + i] = clientId[at + i];
    words[word + ORDER_TAG.unused] = 0;
    writeSafe(words, word + ORDER_TAG.priority, priority[tag]);
  }

  rest(slot: number, marketSequence: number): void {
    const { words: fields, remainingLots } = this.#orders;
    const row = slot << WORD_SHIFT;
    const account = fields[row | WORD_AT.ACCOUNT];
    const word = this.#start(REST.TYPE, slot, account, marketSequence, fields[row | WORD_AT.MARKET], 0);
    writeSafe(this.out.words, word + REST.remainingLots, remainingLots[slot << DOUBLE_SHIFT]);
  }

  fill(
    makerSlot: number,
    takerSlot: number,
    marketSequence: number,
    matchType: number,
    yesTicks: number,
    lots: number,
    tradeSequence: number,
    makerFee: number,
    takerFee: number,
  ): void {
    const { words: fields, doubles } = this.#orders;
    const row = makerSlot << WORD_SHIFT;
    const account = fields[row | WORD_AT.ACCOUNT];
    assert(lots > 0 && makerFee >= 0 && takerFee >= 0, 'SETTLE-1: a fill has lots, and fees that are not negative');
    assert(this.#orders.market[takerSlot << WORD_SHIFT] === fields[row | WORD_AT.MARKET], 'MATCHER-2: one market');
    const word = this.#start(FILL.TYPE, makerSlot, account, marketSequence, fields[row | WORD_AT.MARKET], matchType);
    const words = this.out.words;
    words[word + FILL.yesTicks] = yesTicks;
    words[word + FILL.takerSlot] = takerSlot;
    writeSafe(words, word + FILL.lots, lots);
    writeSafe(words, word + FILL.tradeSequence, tradeSequence);
    writeSafe(words, word + FILL.makerFee, makerFee);
    writeSafe(words, word + FILL.takerFee, takerFee);
    writeSafe(words, word + FILL.makerRemainingLots, doubles[(makerSlot << DOUBLE_SHIFT) | DOUBLE_AT.REMAINING_LOTS]);
    words[word + FILL.takerAccount] = fields[(takerSlot << WORD_SHIFT) | WORD_AT.ACCOUNT];
    words[word + FILL.unused] = 0;
    writeSafe(words, word + FILL.takerRemainingLots, doubles[(takerSlot << DOUBLE_SHIFT) | DOUBLE_AT.REMAINING_LOTS]);
    zero(words, word, FILL.unusedAtEnd, FILL.WORDS);
  }

  closed(slot: number, marketSequence: number, reason: number): void {
    const { words: fields, remainingLots } = this.#orders;
    const row = slot << WORD_SHIFT;
    const account = fields[row | WORD_AT.ACCOUNT];
    const word = this.#start(CLOSED.TYPE, slot, account, marketSequence, fields[row | WORD_AT.MARKET], reason);
    writeSafe(this.out.words, word + CLOSED.remainingLots, remainingLots[slot << DOUBLE_SHIFT]);
  }

  /** Emits DORMANT or WOKEN. */
  sleepOrWake(type: typeof DORMANT.TYPE | typeof WOKEN.TYPE, slot: number, marketSequence: number): void {
    this.#start(
      type,
      slot,
      this.#orders.account[slot << WORD_SHIFT],
      marketSequence,
      this.#orders.market[slot << WORD_SHIFT],
      0,
    );
  }

  /** Emits ACCOUNT: the balances of an account, with one of its positions. */
  position(row: number): void {
    const p = this.#ledger.positions;
    const account = p.pairs.accounts[row];
    assert(row < p.count, 'POSITIONS-1: a position that is emitted exists');
    assert(p.reserved[row * 2] >= 0 && p.reserved[row * 2 + 1] >= 0, 'POSITIONS-1: reserved tokens are not negative');
    const word = this.#start(ACCOUNT.TYPE, 0, account, 0, p.pairs.markets[row], 0);
    const words = this.out.words;
    this.#usdc(word, account);
    writeSigned(words, word + ACCOUNT.yesAvailable, p.available[row * 2]);
    writeSafe(words, word + ACCOUNT.yesReserved, p.reserved[row * 2]);
    writeSigned(words, word + ACCOUNT.noAvailable, p.available[row * 2 + 1]);
    writeSafe(words, word + ACCOUNT.noReserved, p.reserved[row * 2 + 1]);
  }

  /** Emits ACCOUNT with the USDC balances alone. */
  usdc(account: number): void {
    const word = this.#start(ACCOUNT.TYPE, 0, account, 0, NO_MARKET, 0);
    this.#usdc(word, account);
    zero(this.out.words, word, ACCOUNT.yesAvailable, ACCOUNT.WORDS);
  }

  #usdc(word: number, account: number): void {
    assert(this.#ledger.reservedMicro[account] >= 0, 'LEDGER-2: a reservation is not negative');
    writeSigned(this.out.words, word + ACCOUNT.netMicro, this.#ledger.netMicro[account]);
    writeSafe(this.out.words, word + ACCOUNT.reservedMicro, this.#ledger.reservedMicro[account]);
  }

  market(market: Market): void {
    const word = this.#start(MARKET.TYPE, 0, FEE_ACCOUNT, 0, market.index, market.status);
    const words = this.out.words;
    writeSigned(words, word + MARKET.collateralMicro, market.collateralMicro);
    words[word + MARKET.feeBps] = market.feeBps;
    words[word + MARKET.ticksPerUnit] = market.ticksPerUnit;
    writeSafe(words, word + MARKET.startMs, market.startMs);
    writeSafe(words, word + MARKET.endMs, market.endMs);
    writeSafe(words, word + MARKET.lastMarketSequence, market.sequence);
    writeSafe(words, word + MARKET.minOrderAtomic, market.minOrderAtomic);
    for (let i = 0; i < 4; i++) words[word + MARKET.uuid + i] = market.uuid[i];
    words[word + MARKET.payoutYesPpm] = market.payoutYesPpm;
    words[word + MARKET.stage] = market.stage;
    writeSafe(words, word + MARKET.resolvedMs, market.resolvedMs);
    writeSafe(words, word + MARKET.settledMs, market.settledMs);
    writeSafe(words, word + MARKET.roundingPpm, market.roundingPpm);
    words[word + MARKET.set] = market.set === null ? 0 : market.set.first + 1;
    words[word + MARKET.place] = market.set === null ? 0 : market.setOrdinal | (market.set.size << 8);
  }

  /** Emits the excess of an event set as an absolute value. */
  set({ excessMicro, first }: EventSet): void {
    const word = this.#start(EVENT.SET.TYPE, 0, FEE_ACCOUNT, 0, first, 0);
    writeSigned(this.out.words, word + EVENT.SET.excessMicro, excessMicro);
  }

  /** Emits the part of one market in a conversion. */
  setConverted(account: number, market: number, direction: number, micro: number, yes: number, no: number): void {
    const word = this.#start(EVENT.SET_CONVERTED.TYPE, 0, account, 0, market, direction);
    const { words } = this.out;
    writeSigned(words, word + EVENT.SET_CONVERTED.micro, micro);
    writeSigned(words, word + EVENT.SET_CONVERTED.yesAtomic, yes);
    writeSigned(words, word + EVENT.SET_CONVERTED.noAtomic, no);
  }

  /** For readers that start now; other readers derive the last fill from the fills. */
  lastFill(market: Market): void {
    const word = this.#start(EVENT.LAST_FILL.TYPE, 0, FEE_ACCOUNT, 0, market.index, 0);
    writeSafe(this.out.words, word + EVENT.LAST_FILL.filledMicros, market.lastFillMicros);
  }

  /** @param reference where the 32-byte reference starts in `source`; without a source the reference is zero. */
  funds(account: number, market: number, movement: number, amount: number, source?: Uint32Array, reference = 0): void {
    const word = this.#start(FUNDS.TYPE, 0, account, 0, market, movement);
    const { words } = this.out;
    writeSafe(words, word + FUNDS.amount, amount);
    for (let i = 0; i < 8; i++) words[word + FUNDS.reference + i] = source === undefined ? 0 : source[reference + i];
  }

  /** Says that the markets of the shard have moved from one stage to another. */
  stage(stage: number, from: number): void {
    const word = this.#start(EVENT.STAGE.TYPE, 0, FEE_ACCOUNT, 0, NO_MARKET, stage);
    this.out.words[word + EVENT.STAGE.from] = from;
    this.out.words[word + EVENT.STAGE.unused] = 0;
  }

  /** Emits the floor of a wallet as an absolute value. */
  nonceFloor({ account, wallet, floor }: NonceFloor): void {
    const word = this.#start(EVENT.NONCE_FLOOR.TYPE, 0, account, 0, NO_MARKET, 0);
    const { words } = this.out;
    writeSafe(words, word + EVENT.NONCE_FLOOR.floor, floor);
    words.set(wallet, word + EVENT.NONCE_FLOOR.wallet);
    words[word + EVENT.NONCE_FLOOR.unused] = 0;
  }

  raised(floor: number): void {
    const word = this.#start(EVENT.RAISED.TYPE, 0, FEE_ACCOUNT, 0, NO_MARKET, 0);
    writeSafe(this.out.words, word + EVENT.RAISED.floor, floor);
  }

  unwound(account: number, market: number, trade: number, micro: number, yesAtomic: number, noAtomic: number): void {
    const word = this.#start(UNWOUND.TYPE, 0, account, 0, market, 0);
    const { words } = this.out;
    writeSafe(words, word + UNWOUND.tradeSequence, trade);
    writeSigned(words, word + UNWOUND.micro, micro);
    writeSigned(words, word + UNWOUND.yesAtomic, yesAtomic);
    writeSigned(words, word + UNWOUND.noAtomic, noAtomic);
  }

  group(group: Group): void {
    const word = this.#start(GROUP.TYPE, 0, group.account, 0, NO_MARKET, group.hasJustTripped ? 1 : 0);
    const words = this.out.words;
    words[word + GROUP.group] = group.index;
    words[word + GROUP.windowSec] = group.windowSec;
    writeSafe(words, word + GROUP.maxAtomic, group.maxAtomic);
    writeSafe(words, word + GROUP.filledAtomic, group.window.sumAtomic);
    words[word + GROUP.isTripped] = group.isTripped ? 1 : 0;
    words[word + GROUP.unused] = 0;
  }

  contracts(contracts: Contracts): void {
    const word = this.#start(CONTRACTS.TYPE, 0, FEE_ACCOUNT, 0, NO_MARKET, 0);
    writeSafe(this.out.words, word + CONTRACTS.chainId, contracts.chainId);
    this.out.bytes.set(contracts.exchange, (word + CONTRACTS.exchange) * 4);
    this.out.words[word + CONTRACTS.unused] = 0;
  }

  reply(
    gateway: number,
    requestId: number,
    code: number,
    shardSequence: number,
    a: number,
    b: number,
    c: number,
  ): void {
    const word = this.#start(REPLY.TYPE, requestId, gateway, 0, NO_MARKET, code);
    const words = this.out.words;
    writeSafe(words, word + REPLY.shardSequence, shardSequence);
    if (a === 0 && b === 0 && c === 0) {
      zero(words, word, REPLY.a, REPLY.WORDS);
      return;
    }
    writeSafe(words, word + REPLY.a, a);
    // Available and reserved amounts may be negative while the collateral check is off; a refusal then shows zero.
    writeSafe(words, word + REPLY.b, Math.max(0, b));
    writeSafe(words, word + REPLY.c, Math.max(0, c));
  }

  tombstone(account: number, source: Uint32Array, hash: number, untilMs: number): void {
    const word = this.#start(TOMBSTONE.TYPE, 0, account, 0, NO_MARKET, 0);
    const { words } = this.out;
    for (let i = 0; i < 8; i++) words[word + TOMBSTONE.hash + i] = source[hash + i];
    writeSafe(words, word + TOMBSTONE.untilMs, untilMs);
  }

  /** Emits DIGEST; the caller writes the two lanes of the state digest. @returns their word offset. */
  digest(): number {
    return this.#start(DIGEST.TYPE, 0, 0, 0, NO_MARKET, 0) + DIGEST.lanes;
  }

  ready(shardSequence: number, timeMs: number): void {
    const word = this.#start(READY.TYPE, 0, 0, 0, NO_MARKET, 0);
    writeSafe(this.out.words, word + READY.shardSequence, shardSequence);
    writeSafe(this.out.words, word + READY.timeMs, timeMs);
  }

  published(shardSequence: number): void {
    const word = this.#start(PUBLISHED.TYPE, 0, 0, 0, NO_MARKET, 0);
    writeSafe(this.out.words, word + PUBLISHED.shardSequence, shardSequence);
  }
}

/** Copies a safe integer, two words. */
function copyPair(from: Uint32Array, at: number, to: Uint32Array, word: number): void {
  to[word] = from[at];
  to[word + 1] = from[at + 1];
}

/**
 * Clears unused words, which would otherwise hold old content of the buffer: a replay must give the same bytes
 * (ENGINE-4).
 */
function zero(words: Uint32Array, word: number, from: number, to: number): void {
  for (let i = from; i < to; i++) words[word + i] = 0;
}
