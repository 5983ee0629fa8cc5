/**
 * The money of one shard, kept a second time: from the journal's commands and the lots and prices of its fills, in
 * bigint, with one small step per movement. Nothing is shared with ledger.ts, settle.ts, grid.ts or resolution.ts: that
 * is the point. What the journal says of the result (ACCOUNT, MARKET, fees, remaining lots) is compared, never taken.
 *
 * Units: micro-USDC and atomic tokens. Rules: RULES.md 1, 2.3, 3.
 */
import { FEE_ACCOUNT, MATCH_TYPE, MOVEMENT, OUTCOME, SIDE, TIME_IN_FORCE } from '../../shared/codes.ts';
import * as cmd from '../../shared/commands.ts';
import * as ev from '../../shared/events.ts';
import { toHex } from '../../shared/hex.ts';
import { readSafe, readSigned } from '../../shared/record.ts';
import { AdminError } from './directory.ts';

export type Purse = { available: bigint; reserved: bigint };
export type MarketBooks = {
  readonly ticksPerUnit: bigint;
  collateral: bigint;
  payoutYesPpm: bigint;
  /** By account: Yes at index 0, No at index 1. */
  readonly tokens: Map<number, readonly [Purse, Purse]>;
};
export type OpenOrder = {
  readonly account: number;
  readonly market: number;
  readonly side: number;
  readonly outcome: number;
  readonly limitTicks: bigint;
  readonly feeBps: bigint;
  remainingLots: bigint;
  /** What it got so far, before fees: tokens of a BUY, USDC of a SELL. */
  received: bigint;
};

const BPS = 10_000n;
const PPM = 1_000_000n;

export class Accounting {
  readonly usdc = new Map<number, Purse>();
  readonly markets = new Map<number, MarketBooks>();
  /** By slot, as the events name them. */
  readonly orders = new Map<number, OpenOrder>();
  deposited = 0n;
  withdrawn = 0n;
  feesMicro = 0n;
  feesAtomic = 0n;
  readonly #tell: (difference: string) => void;
  readonly #references = new Set<string>();
  #sequence = 0;
  /** Of the PLACE command at hand, until its ORDER event says which slot it got. */
  #incoming: OpenOrder | null = null;

  /** @param tell is given every difference, in words. */
  constructor(tell: (difference: string) => void) {
    this.#tell = tell;
  }

  /** One journal row: the command, then what its events say, then whether they say the same as these books. */
  record(sequence: number, words: Uint32Array, command: number, event: number, eventBytes: number): void {
    this.#sequence = sequence;
    this.#incoming = null;
    this.#command(words, command);
    const end = event + (eventBytes >>> 2);
    for (let word = event; word < end; word += words[word]! >>> 2) this.#event(words, word);
  }

  purse(account: number): Purse {
    const found = this.usdc.get(account);
    if (found !== undefined) return found;
    const made = { available: 0n, reserved: 0n };
    this.usdc.set(account, made);
    return made;
  }

  market(index: number): MarketBooks {
    const market = this.markets.get(index);
    if (market === undefined) throw new AdminError(`record ${this.#sequence}: market ${index} was never opened`);
    return market;
  }

  tokens(account: number, market: number, outcome: number): Purse {
    const { tokens } = this.market(market);
    let held = tokens.get(account);
    if (held === undefined) {
      held = [
        { available: 0n, reserved: 0n },
        { available: 0n, reserved: 0n },
      ];
      tokens.set(account, held);
    }
    return held[outcome as 0 | 1];
  }

