/**
 * A second, independent bookkeeping of one shard's money: computed in bigint from the journal's commands and the lots
 * and prices of its fills, one small step per movement. It shares no code with ledger.ts, settle.ts, grid.ts or
 * resolution.ts, so that it finds their errors. The results in the journal (ACCOUNT, MARKET, fees, remaining lots) are
 * only compared, never used.
 *
 * Units: micro-USDC and atomic tokens. Rules: RULES.md 1, 2.3, 3.
 */
import { FEE_ACCOUNT, MATCH_TYPE, MOVEMENT, OUTCOME, SIDE } from '../../shared/base/codes.ts';
import { toHex } from '../../shared/base/hex.ts';
import {
  type Command,
  type CommandOf,
  decodeCommand,
  feeIn,
  movementIn,
  NO_MARKET,
} from '../../shared/wire/commands.ts';
import { decodeEvents, type Event, type EventOf } from '../../shared/wire/events.ts';
import type { JournalRecord } from '../journal/journalRecord.ts';
import { type MarketBooks, type OpenOrder, type Purse, purseOf, type SetBooks } from './books.ts';
import { AdminError } from './directory.ts';
import * as sets from './setAccounting.ts';
import { limitAndLotsOf } from './signedOrder.ts';
import { unwindFill } from './unwoundFill.ts';

/** A deposit or withdrawal, and the record that carried it out. */
export type JournaledMovement = {
  readonly sequence: number;
  readonly account: number;
  readonly movement: number;
  readonly amountMicro: bigint;
};

const BPS = 10_000n;
const PPM = 1_000_000n;

export class Accounting {
  readonly usdc = new Map<number, Purse>();
  readonly markets = new Map<number, MarketBooks>();
  /** By 1 + the index of the first market. */
  readonly sets = new Map<number, SetBooks>();
  /** Open orders by the slot that events name. */
  readonly orders = new Map<number, OpenOrder>();
  /** Deposits and withdrawals, by the hexadecimal digits of their name. */
  readonly movements = new Map<string, JournaledMovement>();
  deposited = 0n;
  withdrawn = 0n;
  feesMicro = 0n;
  feesAtomic = 0n;
  readonly #report: (difference: string) => void;
  #sequence = 0;
  /** The order of the PLACE command of this record, until its ORDER event names the slot. */
  #incoming: OpenOrder | null = null;

  /** @param report is called with every difference, in words. */
  constructor(report: (difference: string) => void) {
    this.#report = report;
  }

  /** Books one journal row: first the command, then its events, which are also compared with these books. */
  record({ sequence, command, events }: JournalRecord): void {
    this.#sequence = sequence;
    this.#incoming = null;
    const { name } = this.#command(decodeCommand(command.words, command.word));
    const decoded = decodeEvents(events.words, events.word, events.end);
    sets.takeOverExcess(this, decoded);
    if (sets.PAYING.includes(name)) this.#payHolders(decoded);
    for (const event of decoded) this.#event(event);
    for (const [first, excess] of sets.excessesIn(decoded))
      this.#same(`excess of the set of market ${first}`, excess, sets.setOf(this, first).excess);
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

  #command(command: Command): Command {
    const { account, market } = command;
    switch (command.name) {
      case 'PLACE':
      case 'REPLACE':
        this.#place(command);
        break;
      case 'CONVERT':
        this.#convert(account, market, BigInt(command.amountAtomic), movementIn(command.movementAndFee));
        this.#payFee(account, command.movementAndFee);
        break;
      case 'FUNDS':
        this.#funds(command);
        break;
      case 'MARKET_OPEN':
        this.#open(market, command.ticksPerUnit, command.set, command.place.ordinal);
        break;
      case 'RESOLVE':
        this.market(market).payoutYesPpm = BigInt(command.payoutYesPpm);
        break;
      case 'CLAIM':
        this.#payOut(this.market(market), account);
        break;
      case 'SETTLE':
        this.#same('a market is settled once', this.market(market).isSettling, false);
        this.market(market).isSettling = true;
        break;
      case 'UNWIND':
        unwindFill(this, command, (what, journaled, own) => this.#same(what, journaled, own));
        break;
      case 'CONVERT_SET':
        sets.convertSet(this, command);
        break;
      case 'DECIDE_SET':
        sets.decideSet(this, command);
        break;
      case 'SETTLE_SET':
        sets.settleSet(this, market);
        break;
      case 'CANCEL':
      case 'CANCEL_MANY':
      case 'SWEEP':
      case 'NONCE_FLOOR':
      case 'MARKET_PATCH':
      case 'TICK':
      case 'RULES':
      case 'GROUP_SET':
      case 'GROUP_RESET':
      case 'GROUP_TRIP':
      case 'CONTRACTS':
      case 'STAGE':
      case 'RAISE':
      case 'STEP':
        break; // money moves only where their events say that an order ended or whose turn to be paid it was
      default:
        command satisfies never; // a new command is a new case here
    }
    return command;
  }

