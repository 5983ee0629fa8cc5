/**
 * Writes the shard's events (shared/events.ts) into the batch buffer. Owner: the shard thread.
 * One method per event type, arguments in the order of the layout; nothing is allocated once the buffer has grown.
 */
import { FEE_ACCOUNT, MOVEMENT } from '../shared/codes.ts';
import * as commands from '../shared/commands.ts';
import * as events from '../shared/events.ts';
import type { RecordBuffer } from '../shared/record.ts';
import * as record from '../shared/record.ts';
import type { Contracts } from './contracts.ts';
import type { Group } from './groups.ts';
import type { Ledger } from './ledger.ts';
import type { Market } from './market.ts';
import type { Orders } from './orders.ts';
import * as rows from './orders.ts';
import { PLACE_OF } from './orders.ts';
import { CLIENT_ID_WORDS } from './tags.ts';

/**
 * A module's own constants are folded into the machine code; an imported binding is loaded and checked at every use,
 * and writing events is little else. So the hot files of the engine take their constants over like this (a tenth of the
 * time of a command: matching.bench.ts).
 */
const ev = { ...events };
const { writeSafe, writeSigned } = record;
const { CMD_TIME_MS, CMD_TYPE, NO_MARKET, PLACE_EXPIRATION_SEC, PLACE_HASH } = commands;
const { PLACE_MAKER_AMOUNT, PLACE_TAKER_AMOUNT } = commands;
const { AT, NUMBER_AT, NUMBERS, WORDS } = rows;

export class Emitter {
  readonly out: RecordBuffer;
  readonly #orders: Orders;
  readonly #ledger: Ledger;

  constructor(out: RecordBuffer, orders: Orders, ledger: Ledger) {
    this.out = out;
    this.#orders = orders;
    this.#ledger = ledger;
  }

