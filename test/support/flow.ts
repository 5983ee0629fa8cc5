/** A seeded stream of commands of every kind, for tests that compare two tellings of the same history. */
import { CLOSE_REASON, MARKET_STATUS, MAX_ORDER_AMOUNT, MOVEMENT, TIME_IN_FORCE } from '../../shared/base/codes.ts';
import {
  COMMAND,
  type CommandType,
  claimCommand,
  EXTENDED_PLACE,
  NO_MARKET,
  withFee,
} from '../../shared/wire/commands.ts';
import { writeSafe } from '../../shared/wire/record.ts';
import { RingProducer } from '../../shared/wire/ring.ts';
import { amountsOf, type PlacementFields, writeMarketOpen, writeMarketPatch, writePlacement } from './commandBodies.ts';
import { seededRandom } from './random.ts';

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
  #salt: number;
  #reference: number;

  /**
   * @param firstNumber where its salts and references begin, so that they differ from other flows to the same shard.
   */
  constructor(commandRing: SharedArrayBuffer, seed: number, firstNumber = 0) {
    this.#ring = new RingProducer(commandRing);
    this.#random = seededRandom(seed);
    this.#salt = firstNumber;
    this.#reference = firstNumber;
  }

  openMarkets(): void {
    for (const [index, ticksPerUnit] of FLOW_TICKS_PER_UNIT.entries()) {
      const word = this.#begin(COMMAND.MARKET_OPEN.TYPE, 0, index, 0);
      const { words } = this.#ring;
      writeMarketOpen(words, word, index, {
        ticksPerUnit,
        feeBps: FEES_BPS[0],
        status: MARKET_STATUS.ACTIVE,
        startMs: START_MS,
        endMs: START_MS + 10 ** 12,
        minOrderAtomic: ticksPerUnit,
      });
      words.fill(index + 1, word + COMMAND.MARKET_OPEN.uuid, word + COMMAND.MARKET_OPEN.uuid + 4);
      this.#ring.publish();
    }
  }

  /** And an order group each, of the account's own number, that never reaches its maximum. */
  fundAccounts(): void {
    for (let account = 1; account <= ACCOUNTS; account++) {
      const word = this.#begin(COMMAND.GROUP_SET.TYPE, account, NO_MARKET, 0);
      this.#ring.words[word + COMMAND.GROUP_SET.group] = account;
      this.#ring.words[word + COMMAND.GROUP_SET.windowSec] = 60;
      writeSafe(this.#ring.words, word + COMMAND.GROUP_SET.maxAtomic, MAX_ORDER_AMOUNT);
      this.#ring.publish();
      this.#funds(account, MOVEMENT.DEPOSIT, 5_000_000);
      for (let market = 0; market < FLOW_TICKS_PER_UNIT.length; market++) {
        this.#convert(account, market, MOVEMENT.SPLIT, 1_000_000);
      }
    }
  }

  /** The order hashes that the shard has published; later cancels choose from them. */
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
    else if (die < 94) this.#convert(account, market, withFee(MOVEMENT.SPLIT, die), this.#below(50) * 1000);
    else if (die < 96) this.#convert(account, market, withFee(MOVEMENT.MERGE, die * 500), this.#below(50) * 1000);
    else if (die < 98) this.#funds(account, MOVEMENT.DEPOSIT, 1 + this.#below(100_000));
    else this.#funds(account, withFee(MOVEMENT.WITHDRAWAL, die), 1 + this.#below(100_000));
  }

  #place(account: number, market: number): void {
    const ticksPerUnit = FLOW_TICKS_PER_UNIT[market];
    const side = this.#below(2);
    const outcome = this.#below(2);
    const ticks = 1 + this.#below(ticksPerUnit - 1);
    const lots = 1 + this.#below(2000);
    const timeInForce = this.#below(8) === 0 ? 1 + this.#below(3) : TIME_IN_FORCE.GTC;
    const isExtended = this.#below(3) === 0;
    const bytes = isExtended ? EXTENDED_PLACE.BYTES : undefined;
    const word = this.#begin(COMMAND.PLACE.TYPE, account, market, 0, bytes);
    const salt = ++this.#salt;
    // Properties are evaluated in this order, which is part of what a seed means.
    const fields: PlacementFields = {
      ...{ salt, side, outcome, timeInForce, ...amountsOf(side, lots, ticks, ticksPerUnit) },
      selfTrade: this.#below(4),
      clientId: isExtended && this.#below(2) === 0 ? `order ${salt}` : undefined,
      group: isExtended ? this.#below(2) * account : undefined,
      expirationSec: timeInForce === TIME_IN_FORCE.GTD ? Math.ceil(this.#nowMs / 1000) + 1 + this.#below(20) : 0,
      feeBps: FEES_BPS[this.#below(10) === 0 ? 1 : 0],
    };
    writePlacement(this.#ring.words, word, fields, isExtended);
    this.#ring.publish();
  }

  #cancel(account: number): void {
    const word = this.#begin(COMMAND.CANCEL.TYPE, account, NO_MARKET, CLOSE_REASON.USER);
    const hash = this.#hashes[this.#below(this.#hashes.length)];
    if (hash !== undefined) this.#ring.words.set(hash, word + COMMAND.CANCEL.hash);
    this.#ring.publish();
  }

  #cancelMany(account: number, market: number): void {
    const word = this.#begin(COMMAND.CANCEL_MANY.TYPE, account, market, CLOSE_REASON.USER);
    this.#ring.words[word + COMMAND.CANCEL_MANY.outcome] = this.#below(3);
    this.#ring.publish();
  }

  #patchFee(market: number): void {
    const word = this.#begin(COMMAND.MARKET_PATCH.TYPE, 0, market, 0);
    const feeBps = FEES_BPS[this.#below(2)];
    writeMarketPatch(this.#ring.words, word, { feeBps, startMs: START_MS, endMs: START_MS + 10 ** 12 });
    this.#ring.publish();
  }

  #convert(account: number, market: number, movement: number, amountAtomic: number): void {
    const word = this.#begin(COMMAND.CONVERT.TYPE, account, market, movement);
    writeSafe(this.#ring.words, word + COMMAND.CONVERT.amountAtomic, amountAtomic);
    this.#ring.publish();
  }

  #funds(account: number, movement: number, amountMicro: number): void {
    const word = this.#begin(COMMAND.FUNDS.TYPE, account, NO_MARKET, movement);
    writeSafe(this.#ring.words, word + COMMAND.FUNDS.amountMicro, amountMicro);
    this.#ring.words[word + COMMAND.FUNDS.reference] = ++this.#reference;
    this.#ring.publish();
  }

  #begin(type: CommandType, account: number, market: number, flags: number, lengthBytes?: number): number {
    const word = claimCommand(this.#ring, type, 1, account, this.#nowMs, market, flags, lengthBytes);
    if (word < 0) throw new Error('the command ring of the test is full: run the shard after each command');
    return word;
  }

  #below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }
}