  #place(command: CommandOf<'PLACE' | 'REPLACE'>): void {
    const { account, market } = command;
    const { side, outcome, timeInForce } = command.kind;
    const makerAmount = BigInt(command.makerAmount);
    const takerAmount = BigInt(command.takerAmount);
    const signed = { side, timeInForce, makerAmount, takerAmount };
    const { limitTicks, lots, isOnGrid } = limitAndLotsOf(signed, this.market(market).ticksPerUnit);
    this.#same('the order is on the grid', true, isOnGrid);
    const feeBps = BigInt(command.feeBps);
    const leastNet = BigInt(command.minTakerNet);
    const order = { account, market, side, outcome, limitTicks, feeBps, leastNet, remainingLots: lots, received: 0n };
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

  #funds({ account, market, amountMicro, movementAndFee, reference: hash }: CommandOf<'FUNDS'>): void {
    const movement = movementIn(movementAndFee);
    const amount = BigInt(amountMicro);
    const reference = toHex(hash);
    this.#same('a movement of money happens once', this.movements.has(reference), false);
    this.movements.set(reference, { sequence: this.#sequence, account, movement, amountMicro: amount });
    if (movement === MOVEMENT.DEPOSIT) {
      this.deposited += amount;
      this.purse(account).available += amount;
      if (market !== NO_MARKET) this.#convert(account, market, amount, MOVEMENT.SPLIT);
    } else {
      this.withdrawn += amount;
      this.purse(account).available -= amount;
    }
    this.#payFee(account, movementAndFee);
  }

  /** Of a movement on a chain. */
  #payFee(account: number, movementAndFee: number): void {
    const fee = BigInt(feeIn(movementAndFee));
    this.purse(account).available -= fee;
    this.purse(FEE_ACCOUNT).available += fee;
    this.feesMicro += fee;
  }

  #open(market: number, ticksPerUnit: number, setWord: number, ordinal: number): void {
    this.#same('a market is opened once', this.markets.has(market), false);
    this.markets.set(market, {
      ticksPerUnit: BigInt(ticksPerUnit),
      collateral: 0n,
      set: setWord === 0 ? null : sets.joinSet(this.sets, setWord, ordinal, market),
      isDecided: false,
      isSettled: false,
      payoutYesPpm: 0n,
      isSettling: false,
      tokens: new Map(),
    });
  }

  /** Turns all tokens that an account holds of a decided market into USDC, rounded down once. */
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