  #begin(type: number, slot: number, account: number, marketSequence: number, market: number, flags: number): number {
    const word = this.out.claim(ev.EVENT_BYTES[type]!, type | (ev.EVENT_VERSION << 16));
    const words = this.out.words;
    words[word + ev.EV_SLOT] = slot;
    words[word + ev.EV_ACCOUNT] = account;
    writeSafe(words, word + ev.EV_MARKET_SEQUENCE, marketSequence);
    words[word + ev.EV_MARKET] = market;
    words[word + ev.EV_FLAGS] = flags;
    return word;
  }

  /** @param at where the command starts in `command`, which has its type and the time it takes effect. */
  record(shardSequence: number, command: Uint32Array, at: number): void {
    const word = this.#begin(ev.EVENT.RECORD, 0, 0, 0, NO_MARKET, 0);
    const words = this.out.words;
    writeSafe(words, word + ev.RECORD_SEQUENCE, shardSequence);
    words[word + ev.RECORD_TIME_MS] = command[at + CMD_TIME_MS]!;
    words[word + ev.RECORD_TIME_MS + 1] = command[at + CMD_TIME_MS + 1]!;
    words[word + ev.RECORD_COMMAND] = command[at + CMD_TYPE]! & 0xffff;
    zero(words, word, 13, 16);
  }

  /** ORDER, for one just accepted by the command at `at`: most of it stands there in the same form. */
  accepted(slot: number, command: Uint32Array, at: number): void {
    const { words: fields, numbers } = this.#orders;
    const row = slot << WORDS;
    const first = slot << NUMBERS;
    const account = fields[row | AT.ACCOUNT]!;
    const word = this.#begin(ev.EVENT.ORDER, slot, account, 0, fields[row | AT.MARKET]!, fields[row | AT.KIND]!);
    const { words } = this.out;
    for (let i = 0; i < 8; i++) words[word + ev.ORDER_HASH + i] = command[at + PLACE_HASH + i]!;
    copyPair(command, at + PLACE_MAKER_AMOUNT, words, word + ev.ORDER_MAKER_AMOUNT);
    copyPair(command, at + PLACE_TAKER_AMOUNT, words, word + ev.ORDER_TAKER_AMOUNT);
    writeSafe(words, word + ev.ORDER_LOTS, numbers[first | NUMBER_AT.QUANTITY_LOTS]!);
    words[word + ev.ORDER_LIMIT_TICKS] = fields[row | AT.LIMIT_TICKS]!;
    words[word + ev.ORDER_FEE_BPS] = fields[row | AT.FEE_BPS]!;
    copyPair(command, at + PLACE_EXPIRATION_SEC, words, word + ev.ORDER_EXPIRATION_SEC);
    writeSafe(words, word + ev.ORDER_SEQUENCE, numbers[first | NUMBER_AT.SEQUENCE]!);
    copyPair(words, word + ev.ORDER_LOTS, words, word + ev.ORDER_REMAINING_LOTS);
    words[word + ev.ORDER_FILLED_NOTIONAL] = 0;
    words[word + ev.ORDER_FILLED_NOTIONAL + 1] = 0;
    copyPair(command, at + CMD_TIME_MS, words, word + ev.ORDER_CREATED_MS);
    words[word + ev.ORDER_DORMANT] = 0;
    words[word + ev.ORDER_DORMANT + 1] = 0;
  }

  /** ORDER_STATE, for one that is open already. */
  orderState(slot: number): void {
    const o = this.#orders;
    const word = this.#begin(
      ev.EVENT.ORDER_STATE,
      slot,
      o.account[slot << WORDS]!,
      0,
      o.market[slot << WORDS]!,
      o.kind[slot << WORDS]!,
    );
    const words = this.out.words;
    o.copyHash(slot, words, word + ev.ORDER_HASH);
    writeSafe(words, word + ev.ORDER_MAKER_AMOUNT, o.makerAmount[slot << NUMBERS]!);
    writeSafe(words, word + ev.ORDER_TAKER_AMOUNT, o.takerAmount[slot << NUMBERS]!);
    writeSafe(words, word + ev.ORDER_LOTS, o.quantityLots[slot << NUMBERS]!);
    words[word + ev.ORDER_LIMIT_TICKS] = o.limitTicks[slot << WORDS]!;
    words[word + ev.ORDER_FEE_BPS] = o.feeBps[slot << WORDS]!;
    writeSafe(words, word + ev.ORDER_EXPIRATION_SEC, o.expirationSec[slot << NUMBERS]!);
    writeSafe(words, word + ev.ORDER_SEQUENCE, o.sequence[slot << NUMBERS]!);
    writeSafe(words, word + ev.ORDER_REMAINING_LOTS, o.remainingLots[slot << NUMBERS]!);
    writeSafe(words, word + ev.ORDER_FILLED_NOTIONAL, o.filledNotionalMicro[slot << NUMBERS]!);
    writeSafe(words, word + ev.ORDER_CREATED_MS, o.createdMs[slot << NUMBERS]!);
    words[word + ev.ORDER_DORMANT] = o.place[slot << WORDS] === PLACE_OF.DORMANT ? 1 : 0;
    zero(words, word, 35, 36);
  }

  /** Behind ORDER or ORDER_STATE: what the order carries besides. */
  tag(slot: number): void {
    const o = this.#orders;
    const tag = o.tag[slot << WORDS]!;
    const { clientId, clientIdBytes, group, priority } = o.tags;
    const word = this.#begin(
      ev.EVENT.ORDER_TAG,
      slot,
      o.account[slot << WORDS]!,
      0,
      o.market[slot << WORDS]!,
      group[tag]!,
    );
    const { words } = this.out;
    words[word + ev.TAG_CLIENT_ID_BYTES] = clientIdBytes[tag]!;
    const at = tag * CLIENT_ID_WORDS;
    for (let i = 0; i < CLIENT_ID_WORDS; i++) words[word + ev.TAG_CLIENT_ID + i] = clientId[at + i]!;
    zero(words, word, 25, 26);
    writeSafe(words, word + ev.TAG_PRIORITY, priority[tag]!);
  }

  rest(slot: number, marketSequence: number): void {
    const { words: fields, remainingLots } = this.#orders;
    const row = slot << WORDS;
    const account = fields[row | AT.ACCOUNT]!;
    const word = this.#begin(ev.EVENT.REST, slot, account, marketSequence, fields[row | AT.MARKET]!, 0);
    writeSafe(this.out.words, word + ev.REST_REMAINING_LOTS, remainingLots[slot << NUMBERS]!);
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
    const { words: fields, numbers } = this.#orders;
    const row = makerSlot << WORDS;
    const account = fields[row | AT.ACCOUNT]!;
    const word = this.#begin(ev.EVENT.FILL, makerSlot, account, marketSequence, fields[row | AT.MARKET]!, matchType);
    const words = this.out.words;
    words[word + ev.FILL_YES_TICKS] = yesTicks;
    words[word + ev.FILL_TAKER_SLOT] = takerSlot;
    writeSafe(words, word + ev.FILL_LOTS, lots);
    writeSafe(words, word + ev.FILL_TRADE_SEQUENCE, tradeSequence);
    writeSafe(words, word + ev.FILL_MAKER_FEE, makerFee);
    writeSafe(words, word + ev.FILL_TAKER_FEE, takerFee);
    writeSafe(words, word + ev.FILL_MAKER_REMAINING_LOTS, numbers[(makerSlot << NUMBERS) | NUMBER_AT.REMAINING_LOTS]!);
    words[word + ev.FILL_TAKER_ACCOUNT] = fields[(takerSlot << WORDS) | AT.ACCOUNT]!;
    words[word + ev.FILL_TAKER_ACCOUNT + 1] = 0;
    writeSafe(words, word + ev.FILL_TAKER_REMAINING_LOTS, numbers[(takerSlot << NUMBERS) | NUMBER_AT.REMAINING_LOTS]!);
    zero(words, word, 24, 26);
  }

  closed(slot: number, marketSequence: number, reason: number): void {
    const { words: fields, remainingLots } = this.#orders;
    const row = slot << WORDS;
    const account = fields[row | AT.ACCOUNT]!;
    const word = this.#begin(ev.EVENT.CLOSED, slot, account, marketSequence, fields[row | AT.MARKET]!, reason);
    writeSafe(this.out.words, word + ev.CLOSED_REMAINING_LOTS, remainingLots[slot << NUMBERS]!);
  }

  /** DORMANT or WOKEN. */
  sleepOrWake(type: typeof ev.EVENT.DORMANT | typeof ev.EVENT.WOKEN, slot: number, marketSequence: number): void {
    this.#begin(
      type,
      slot,
      this.#orders.account[slot << WORDS]!,
      marketSequence,
      this.#orders.market[slot << WORDS]!,
      0,
    );
  }

  /** How an account stands, with one of its positions. */
  position(row: number): void {
    const p = this.#ledger.positions;
    const account = p.account[row]!;
    const word = this.#begin(ev.EVENT.ACCOUNT, 0, account, 0, p.market[row]!, 0);
    const words = this.out.words;
    this.#usdc(word, account);
    writeSigned(words, word + ev.ACCOUNT_YES_AVAILABLE, p.available[row * 2]!);
    writeSafe(words, word + ev.ACCOUNT_YES_RESERVED, p.reserved[row * 2]!);
    writeSigned(words, word + ev.ACCOUNT_NO_AVAILABLE, p.available[row * 2 + 1]!);
    writeSafe(words, word + ev.ACCOUNT_NO_RESERVED, p.reserved[row * 2 + 1]!);
  }

  /** How an account's USDC stands. */
  usdc(account: number): void {
    const word = this.#begin(ev.EVENT.ACCOUNT, 0, account, 0, NO_MARKET, 0);
    this.#usdc(word, account);
    zero(this.out.words, word, ev.ACCOUNT_YES_AVAILABLE, 20);
  }

  #usdc(word: number, account: number): void {
    writeSigned(this.out.words, word + ev.ACCOUNT_NET, this.#ledger.netMicro[account]!);
    writeSafe(this.out.words, word + ev.ACCOUNT_RESERVED, this.#ledger.reservedMicro[account]!);
  }

  market(market: Market): void {
    const word = this.#begin(ev.EVENT.MARKET, 0, FEE_ACCOUNT, 0, market.index, market.status);
    const words = this.out.words;
    writeSigned(words, word + ev.MARKET_COLLATERAL, market.collateralMicro);
    words[word + ev.MARKET_FEE_BPS] = market.feeBps;
    words[word + ev.MARKET_TICKS_PER_UNIT] = market.ticksPerUnit;
    writeSafe(words, word + ev.MARKET_START_MS, market.startMs);
    writeSafe(words, word + ev.MARKET_END_MS, market.endMs);
    writeSafe(words, word + ev.MARKET_LAST_SEQUENCE, market.sequence);
    writeSafe(words, word + ev.MARKET_MIN_ORDER, market.minOrderAtomic);
    for (let i = 0; i < 4; i++) words[word + ev.MARKET_UUID + i] = market.uuid[i]!;
    words[word + ev.MARKET_PAYOUT_YES_PPM] = market.payoutYesPpm;
    zero(words, word, 25, 26);
    writeSafe(words, word + ev.MARKET_RESOLVED_MS, market.resolvedMs);
    writeSafe(words, word + ev.MARKET_SETTLED_MS, market.settledMs);
    writeSafe(words, word + ev.MARKET_ROUNDING_PPM, market.roundingPpm);
  }

  /** @param reference where the 32-byte reference starts in `source`, or no source for a zero one. */
  funds(account: number, market: number, movement: number, amount: number, source?: Uint32Array, reference = 0): void {
    const word = this.#begin(ev.EVENT.FUNDS, 0, account, 0, market, movement);
    const { words } = this.out;
    writeSafe(words, word + ev.FUNDS_EV_AMOUNT, amount);
    for (let i = 0; i < 8; i++)
      words[word + ev.FUNDS_EV_REFERENCE + i] = source === undefined ? 0 : source[reference + i]!;
  }

  /** What came in and went out so far, for readers that start now. */
  fundsTotals(depositedMicro: number, withdrawnMicro: number): void {
    this.funds(FEE_ACCOUNT, NO_MARKET, MOVEMENT.DEPOSIT, depositedMicro);
    this.funds(FEE_ACCOUNT, NO_MARKET, MOVEMENT.WITHDRAWAL, withdrawnMicro);
  }

  group(group: Group): void {
    const word = this.#begin(ev.EVENT.GROUP, 0, group.account, 0, NO_MARKET, group.isNews ? 1 : 0);
    const words = this.out.words;
    words[word + ev.GROUP_EV_INDEX] = group.index;
    words[word + ev.GROUP_EV_WINDOW_SEC] = group.windowSec;
    writeSafe(words, word + ev.GROUP_EV_MAX_ATOMIC, group.maxAtomic);
    writeSafe(words, word + ev.GROUP_EV_FILLED_ATOMIC, group.window.sumAtomic);
    words[word + ev.GROUP_EV_TRIPPED] = group.isTripped ? 1 : 0;
    zero(words, word, 15, 16);
  }

  contracts(contracts: Contracts): void {
    const word = this.#begin(ev.EVENT.CONTRACTS, 0, FEE_ACCOUNT, 0, NO_MARKET, 0);
    writeSafe(this.out.words, word + ev.CONTRACTS_EV_CHAIN_ID, contracts.chainId);
    this.out.bytes.set(contracts.exchange, (word + ev.CONTRACTS_EV_EXCHANGE) * 4);
    zero(this.out.words, word, 15, 16);
  }

  reply(requestId: number, code: number, shardSequence: number, a: number, b: number, c: number): void {
    const word = this.#begin(ev.EVENT.REPLY, requestId, 0, 0, NO_MARKET, code);
    const words = this.out.words;
    writeSafe(words, word + ev.REPLY_SEQUENCE, shardSequence);
    if (a === 0 && b === 0 && c === 0) {
      zero(words, word, ev.REPLY_A, 16);
      return;
    }
    writeSafe(words, word + ev.REPLY_A, a);
    // Available and reserved amounts may be negative while the collateral check is off; a refusal shows zero then.
    writeSafe(words, word + ev.REPLY_B, Math.max(0, b));
    writeSafe(words, word + ev.REPLY_C, Math.max(0, c));
  }

  tombstone(account: number, source: Uint32Array, hash: number, untilMs: number): void {
    const word = this.#begin(ev.EVENT.TOMBSTONE, 0, account, 0, NO_MARKET, 0);
    const { words } = this.out;
    for (let i = 0; i < 8; i++) words[word + ev.TOMBSTONE_HASH + i] = source[hash + i]!;
    writeSafe(words, word + ev.TOMBSTONE_UNTIL_MS, untilMs);
  }

  /** Where the two lanes of the state digest go: the caller writes them. @returns their word offset. */
  digest(): number {
    return this.#begin(ev.EVENT.DIGEST, 0, 0, 0, NO_MARKET, 0) + ev.DIGEST_LANES;
  }

  ready(shardSequence: number, timeMs: number): void {
    const word = this.#begin(ev.EVENT.READY, 0, 0, 0, NO_MARKET, 0);
    writeSafe(this.out.words, word + ev.READY_SEQUENCE, shardSequence);
    writeSafe(this.out.words, word + ev.READY_TIME_MS, timeMs);
  }
}

/** A safe integer as it stands. */
function copyPair(from: Uint32Array, at: number, to: Uint32Array, word: number): void {
  to[word] = from[at]!;
  to[word + 1] = from[at + 1]!;
}

/** Words that mean nothing are zero, not what the buffer held before: a replay must give the same bytes (E4). */
function zero(words: Uint32Array, word: number, from: number, to: number): void {
  for (let i = from; i < to; i++) words[word + i] = 0;
}
