/** A seeded stream of commands of every kind, for tests that compare two tellings of the same history. */
import { CLOSE_REASON, MARKET_STATUS, MAX_ORDER_AMOUNT, MOVEMENT, SIDE, TIME_IN_FORCE } from '../../shared/codes.ts';
import * as cmd from '../../shared/commands.ts';
import { writeSafe } from '../../shared/record.ts';
import { RingProducer } from '../../shared/ring.ts';
import { writeClientId } from '../../shared/tag.ts';

/** mulberry32: small, and the same everywhere. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export const FLOW_TICKS_PER_UNIT = [100, 10] as const;
const ACCOUNTS = 6;
const FEES_BPS = [50, 30];
const START_MS = 1_800_000_000_000;

/** Writes commands into a shard's ring; the caller runs the shard after each. */
export class CommandFlow {
  readonly #ring: RingProducer;
  readonly #random: () => number;
  readonly #hashes: Uint32Array[] = [];
  #nowMs = START_MS;
  #salt = 0;
  #reference = 0;

  constructor(commandRing: SharedArrayBuffer, seed: number) {
    this.#ring = new RingProducer(commandRing);
    this.#random = seededRandom(seed);
  }

  openMarkets(): void {
    for (const [index, ticksPerUnit] of FLOW_TICKS_PER_UNIT.entries()) {
      const word = this.#begin(cmd.COMMAND.MARKET_OPEN, 0, index, 0);
      const { words } = this.#ring;
      words.fill(index + 1, word + cmd.OPEN_UUID, word + cmd.OPEN_UUID + 4);
      words[word + cmd.OPEN_TICKS_PER_UNIT] = ticksPerUnit;
      words[word + cmd.OPEN_FEE_BPS] = FEES_BPS[0]!;
      writeSafe(words, word + cmd.OPEN_MIN_ORDER, ticksPerUnit);
      writeSafe(words, word + cmd.OPEN_START_MS, START_MS);
      writeSafe(words, word + cmd.OPEN_END_MS, START_MS + 10 ** 12);
      words[word + cmd.OPEN_STATUS] = MARKET_STATUS.ACTIVE;
      this.#ring.publish();
    }
  }