  /**
   * The events only name the holders whose turn it was. Every holder has had a turn once the events report the market
   * as settled.
   */
  #payHolders(events: readonly Event[]): void {
    for (const event of events) {
      if (event.name !== 'ACCOUNT' || event.market === NO_MARKET) continue;
      const market = this.market(event.market);
      if (market.isSettling) this.#payOut(market, event.account);
    }
    for (const event of events) {
      if (event.name === 'MARKET' && event.settledMs > 0) this.#settled(event.market);
    }
  }

  #settled(index: number): void {
    const market = this.market(index);
    for (const [account, purses] of market.tokens) {
      const left = purses.some(({ available, reserved }) => available !== 0n || reserved !== 0n);
      this.#same(`account ${account} is paid before market ${index} is settled`, left, false);
    }
    const left = market.collateral;
    market.collateral = 0n;
    market.isSettling = false;
    market.isSettled = true;
    this.purse(FEE_ACCOUNT).available += sets.keptOf(this, market, left);
  }

  #event(event: Event): void {
    switch (event.name) {
      case 'ORDER':
        this.#accepted(event);
        break;
      case 'FILL':
        this.#fill(event);
        break;
      case 'CLOSED':
        this.#closed(event);
        break;
      case 'ACCOUNT':
        this.#compareAccount(event);
        break;
      case 'MARKET': {
        const { market, collateralMicro } = event;
        this.#same(`collateral of market ${market}`, BigInt(collateralMicro), this.market(market).collateral);
        break;
      }
    }
  }

  #accepted({ slot, quantityLots, limitTicks }: EventOf<'ORDER'>): void {
    const order = this.#incoming;
    if (order === null)
      throw new AdminError(`record ${this.#sequence}: an order was accepted without a command that placed it`);
    this.#same('lots of the order', BigInt(quantityLots), order.remainingLots);
    this.#same('limit of the order', BigInt(limitTicks), order.limitTicks);
    this.orders.set(slot, order);
  }

  #fill(event: EventOf<'FILL'>): void {
    const maker = this.#order(event.makerSlot);
    const taker = this.#order(event.takerSlot);
    const lots = BigInt(event.lots);
    const yesTicks = BigInt(event.yesTicks);
    const makerFee = this.#settleParty(maker, lots, yesTicks);
    const takerFee = this.#settleParty(taker, lots, yesTicks);
    this.#same('fee of the maker', BigInt(event.makerFee), makerFee);
    this.#same('fee of the taker', BigInt(event.takerFee), takerFee);

    const market = this.market(maker.market);
    const sets = lots * market.ticksPerUnit;
    const type =
      maker.side !== taker.side ? MATCH_TYPE.STANDARD : maker.side === SIDE.BUY ? MATCH_TYPE.MINT : MATCH_TYPE.MERGE;
    this.#same('kind of the trade', event.matchType, type);
    if (type === MATCH_TYPE.MINT) market.collateral += sets;
    if (type === MATCH_TYPE.MERGE) market.collateral -= sets;
  }

  /** @returns the fee: the fee on everything received so far, less the fees paid before. */
  #settleParty(order: OpenOrder, lots: bigint, yesTicks: bigint): bigint {
    const { ticksPerUnit } = this.market(order.market);
    const ticks = order.outcome === OUTCOME.YES ? yesTicks : ticksPerUnit - yesTicks;
    const usdc = lots * ticks;
    const tokens = lots * ticksPerUnit;
    const received = order.side === SIDE.BUY ? tokens : usdc;
    const fee = ((order.received + received) * order.feeBps) / BPS - (order.received * order.feeBps) / BPS;
    order.received += received;
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

  #closed({ slot, remainingLots }: EventOf<'CLOSED'>): void {
    const order = this.#order(slot);
    this.#same('lots left', BigInt(remainingLots), order.remainingLots);
    const net = order.received - (order.received * order.feeBps) / BPS;
    this.#same('no order receives less than its minimum', true, net >= order.leastNet);
    const purse = this.#purseOf(order);
    const held = this.#heldBy(order, order.remainingLots);
    purse.reserved -= held;
    purse.available += held;
    this.orders.delete(slot);
  }

  #compareAccount(event: EventOf<'ACCOUNT'>): void {
    const { account, market } = event;
    const usdc = purseOf(event.netMicro, event.reservedMicro);
    this.#samePurse(`USDC of account ${account}`, usdc, this.purse(account));
    if (market === NO_MARKET) return;
    const yes = purseOf(event.yesAvailable, event.yesReserved);
    const no = purseOf(event.noAvailable, event.noReserved);
    const whose = `tokens of account ${account} in market ${market}`;
    this.#samePurse(`Yes ${whose}`, yes, this.tokens(account, market, OUTCOME.YES));
    this.#samePurse(`No ${whose}`, no, this.tokens(account, market, OUTCOME.NO));
  }

  /** The purse with an order's reservation: USDC for a BUY, the tokens themselves for a SELL. */
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

  #samePurse(what: string, journaled: Purse, own: Purse): void {
    this.#same(`${what}, available`, journaled.available, own.available);
    this.#same(`${what}, reserved`, journaled.reserved, own.reserved);
  }

  #same(what: string, journaled: unknown, own: unknown): void {
    if (journaled === own) return;
    this.#report(`record ${this.#sequence}: ${what}: the journal says ${journaled}, the audit ${own}`);
  }
}
