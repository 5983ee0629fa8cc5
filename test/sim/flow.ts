/**
 * Random commands for one shard of the simulated exchange. The oracle says what is likely, so that most commands are
 * accepted and much of the book crosses; the engine is not asked.
 */

import {
  isDecided,
  MARKET_STATUS,
  MAX_ORDER_AMOUNT,
  OUTCOME,
  SIDE,
  TICKS_PER_UNIT,
  TIME_IN_FORCE,
} from '../../shared/base/codes.ts';
import { PPM } from '../../shared/base/payout.ts';
import { hasherFor, type OrderHasher } from '../../shared/crypto/eip712.ts';
import type { Keccak256 } from '../../shared/crypto/keccak.ts';
import type { MarketTerms } from '../support/commandBodies.ts';
import type { Random } from '../support/random.ts';
import { type Command, DOMAINS, hashOf, type Placed } from './command.ts';
import type { Oracle, Placement } from './oracle.ts';

export const ACCOUNTS = [1, 2, 3, 4, 5] as const;
/** Has too little for most of its orders, so both shards compete for its last dollar. */
const POOR = 5;
/** Three, so that orders of different fees sleep together. */
const FEES_BPS = [50, 35, 20];
/**
 * A market for each row, with one of its grids, so that a world has coarse and fine grids and all worlds together have
 * every grid.
 */
export const SIZES = [0, 5, 10, 15].map((from) => TICKS_PER_UNIT.slice(from, from + 5));
/** Lots below this are refused as too small. */
const MIN_LOTS = 3;
const SETS_AT_START = 60;
const RECENT = 25;
/** Numbers of grants that orders have; a few orders have none. */
const GRANTS = 3;
/** Wallets of an account. */
const WALLETS = 2;
const { FAK, FOK, GTC, GTD } = TIME_IN_FORCE;

type Amounts = { readonly usdc: number; readonly tokens: number };

type FlowOptions = {
  readonly random: Random;
  readonly oracle: Oracle;
  readonly shard: number;
  readonly shards: number;
  readonly nowMs: number;
  /** Without collateral: amounts of every size, up to the largest possible. */
  readonly hasNoCollateral: boolean;
  readonly keccak: Keccak256;
};

export class Flow {
  /** Every order the shard ever accepted: what cancels choose from. */
  readonly placed: Placed[] = [];
  /** Sent and never answered: a client sends them again. */
  readonly unanswered: Placement[] = [];
  /** The newest orders, whatever their state. */
  readonly #sent: Placement[] = [];
  /** Cancelled before they came: they may still come. */
  readonly #buried: Placement[] = [];
  readonly #random: Random;
  /** Hashers by contracts. */
  readonly #hashers: readonly OrderHasher[];
  /** Another one takes its place when records were given up. */
  oracle: Oracle;
  readonly #shard: number;
  readonly #shards: number;
  readonly #hasNoCollateral: boolean;
  readonly #terms: MarketTerms[] = [];
  /** The markets that are traded, one for each of SIZES; a decided one makes room for another. */
  readonly #current: number[] = SIZES.map((_, market) => market);
  /** The members of the event set that is traded. */
  #set: readonly number[] = [];
  #salt = 0;
  #reference = 0;