  #command(words: Uint32Array, word: number): void {
    const account = words[word + cmd.CMD_ACCOUNT]!;
    const market = words[word + cmd.CMD_MARKET]!;
    const flags = words[word + cmd.CMD_FLAGS]!;
    const type = words[word + cmd.CMD_TYPE]! & 0xffff;
    switch (type) {
      case cmd.COMMAND.PLACE:
      case cmd.COMMAND.REPLACE:
        this.#place(words, word, account, market);
        break;
      case cmd.COMMAND.CONVERT:
        this.#convert(account, market, BigInt(readSafe(words, word + cmd.CONVERT_AMOUNT)), flags);
        break;
      case cmd.COMMAND.FUNDS:
        this.#funds(words, word, account, flags);
        break;
      case cmd.COMMAND.MARKET_OPEN:
        this.#open(market, words[word + cmd.OPEN_TICKS_PER_UNIT]!);
        break;
      case cmd.COMMAND.RESOLVE:
        this.market(market).payoutYesPpm = BigInt(words[word + cmd.RESOLVE_PAYOUT_YES_PPM]!);
        break;
      case cmd.COMMAND.CLAIM:
        this.#payOut(this.market(market), account);
        break;
      case cmd.COMMAND.SETTLE:
        this.#settle(this.market(market));
        break;
      case cmd.COMMAND.CANCEL:
      case cmd.COMMAND.CANCEL_MANY:
      case cmd.COMMAND.MARKET_PATCH:
      case cmd.COMMAND.TICK:
      case cmd.COMMAND.GROUP_SET:
      case cmd.COMMAND.GROUP_RESET:
      case cmd.COMMAND.GROUP_TRIP:
      case cmd.COMMAND.CONTRACTS:
        break; // money moves only where their CLOSED events say that an order ended
      default:
        throw new AdminError(`record ${this.#sequence}: command type ${type} is not known to the audit`);
    }
  }

  #place(words: Uint32Array, word: number, account: number, market: number): void {
    const kind = words[word + cmd.PLACE_KIND]!;
    const side = cmd.kindSide(kind);
    const outcome = cmd.kindOutcome(kind);
    const makerAmount = BigInt(readSafe(words, word + cmd.PLACE_MAKER_AMOUNT));
    const takerAmount = BigInt(readSafe(words, word + cmd.PLACE_TAKER_AMOUNT));
    const { ticksPerUnit } = this.market(market);
    const [usdc, tokens] = side === SIDE.BUY ? [makerAmount, takerAmount] : [takerAmount, makerAmount];
    // The worst tick that honours the signature: a buyer never pays more, a seller never gets less.
    const exact = usdc * ticksPerUnit;
    const limitTicks = exact / tokens + (side === SIDE.SELL && exact % tokens !== 0n ? 1n : 0n);
    const lots = tokens / ticksPerUnit;
    const rests = [TIME_IN_FORCE.GTC, TIME_IN_FORCE.GTD].includes(cmd.kindTimeInForce(kind) as 0);
    this.#same('the order is on the grid', !rests || (exact % tokens === 0n && tokens % ticksPerUnit === 0n), true);
    const feeBps = BigInt(words[word + cmd.PLACE_FEE_BPS]!);
    const order = { account, market, side, outcome, limitTicks, feeBps, remainingLots: lots, received: 0n };
    const purse = this.#purseOf(order);
    const held = this.#heldBy(order, lots);
    purse.available -= held;
    purse.reserved += held;
    this.#incoming = order;
  }

  #convert(account: number, market: number, amount: bigint, movement: number): void {
    const sign = movement === MOVEMENT.SPLIT ? 1n : -1n;
    this.purse(account).available -= sign * amount;
    this.tokens(account, market, OUTCOME.YES).available += sign * amount;
    this.tokens(account, market, OUTCOME.NO).available += sign * amount;
    this.market(market).collateral += sign * amount;
  }

  #funds(words: Uint32Array, word: number, account: number, movement: number): void {
    const amount = BigInt(readSafe(words, word + cmd.FUNDS_AMOUNT));
    const reference = toHex(new Uint8Array(words.buffer, words.byteOffset + (word + cmd.FUNDS_REFERENCE) * 4, 32));
    this.#same('a movement of money happens once', this.#references.has(reference), false);
    this.#references.add(reference);
    if (movement === MOVEMENT.DEPOSIT) {
      this.deposited += amount;
      this.purse(account).available += amount;
    } else {
      this.withdrawn += amount;
      this.purse(account).available -= amount;
    }
  }

  #open(market: number, ticksPerUnit: number): void {
    this.#same('a market is opened once', this.markets.has(market), false);
    this.markets.set(market, {
      ticksPerUnit: BigInt(ticksPerUnit),
      collateral: 0n,
      payoutYesPpm: 0n,
      tokens: new Map(),
    });
  }

  /** Everything an account holds of a decided market becomes USDC, rounded down once. */
  #payOut(market: MarketBooks, account: number): void {
    const held = market.tokens.get(account);
    if (held === undefined) return;
    const [yes, no] = held;
    const worth = yes.available * market.payoutYesPpm + no.available * (PPM - market.payoutYesPpm);
    const micro = (worth - (((worth % PPM) + PPM) % PPM)) / PPM;
    yes.available = 0n;
    no.available = 0n;
    market.collateral -= micro;
    this.purse(account).available += micro;
  }

  #settle(market: MarketBooks): void {
    for (const account of market.tokens.keys()) this.#payOut(market, account);
    this.purse(FEE_ACCOUNT).available += market.collateral;
    market.collateral = 0n;
  }

  #event(words: Uint32Array, word: number): void {
    switch (ev.typeOf(words[word + ev.EV_TYPE]!)) {
      case ev.EVENT.ORDER:
        this.#accepted(words, word);
        break;
      case ev.EVENT.FILL:
        this.#fill(words, word);
        break;
      case ev.EVENT.CLOSED:
        this.#closed(words, word);
        break;
      case ev.EVENT.ACCOUNT:
        this.#compareAccount(words, word);
        break;
      case ev.EVENT.MARKET: {
        const index = words[word + ev.EV_MARKET]!;
        const told = readSigned(words, word + ev.MARKET_COLLATERAL);
        this.#same(`collateral of market ${index}`, BigInt(told), this.market(index).collateral);
        break;
      }
    }
  }

  #accepted(words: Uint32Array, word: number): void {
    const order = this.#incoming;
    if (order === null) throw new AdminError(`record ${this.#sequence}: an order was accepted that nobody placed`);
    this.#same('lots of the order', BigInt(readSafe(words, word + ev.ORDER_LOTS)), order.remainingLots);
    this.#same('limit of the order', BigInt(words[word + ev.ORDER_LIMIT_TICKS]!), order.limitTicks);
    this.orders.set(words[word + ev.EV_SLOT]!, order);
  }

  #fill(words: Uint32Array, word: number): void {
    const maker = this.#order(words[word + ev.EV_SLOT]!);
    const taker = this.#order(words[word + ev.FILL_TAKER_SLOT]!);
    const lots = BigInt(readSafe(words, word + ev.FILL_LOTS));
    const yesTicks = BigInt(words[word + ev.FILL_YES_TICKS]!);
    const makerFee = this.#settleParty(maker, lots, yesTicks);
    const takerFee = this.#settleParty(taker, lots, yesTicks);
    this.#same('fee of the maker', BigInt(readSafe(words, word + ev.FILL_MAKER_FEE)), makerFee);
    this.#same('fee of the taker', BigInt(readSafe(words, word + ev.FILL_TAKER_FEE)), takerFee);

    const market = this.market(maker.market);
    const sets = lots * market.ticksPerUnit;
    const type =
      maker.side !== taker.side ? MATCH_TYPE.STANDARD : maker.side === SIDE.BUY ? MATCH_TYPE.MINT : MATCH_TYPE.MERGE;
    this.#same('kind of the trade', words[word + ev.EV_FLAGS]!, type);
    if (type === MATCH_TYPE.MINT) market.collateral += sets;
    if (type === MATCH_TYPE.MERGE) market.collateral -= sets;
  }

  /** @returns the fee: what is due on all it received so far, less what it paid already. */
  #settleParty(order: OpenOrder, lots: bigint, yesTicks: bigint): bigint {
    const { ticksPerUnit } = this.market(order.market);
    const ticks = order.outcome === OUTCOME.YES ? yesTicks : ticksPerUnit - yesTicks;
    const usdc = lots * ticks;
    const tokens = lots * ticksPerUnit;
    const gross = order.side === SIDE.BUY ? tokens : usdc;
    const fee = ((order.received + gross) * order.feeBps) / BPS - (order.received * order.feeBps) / BPS;
    order.received += gross;
    order.remainingLots -= lots;
    const isFair = order.side === SIDE.BUY ? ticks <= order.limitTicks : ticks >= order.limitTicks;
    this.#same('no fill is worse than the limit', isFair, true);

    this.#purseOf(order).reserved -= this.#heldBy(order, lots);
    if (order.side === SIDE.BUY) {
      this.purse(order.account).available += lots * order.limitTicks - usdc;
      this.tokens(order.account, order.market, order.outcome).available += tokens - fee;
      this.tokens(FEE_ACCOUNT, order.market, order.outcome).available += fee;
      this.feesAtomic += fee;
    } else {
      this.purse(order.account).available += usdc - fee;
      this.purse(FEE_ACCOUNT).available += fee;
      this.feesMicro += fee;
    }
    return fee;
  }

  #closed(words: Uint32Array, word: number): void {
    const slot = words[word + ev.EV_SLOT]!;
    const order = this.#order(slot);
    this.#same('lots left', BigInt(readSafe(words, word + ev.CLOSED_REMAINING_LOTS)), order.remainingLots);
    const purse = this.#purseOf(order);
    const held = this.#heldBy(order, order.remainingLots);
    purse.reserved -= held;
    purse.available += held;
    this.orders.delete(slot);
  }

  #compareAccount(words: Uint32Array, word: number): void {
    const account = words[word + ev.EV_ACCOUNT]!;
    const market = words[word + ev.EV_MARKET]!;
    const signed = (at: number): bigint => BigInt(readSigned(words, word + at));
    const told = { available: signed(ev.ACCOUNT_NET), reserved: signed(ev.ACCOUNT_RESERVED) };
    this.#samePurse(`USDC of account ${account}`, told, this.purse(account));
    if (market === cmd.NO_MARKET) return;
    const yes = { available: signed(ev.ACCOUNT_YES_AVAILABLE), reserved: signed(ev.ACCOUNT_YES_RESERVED) };
    const no = { available: signed(ev.ACCOUNT_NO_AVAILABLE), reserved: signed(ev.ACCOUNT_NO_RESERVED) };
    const whose = `tokens of account ${account} in market ${market}`;
    this.#samePurse(`Yes ${whose}`, yes, this.tokens(account, market, OUTCOME.YES));
    this.#samePurse(`No ${whose}`, no, this.tokens(account, market, OUTCOME.NO));
  }

  /** Where an order's reservation lies: USDC of a BUY, the tokens themselves of a SELL. */
  #purseOf({ side, account, market, outcome }: OpenOrder): Purse {
    return side === SIDE.BUY ? this.purse(account) : this.tokens(account, market, outcome);
  }

  #heldBy({ side, market, limitTicks }: OpenOrder, lots: bigint): bigint {
    return lots * (side === SIDE.BUY ? limitTicks : this.market(market).ticksPerUnit);
  }

  #order(slot: number): OpenOrder {
    const order = this.orders.get(slot);
    if (order === undefined) throw new AdminError(`record ${this.#sequence}: an event names an order that is not open`);
    return order;
  }

  #samePurse(what: string, told: Purse, own: Purse): void {
    this.#same(`${what}, available`, told.available, own.available);
    this.#same(`${what}, reserved`, told.reserved, own.reserved);
  }

  #same(what: string, told: unknown, own: unknown): void {
    if (told !== own) this.#tell(`record ${this.#sequence}: ${what}: the journal says ${told}, the audit ${own}`);
  }
}