  /** And an order group each, of the account's own number, that never reaches its maximum. */
  fundAccounts(): void {
    for (let account = 1; account <= ACCOUNTS; account++) {
      const word = this.#begin(cmd.COMMAND.GROUP_SET, account, cmd.NO_MARKET, 0);
      this.#ring.words[word + cmd.GROUP_INDEX] = account;
      this.#ring.words[word + cmd.GROUP_WINDOW_SEC] = 60;
      writeSafe(this.#ring.words, word + cmd.GROUP_MAX_ATOMIC, MAX_ORDER_AMOUNT);
      this.#ring.publish();
      this.#funds(account, MOVEMENT.DEPOSIT, 5_000_000);
      for (let market = 0; market < FLOW_TICKS_PER_UNIT.length; market++) {
        this.#convert(account, market, MOVEMENT.SPLIT, 1_000_000);
      }
    }
  }

  /** The order hashes the shard has told of: what later cancels choose from. */
  remember(hash: Uint32Array): void {
    this.#hashes.push(hash);
  }

  /** One command: mostly orders and cancels around the middle, now and then anything else. */
  next(): void {
    const die = this.#below(100);
    this.#nowMs += this.#below(400);
    const account = 1 + this.#below(ACCOUNTS);
    const market = this.#below(FLOW_TICKS_PER_UNIT.length);
    if (die < 70) this.#place(account, market);
    else if (die < 88) this.#cancel(account);
    else if (die < 90) this.#cancelMany(account, market);
    else if (die < 92) this.#patchFee(market);
    else if (die < 94) this.#convert(account, market, MOVEMENT.SPLIT, this.#below(50) * 1000);
    else if (die < 96) this.#convert(account, market, MOVEMENT.MERGE, this.#below(50) * 1000);
    else if (die < 98) this.#funds(account, MOVEMENT.DEPOSIT, 1 + this.#below(100_000));
    else this.#funds(account, MOVEMENT.WITHDRAWAL, 1 + this.#below(100_000));
  }

  #place(account: number, market: number): void {
    const ticksPerUnit = FLOW_TICKS_PER_UNIT[market]!;
    const side = this.#below(2);
    const outcome = this.#below(2);
    const ticks = 1 + this.#below(ticksPerUnit - 1);
    const lots = 1 + this.#below(2000);
    const timeInForce = this.#below(8) === 0 ? 1 + this.#below(3) : TIME_IN_FORCE.GTC;
    const isExtended = this.#below(3) === 0;
    const bits = cmd.PLACE_BIT_AUTHORIZED | (this.#below(4) << cmd.PLACE_SELF_TRADE_SHIFT);
    const bytes = isExtended ? cmd.EXTENDED_PLACE_BYTES : undefined;
    const word = this.#begin(cmd.COMMAND.PLACE, account, market, 0, bytes);
    const { words } = this.#ring;
    words[word + cmd.PLACE_SALT] = ++this.#salt;
    if (isExtended) {
      if (this.#below(2) === 0) writeClientId(words, word, `order ${this.#salt}`);
      words[word + cmd.EXT_GROUP] = this.#below(2) * account;
    }
    words[word + cmd.PLACE_KIND] = cmd.packKind(
      side,
      outcome,
      timeInForce,
      isExtended ? bits | cmd.PLACE_BIT_EXTENDED : bits,
    );
    const [usdc, tokens] = [lots * ticks, lots * ticksPerUnit];
    writeSafe(words, word + cmd.PLACE_MAKER_AMOUNT, side === SIDE.BUY ? usdc : tokens);
    writeSafe(words, word + cmd.PLACE_TAKER_AMOUNT, side === SIDE.BUY ? tokens : usdc);
    if (timeInForce === TIME_IN_FORCE.GTD) {
      writeSafe(words, word + cmd.PLACE_EXPIRATION_SEC, Math.ceil(this.#nowMs / 1000) + 1 + this.#below(20));
    }
    words[word + cmd.PLACE_FEE_BPS] = FEES_BPS[this.#below(10) === 0 ? 1 : 0]!;
    this.#ring.publish();
  }

  #cancel(account: number): void {
    const word = this.#begin(cmd.COMMAND.CANCEL, account, cmd.NO_MARKET, CLOSE_REASON.USER);
    const hash = this.#hashes[this.#below(this.#hashes.length)];
    if (hash !== undefined) this.#ring.words.set(hash, word + cmd.CANCEL_HASH);
    this.#ring.publish();
  }

  #cancelMany(account: number, market: number): void {
    const word = this.#begin(cmd.COMMAND.CANCEL_MANY, account, market, CLOSE_REASON.USER);
    this.#ring.words[word + cmd.CANCEL_MANY_OUTCOME] = this.#below(3);
    this.#ring.publish();
  }

  #patchFee(market: number): void {
    const word = this.#begin(cmd.COMMAND.MARKET_PATCH, 0, market, 0);
    const { words } = this.#ring;
    words[word + cmd.PATCH_STATUS] = cmd.UNCHANGED;
    words[word + cmd.PATCH_FEE_BPS] = FEES_BPS[this.#below(2)]!;
    writeSafe(words, word + cmd.PATCH_START_MS, START_MS);
    writeSafe(words, word + cmd.PATCH_END_MS, START_MS + 10 ** 12);
    this.#ring.publish();
  }

  #convert(account: number, market: number, movement: number, amountAtomic: number): void {
    const word = this.#begin(cmd.COMMAND.CONVERT, account, market, movement);
    writeSafe(this.#ring.words, word + cmd.CONVERT_AMOUNT, amountAtomic);
    this.#ring.publish();
  }

  #funds(account: number, movement: number, amountMicro: number): void {
    const word = this.#begin(cmd.COMMAND.FUNDS, account, cmd.NO_MARKET, movement);
    writeSafe(this.#ring.words, word + cmd.FUNDS_AMOUNT, amountMicro);
    this.#ring.words[word + cmd.FUNDS_REFERENCE] = ++this.#reference;
    this.#ring.publish();
  }

  #begin(type: cmd.CommandType, account: number, market: number, flags: number, lengthBytes?: number): number {
    const word = cmd.beginCommand(this.#ring, type, 1, account, this.#nowMs, market, flags, lengthBytes);
    if (word < 0) throw new Error('the command ring of the test is full: run the shard after each command');
    return word;
  }

  #below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }
}