  constructor(options: FlowOptions) {
    this.#random = options.random;
    this.oracle = options.oracle;
    this.#shard = options.shard;
    this.#shards = options.shards;
    this.#hasNoCollateral = options.hasNoCollateral;
    this.#hashers = DOMAINS.map((domain) => hasherFor(domain, options.keccak));
    for (const market of this.#current) this.#opened(market, market, options.nowMs);
  }

  /** Markets and money at the start. */
  opening(): Command[] {
    const mine = ACCOUNTS.filter((account) => this.#keeps(account));
    return [
      ...this.#terms.map((terms, market): Command => ({ kind: 'open', market, terms: { ...terms } })),
      ...mine.map((account) => this.#deposit(account, account === POOR ? 100_000 : 4_000_000)),
    ];
  }

  /** Tokens at the start, once there is money in both shards. */
  endowment(): Command[] {
    return ACCOUNTS.filter((account) => account !== POOR).flatMap((account) =>
      this.#terms.map(({ ticksPerUnit }, market): Command => {
        return { kind: 'convert', account, market, amount: SETS_AT_START * ticksPerUnit, isSplit: true };
      }),
    );
  }

  next(nowMs: number): Command {
    const random = this.#random;
    const dice = random.below(1000);
    if (dice < 590) return this.#place(nowMs);
    if (dice < 605) return this.#group();
    if (dice < 606) return { kind: 'contracts', domain: random.below(DOMAINS.length) };
    if (dice < 609 || (this.#isHalted && random.chance(6))) return this.#stage();
    if (dice < 634) return this.#again(nowMs);
    if (dice < 740 && this.placed.length > 0) return this.#replace(nowMs);
    if (dice < 755) return this.#bury(nowMs);
    if (dice < 840 && this.placed.length > 0) return this.#cancel();
    if (dice < 856) return this.#cancelMany();
    if (dice < 859) return this.#sweep();
    if (dice < 861) return this.#nonceFloor();
    if (dice < 893) return this.#convert();
    if (dice < 925) return this.#convertSet(nowMs);
    if (dice < 960) return this.#funds();
    if (dice < 975) return this.#patch(nowMs);
    if (dice < 985) return this.#endSet(nowMs);
    if (dice < 993) return this.#end(nowMs);
    return { kind: 'tick' };
  }

  /** A signed order that was sent before: lost, refused, accepted, or still on its way. */
  #again(nowMs: number): Command {
    const random = this.#random;
    const lost = random.chance(70) ? this.unanswered.pop() : undefined;
    if (lost !== undefined) return { kind: 'place', placement: lost };
    if (this.#buried.length > 0 && random.chance(40)) {
      return { kind: 'place', placement: random.pick(this.#buried.slice(-RECENT)) };
    }
    if (this.placed.length === 0) return this.#place(nowMs);
    return { kind: 'place', placement: random.pick(this.placed).placement };
  }

  #place(nowMs: number): Command {
    const placement = this.#placement(nowMs);
    this.#sent.push(placement);
    if (this.#sent.length > RECENT) this.#sent.shift();
    return { kind: 'place', placement };
  }

  #placement(nowMs: number): Placement {
    const random = this.#random;
    const market = this.#market();
    const { ticksPerUnit } = this.#terms[market] ?? this.#terms[0];
    const account = random.pick(ACCOUNTS);
    const outcome = random.pick([OUTCOME.YES, OUTCOME.NO]);
    const heldLots = random.chance(8) ? this.#heldLots(account, market, outcome, ticksPerUnit) : 0;
    const side = heldLots > 0 ? SIDE.SELL : random.pick([SIDE.BUY, SIDE.SELL]);
    const timeInForce = random.pick([0, 0, 0, 1, 2, 3, 3]);
    const isImmediate = timeInForce === FOK || timeInForce === FAK;
    const lots = heldLots > 0 ? this.#mostOf(heldLots) : this.#lots(ticksPerUnit);
    const onGrid = { usdc: lots * this.#ticks(ticksPerUnit), tokens: lots * ticksPerUnit };
    const isOffGrid = random.chance(isImmediate ? 50 : 3);
    const { usdc, tokens } = isOffGrid ? this.#offGrid(side, onGrid, ticksPerUnit) : onGrid;
    const needsExpiration = timeInForce === GTD || random.chance(10);
    const group = random.chance(20) ? this.#groupOf(random.chance(98) ? account : random.pick(ACCOUNTS)) : 0;
    const isGroupKnown = this.oracle.groups.has(group) || random.chance(5);
    return {
      account,
      group: isGroupKnown ? group : 0,
      market,
      side,
      outcome,
      makerAmount: side === SIDE.BUY ? usdc : tokens,
      takerAmount: side === SIDE.BUY ? tokens : usdc,
      timeInForce,
      postOnly: random.chance(10),
      selfTrade: random.chance(60) ? 0 : random.below(4),
      expirationSec: needsExpiration ? Math.floor(nowMs / 1000) + random.below(40) : 0,
      feeBps: random.chance(92) ? (this.oracle.markets[market]?.feeBps ?? 50) : random.pick(FEES_BPS),
      minTakerNet: isImmediate && random.chance(30) ? this.#leastNet(side, tokens) : 0,
      ...this.#extras(nowMs),
      salt: this.#nextSalt(),
      isForged: random.chance(2),
      grant: random.below(GRANTS + 1),
      ...this.#nonce(account),
    };
  }

  /**
   * Amounts of any ratio: beside a tick, at a token for a dollar and above, or below one tick (RULES.md 1.4). A few are
   * for less than one lot, also of an account that holds nothing.
   */
  #offGrid(side: number, { usdc, tokens: wanted }: Amounts, ticksPerUnit: number): Amounts {
    const random = this.#random;
    const whole = random.chance(4) ? 0 : wanted;
    const tokens = Math.max(1, whole + (random.chance(60) ? random.below(ticksPerUnit) : 0));
    const oneTick = Math.floor(tokens / ticksPerUnit);
    if (random.chance(40)) return { usdc: Math.max(1, usdc + random.between(-9, 9)), tokens };
    const ends =
      random.chance(85) === (side === SIDE.BUY)
        ? [tokens - 1, tokens, tokens + 1, tokens + Math.floor(tokens / 2), MAX_ORDER_AMOUNT]
        : [1, oneTick - 1, oneTick, oneTick + 1];
    return { usdc: Math.min(MAX_ORDER_AMOUNT, Math.max(1, random.pick(ends))), tokens };
  }

  /** A part of what the order receives, which may be next to nothing at its limit. */
  #leastNet(side: number, tokens: number): number {
    return this.#random.below(side === SIDE.BUY ? tokens : Math.floor((tokens * 3) / 4) + 1);
  }

  /** The fields that make an order's command an extended one. */
  #extras(nowMs: number): Pick<Placement, 'clientId' | 'deadlineMs' | 'tooManyOpen'> {
    const random = this.#random;
    return {
      ...(random.chance(20) ? { clientId: `order ${this.#salt + 1}` } : {}),
      ...(random.chance(2) ? { tooManyOpen: true } : {}),
      ...(random.chance(10) ? { deadlineMs: nowMs + random.between(-500, 2500) } : {}),
    };
  }

  /** Mostly of an order that is still open, at its price or near it, by its own account. */
  #replace(nowMs: number): Command {
    const random = this.#random;
    const isOpen = new Set(this.oracle.open.map(({ id }) => id));
    const open = this.placed.slice(-RECENT * 4).filter(({ id }) => isOpen.has(id));
    const order = random.pick(open.length > 0 && random.chance(90) ? open : this.placed);
    const fresh = this.#placement(nowMs);
    const isAmend = random.chance(60);
    if (random.chance(10)) return { kind: 'replace', placement: fresh, order, isAmend };

    const was = order.placement;
    const { ticksPerUnit } = this.#terms[was.market] ?? this.#terms[0];
    const [usdc, tokens] =
      was.side === SIDE.BUY ? [was.makerAmount, was.takerAmount] : [was.takerAmount, was.makerAmount];
    const ticks = Math.round((usdc * ticksPerUnit) / tokens) + (random.chance(70) ? 0 : random.between(-3, 3));
    const wasLots = Math.floor(tokens / ticksPerUnit);
    const heldLots = random.chance(8) ? this.#heldLots(was.account, was.market, was.outcome, ticksPerUnit) : 0;
    const others = random.chance(30) ? wasLots : random.between(Math.floor(wasLots / 2), wasLots + 3);
    const lots = Math.max(1, heldLots > 0 ? this.#mostOf(heldLots) : others);
    const onGrid = { usdc: lots * Math.min(Math.max(ticks, 1), ticksPerUnit - 1), tokens: lots * ticksPerUnit };
    const { market, outcome, side } = random.chance(90) ? was : { ...fresh, market: was.market };
    const isImmediate = random.chance(25);
    const amounts = random.chance(isImmediate ? 80 : 2) ? this.#offGrid(side, onGrid, ticksPerUnit) : onGrid;
    const placement: Placement = {
      ...fresh,
      account: random.chance(96) ? was.account : fresh.account,
      market,
      outcome,
      side,
      makerAmount: side === SIDE.BUY ? amounts.usdc : amounts.tokens,
      takerAmount: side === SIDE.BUY ? amounts.tokens : amounts.usdc,
      minTakerNet: isImmediate && random.chance(30) ? this.#leastNet(side, amounts.tokens) : 0,
      timeInForce: isImmediate ? random.pick([FOK, FAK, FAK]) : fresh.timeInForce === GTD ? GTD : GTC,
      feeBps: this.oracle.markets[market]?.feeBps ?? 50,
    };
    return { kind: 'replace', placement, order, isAmend, ...this.#expectation(order.id) };
  }

  /** Mostly the remainder of the order, and no other value. */
  #expectation(id: number): { expected?: number } {
    const random = this.#random;
    const old = this.oracle.open.find((order) => order.id === id);
    if (old === undefined || !random.chance(30)) return {};
    return { expected: Number(this.oracle.leftOf(old)) + (random.chance(70) ? 0 : random.between(1, 9)) };
  }

  /** Mostly an order that has not come yet. */
  #bury(nowMs: number): Command {
    const random = this.#random;
    const isKnown = this.placed.length > 0 && random.chance(30);
    const isSent = !isKnown && this.#sent.length > 0 && random.chance(30);
    const placement = isKnown
      ? random.pick(this.placed.slice(-RECENT)).placement
      : isSent
        ? random.pick(this.#sent)
        : this.#placement(nowMs);
    this.#buried.push(placement);
    const { domain } = this.oracle;
    return { kind: 'bury', placement, domain, hash: hashOf(this.#hashers[domain], placement) };
  }

  #lots(ticksPerUnit: number): number {
    const random = this.#random;
    if (random.chance(3)) return random.below(MIN_LOTS) + 1;
    if (this.#hasNoCollateral && random.chance(40)) return Math.max(1, Math.floor(this.#huge() / ticksPerUnit));
    return random.between(MIN_LOTS, 30);
  }

  /** The lots that an account has of an outcome, available and reserved. */
  #heldLots(account: number, market: number, outcome: number, ticksPerUnit: number): number {
    const { available, reserved } = this.oracle.tokens(account, market, outcome);
    return Math.floor(Number(available + reserved) / ticksPerUnit);
  }

  /** All of them, even below the minimum of an order, or so many that less than the minimum is left. */
  #mostOf(heldLots: number): number {
    return Math.max(1, heldLots - (this.#random.chance(50) ? 0 : this.#random.below(MIN_LOTS)));
  }

  /** Any size below the largest amount of an order. */
  #huge(): number {
    const random = this.#random;
    return Math.floor((MAX_ORDER_AMOUNT / 1000) * random.between(1, 999)) / random.pick([1, 1, 1, 10, 1e3, 1e6]);
  }

  /** Mostly an active market, rarely one that is over or does not exist. */
  #market(): number {
    const random = this.#random;
    if (random.chance(2)) return random.below(this.#terms.length + 1);
    const market = random.pick(this.#traded);
    const isActive = this.oracle.markets[market]?.status === MARKET_STATUS.ACTIVE;
    return isActive || random.chance(20) ? market : random.pick(this.#traded);
  }

  /** Mostly within a few ticks of the middle, so that much crosses; sometimes at the very ends. */
  #ticks(ticksPerUnit: number): number {
    const random = this.#random;
    if (random.chance(3)) return random.pick([0, 1, ticksPerUnit - 1, ticksPerUnit]);
    const ticks = Math.floor(ticksPerUnit / 2) + random.between(-4, 4);
    return Math.min(Math.max(ticks, 1), ticksPerUnit - 1);
  }

  /** Cancels an order that is known to exist, or one that was just sent and perhaps still waits. */
  #cancel(): Command {
    const random = this.#random;
    const known = this.#dormant() ?? random.pick(this.placed.slice(random.chance(80) ? -RECENT : 0));
    const isSent = random.chance(30) && this.#sent.length > 0;
    const placement = isSent ? random.pick(this.#sent) : known.placement;
    const domain = isSent ? this.oracle.domain : known.domain;
    const account = random.chance(97) ? placement.account : random.pick(ACCOUNTS);
    return { kind: 'cancel', account, placement, domain, hash: hashOf(this.#hashers[domain], placement) };
  }

  /** Now and then an order that sleeps under another fee, where there is one. */
  #dormant(): Placed | undefined {
    if (!this.#random.chance(20)) return undefined;
    const sleeping = this.oracle.open.filter(({ isDormant }) => isDormant);
    if (sleeping.length === 0) return undefined;
    const { id } = this.#random.pick(sleeping);
    return this.placed.find((order) => order.id === id);
  }

  /** Mostly settings that orders of the flow reach, so that groups trip; then they are reset. */
  #group(): Command {
    const random = this.#random;
    const account = random.pick(ACCOUNTS);
    const group = this.#groupOf(random.chance(97) ? account : random.pick(ACCOUNTS));
    const tripped = [...this.oracle.groups].filter(([, { isTripped }]) => isTripped);
    if (random.chance(90) && tripped.length > 0) {
      const [index, { account: owner }] = random.pick(tripped);
      return { kind: 'groupReset', account: owner, group: index };
    }
    if (random.chance(10)) return { kind: random.pick(['groupReset', 'groupTrip'] as const), account, group };
    const maxAtomic = random.between(10, 80) * random.pick(TICKS_PER_UNIT);
    return { kind: 'groupSet', account, group, windowSec: random.pick([1, 5, 30, 3600]), maxAtomic };
  }

  /** One of the account's two groups. */
  #groupOf(account: number): number {
    return account * 2 + this.#random.below(2);
  }

  #cancelMany(): Command {
    const random = this.#random;
    const account = random.pick(ACCOUNTS);
    const market = random.chance(70) ? random.pick(this.#current) : undefined;
    const outcome = random.chance(50) ? random.below(2) : undefined;
    return { kind: 'cancelMany', account, market, outcome };
  }

  /** Mostly the floor as a client knows it, sometimes an earlier one, or a higher one. */
  #nonce(account: number): { nonce: number; wallet: number } {
    const random = this.#random;
    const wallet = 1 + random.below(WALLETS);
    const floor = this.oracle.nonceFloorOf(account, wallet);
    const nonce = random.chance(90) ? floor : Math.max(0, floor + random.between(-2, 6));
    return { nonce, wallet };
  }

  #nonceFloor(): Command {
    const random = this.#random;
    const account = random.pick(ACCOUNTS);
    const wallet = 1 + random.below(WALLETS);
    const floor = Math.max(0, this.oracle.nonceFloorOf(account, wallet) + random.between(-1, 4));
    return { kind: 'nonceFloor', account, wallet, floor };
  }

  #sweep(): Command {
    const random = this.#random;
    const side = random.chance(50) ? random.below(2) : undefined;
    const grant = random.chance(70) ? 1 + random.below(GRANTS) : undefined;
    return { kind: 'sweep', account: random.pick(ACCOUNTS), side, grant };
  }

  #convert(): Command {
    const random = this.#random;
    const market = random.pick(this.#traded);
    const lots = random.below(10) + (random.chance(10) ? 0.1 : 0);
    const { ticksPerUnit } = this.#terms[market];
    const isHuge = this.#hasNoCollateral && random.chance(20);
    const amount = isHuge ? this.#lots(ticksPerUnit) * ticksPerUnit : Math.round(lots * ticksPerUnit);
    return { kind: 'convert', account: random.pick(ACCOUNTS), market, amount, isSplit: random.chance(65) };
  }

  #funds(): Command {
    const random = this.#random;
    const account = random.pick(ACCOUNTS.filter((candidate) => this.#keeps(candidate)));
    const amount = this.#hasNoCollateral && random.chance(10) ? Math.floor(this.#huge() / 100) : random.below(60_000);
    if (random.chance(15)) return { ...this.#deposit(account, amount), market: random.pick(this.#current) };
    if (random.chance(50)) return this.#deposit(account, amount);
    return { kind: 'funds', account, amount, isDeposit: false, reference: this.#nextReference() };
  }

  #deposit(account: number, amount: number): Extract<Command, { kind: 'funds' }> {
    return { kind: 'funds', account, amount, isDeposit: true, reference: this.#nextReference() };
  }

  #patch(nowMs: number): Command {
    const random = this.#random;
    const market = random.pick(this.#traded);
    const terms = this.#terms[market];
    if (random.chance(terms.set === undefined ? 60 : 5)) terms.endMs = nowMs + random.between(-5000, 900_000);
    return {
      kind: 'patch',
      market,
      feeBps: random.chance(60) ? random.pick(FEES_BPS) : undefined,
      // Mostly back to active and for a while: a locked market has little to compare.
      status: random.chance(60) ? (random.chance(80) ? MARKET_STATUS.ACTIVE : random.below(5)) : undefined,
      startMs: terms.startMs,
      endMs: terms.endMs,
    };
  }

  get #isHalted(): boolean {
    return this.#current.some((market) => this.#stageOf(market) > 0);
  }

  #stageOf(market: number): number {
    return this.oracle.markets[market]?.stage ?? 0;
  }

  /** Mostly back to open, for little trades in any other stage; now and then by an operator who is too late. */
  #stage(): Command {
    const random = this.#random;
    const { stage: ofShard } = this.oracle;
    const halted = this.#current.filter((market) => this.#stageOf(market) > ofShard);
    const one = halted.length > 0 ? random.pick(halted) : random.pick(this.#current);
    const market = random.chance(50) ? one : undefined;
    const now = market === undefined ? ofShard : this.#stageOf(market);
    const stage = now > 0 && random.chance(85) ? now - 1 : random.below(3);
    const from = random.chance(20) ? undefined : random.chance(90) ? now : random.below(3);
    return { kind: 'stage', stage, from, market };
  }

  /** The end of a market, a step at a time, and another one in its place. */
  #end(nowMs: number): Command {
    const random = this.#random;
    const { markets } = this.oracle;
    const size = random.below(this.#current.length);
    const market = this.#current[size];
    const isOver = isDecided(markets[market]?.status ?? MARKET_STATUS.DRAFT);
    if (isOver && random.chance(70)) return this.#openNext(size, nowMs);
    if (!isOver && random.chance(40)) {
      const status = random.chance(70) ? MARKET_STATUS.RESOLVED : MARKET_STATUS.CANCELLED;
      return { kind: 'decide', market, status, payoutYesPpm: random.pick([0, PPM, PPM / 2, 333_333]) };
    }
    const decided = markets.flatMap(({ status }, index) => (isDecided(status) ? [index] : []));
    const past = decided.length > 0 && random.chance(50) ? random.pick(decided) : random.below(this.#terms.length);
    if (random.chance(30)) return { kind: 'settle', market: past };
    return { kind: 'claim', account: random.pick([0, ...ACCOUNTS]), market: past };
  }

  /** The markets that are traded, those of the event set among them once they are open. */
  get #traded(): number[] {
    const members = this.#set.filter((market) => this.oracle.markets[market] !== undefined);
    return [...this.#current, ...members];
  }

  /** Both directions, of whatever markets; mostly of so little that the account has it. */
  #convertSet(nowMs: number): Command {
    const random = this.#random;
    const [first] = this.#set;
    if (first === undefined || this.oracle.markets[this.#set.at(-1)!] === undefined) return this.#openSet(nowMs);
    const size = this.#set.length;
    const isToUsdc = random.chance(50);
    const every = Array.from({ length: size }, (_, place) => place);
    const some = every.filter(() => random.chance(50));
    const chosen = random.chance(15) ? every : random.chance(15) ? [] : random.chance(2) ? [size] : some;
    const { ticksPerUnit } = this.#terms[first];
    const isHuge = random.chance(this.#hasNoCollateral ? 10 : 1);
    const amount = isHuge ? this.#huge() : random.below(6) * ticksPerUnit + (random.chance(20) ? random.below(99) : 0);
    const market = random.chance(97) ? first : random.below(this.#terms.length + 1);
    return { kind: 'convertSet', account: random.pick(ACCOUNTS), market, chosen, amount: Math.floor(amount), isToUsdc };
  }

  /** Eliminations, the decision of all, and acts on single members that are refused. */
  #endSet(nowMs: number): Command {
    const random = this.#random;
    const [first] = this.#set;
    const last = this.#set.at(-1);
    if (first === undefined || last === undefined || this.oracle.markets[last] === undefined)
      return this.#openSet(nowMs);
    const { markets } = this.oracle;
    const isOver = this.#set.every((market) => isDecided(markets[market]!.status));
    const member = random.pick(this.#set);
    if (isOver && random.chance(40)) return this.#openSet(nowMs);
    if (isOver && random.chance(40)) return { kind: 'settleSet', market: first };
    const status = random.chance(70) ? MARKET_STATUS.RESOLVED : MARKET_STATUS.CANCELLED;
    const payoutYesPpm = random.pick([0, 0, 0, PPM]);
    if (random.chance(60)) return { kind: 'decide', market: member, status, payoutYesPpm };
    if (random.chance(15)) return { kind: random.pick(['settleSet', 'settle'] as const), market: first };
    if (random.chance(30)) return { kind: 'claim', account: random.pick([0, ...ACCOUNTS]), market: member };
    const open = this.#set.filter((market) => !isDecided(markets[market]!.status));
    return { kind: 'decideSet', market: first, status, payouts: random.chance(30) ? null : this.#payouts(open) };
  }

  /** One winner, or parts that add up to one USDC, mostly of what is left. */
  #payouts(open: readonly number[]): number[] {
    const random = this.#random;
    const winners = open.length > 0 && random.chance(90) ? open : this.#set;
    const winner = random.pick(winners);
    const other = random.pick(winners);
    const part = random.pick([0, 0, 1, 333_333, PPM / 2]);
    const payouts = this.#set.map(() => 0);
    payouts[this.#set.indexOf(winner)] += PPM - part;
    payouts[this.#set.indexOf(other)] += random.chance(95) ? part : part + 1;
    return payouts;
  }

  /** The next market of a set that was begun, or the first of another set. */
  #openSet(nowMs: number): Command {
    const random = this.#random;
    const next = this.oracle.markets.length;
    if (next < this.#terms.length) return { kind: 'open', market: next, terms: { ...this.#terms[next] } };
    if (!this.oracle.hasSets) return { kind: 'tick' };
    const members = random.pick([2, 3, 3, 4, 8]);
    this.#set = Array.from({ length: members }, (_, ordinal) => next + ordinal);
    this.#opened(next, 1, nowMs);
    const terms = { ...this.#terms[next]!, status: MARKET_STATUS.ACTIVE, stage: undefined };
    for (const [ordinal, market] of this.#set.entries())
      this.#terms[market] = { ...terms, set: { first: next, ordinal, members } };
    return { kind: 'open', market: next, terms: { ...this.#terms[next]! } };
  }

  /** A market that was lost in a crash, or is still on its way, is opened again unchanged. */
  #openNext(size: number, nowMs: number): Command {
    const next = this.oracle.markets.length;
    if (next === this.#terms.length) {
      this.#opened(next, size, nowMs);
      this.#current[size] = next;
    }
    return { kind: 'open', market: next, terms: { ...this.#terms[next] } };
  }

  #opened(market: number, size: number, nowMs: number): void {
    const ticksPerUnit = this.#random.pick(SIZES[size]);
    this.#terms[market] = {
      ticksPerUnit,
      minOrderAtomic: MIN_LOTS * ticksPerUnit,
      status: market === 0 ? MARKET_STATUS.PENDING : MARKET_STATUS.ACTIVE,
      feeBps: 50,
      startMs: nowMs + 5_000,
      endMs: nowMs + this.#random.between(100_000, 2_000_000),
      stage: market > size && this.#random.chance(20) ? 1 + this.#random.below(2) : undefined,
    };
  }

  /** An account's deposits and withdrawals go to one shard, which knows their references. */
  #keeps(account: number): boolean {
    return account % this.#shards === this.#shard;
  }

  /** Salts of two shards never meet. */
  #nextSalt(): number {
    return ++this.#salt * this.#shards + this.#shard;
  }

  /** Mostly new; a repeat is answered again and applied once. */
  #nextReference(): number {
    return this.#random.chance(90) ? ++this.#reference : this.#random.between(1, this.#reference + 1);
  }
}
