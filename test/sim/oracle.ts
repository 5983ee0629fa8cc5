/**
 * The exchange once more, slow and obvious: one list of open orders, bigint, every question answered by searching all
 * of them. Written from RULES.md alone and sharing nothing with the engine except the numbers of its codes, so that the
 * two agree only if both follow the rules (equivalence.test.ts).
 */
import {
  CLOSE_REASON,
  MARKET_STATUS,
  MATCH_TYPE,
  OUTCOME,
  SELF_TRADE,
  SIDE,
  TIME_IN_FORCE,
} from '../../shared/base/codes.ts';
import { E, OK } from '../../shared/base/errors.ts';
import type { OrderEvent } from '../support/orderEvents.ts';

type OracleMarket = {
  ticksPerUnit: number;
  minOrderAtomic: number;
  status: number;
  /** 0 accepts every order, 1 orders that do not cross, 2 none. */
  stage: number;
  feeBps: number;
  startMs: number;
  endMs: number;
  /** Its book was closed at its end. */
  isClosed: boolean;
  collateral: bigint;
  /** Its orders are being closed, some in each record. */
  isClosing: boolean;
  /** The status and the payout of a Yes token that it gets once they are closed. */
  decision: { status: number; yesPpm: bigint } | undefined;
  /** Accounts that ever had or sold tokens of it, in order of the first time. */
  holders: number[];
  /** While they are being paid: those whose turn is still to come. */
  unpaid: number[] | undefined;
  /** RULES.md 19: the markets of which exactly one outcome wins, this one among them. */
  set: OracleSet | undefined;
};

/** The USDC of a set lie in one pot, whatever its tokens are. */
type OracleSet = { readonly size: number; readonly members: number[]; pot: bigint; isSettled: boolean };
type SetPlace = { readonly first: number; readonly ordinal: number; readonly members: number };

type OracleOrder = {
  id: number;
  account: number;
  market: number;
  side: number;
  outcome: number;
  feeBps: number;
  expirationSec: number;
  /** In terms of its own outcome. */
  limitTicks: bigint;
  lots: bigint;
  remaining: bigint;
  filledNotional: bigint;
  isDormant: boolean;
  /** Its place among orders of the same price: the number of the order it stands for, mostly its own. */
  turn: number;
  clientId: string;
  group: number;
  /** 0: not known. */
  grant: number;
  nonce: number;
  wallet: number;
};

type OracleGroup = {
  readonly account: number;
  windowSec: number;
  max: bigint;
  isTripped: boolean;
  fills: { readonly ms: number; readonly tokens: bigint }[];
};

export type Placement = {
  account: number;
  market: number;
  side: number;
  outcome: number;
  makerAmount: number;
  takerAmount: number;
  timeInForce: number;
  postOnly: boolean;
  selfTrade: number;
  expirationSec: number;
  feeBps: number;
  minTakerNet: number;
  salt: number;
  /** Its signature is not its signer's. */
  isForged?: boolean;
  clientId?: string;
  deadlineMs?: number;
  tooManyOpen?: boolean;
  /** 0 for none. */
  group: number;
  /** 0: not known. */
  grant: number;
  nonce: number;
  /** The wallet of the account: who pays for it. */
  wallet: number;
};

type Funds = {
  readonly account: number;
  readonly amount: number;
  readonly isDeposit: boolean;
  readonly reference: number;
  readonly market?: number;
};
type Accepted = {
  readonly account: number;
  readonly id: number;
  readonly market: number;
  readonly expirationSec: number;
};
type Patch = { status?: number | undefined; feeBps?: number | undefined; startMs?: number; endMs?: number };
type Step = { readonly stage: number; readonly from?: number | undefined; readonly market?: number | undefined };
type Purse = { available: bigint; reserved: bigint };

const FEES = 0;
/** RULES.md 3.5. */
const MAX_TOTAL = 9_007_199_254_740_991n;
const ARROWS = new Set([
  'draft>pending',
  'pending>active',
  'pending>locked',
  'active>locked',
  'locked>active',
  'locked>resolving',
]);
const STATUS_NAMES = new Map(
  Object.entries(MARKET_STATUS).map(([name, value]) => [value as number, name.toLowerCase()]),
);

export class Oracle {
  readonly markets: OracleMarket[] = [];
  /** In order of sequence. */
  open: OracleOrder[] = [];
  events: OrderEvent[] = [];
  nowMs = 0;
  /** When the current command reached the shard, by the shard's own clock. */
  arrivedMs = 0;
  /** Details of an accepted replacement: whether it kept its queue position and changed the price. */
  answer: [number, number] = [0, 0];
  /** Which of the contracts orders are signed for. */
  domain = 0;
  /** In which new markets begin. */
  stage = 0;
  /** The rules in force know event sets. */
  hasSets = false;
  readonly groups = new Map<number, OracleGroup>();
  /** The part of the account's USDC that other shards hold. */
  elsewhere = 0n;
  /** RULES.md 3.2: what all accounts may have and owe where trading needs no collateral. */
  readonly #mostGross: bigint;
  readonly #collateralCheck: boolean;
  readonly #usdc = new Map<number, Purse>();
  readonly #tokens = new Map<string, Purse>();
  /** Every order ever accepted, by the signed content: the account and the number. */
  readonly #accepted = new Map<string, Accepted>();
  /** False if the shard's answer shows that it remembers the order; else it may have forgotten it (RULES.md 2.13). */
  isForgetful = true;
  readonly #references = new Set<number>();
  /** Until when an order is refused that was cancelled before it came, by account and signed content. */
  readonly #buried = new Map<string, number>();
  /** By account and wallet. */
  readonly #nonceFloors = new Map<string, number>();
  #deposited = 0n;
  #withdrawn = 0n;
  /** For decided markets: the payout of a Yes token in millionths, and whether all holders were paid. */
  readonly #payouts = new Map<number, { yesPpm: bigint; isSettled: boolean }>();
  /** RULES.md 9.18: orders and holders that a record closes and pays, and the markets whose turn comes again. */
  readonly #rows: number;
  readonly #endings: number[] = [];
  readonly #settledMarkets = new Set<number>();

  constructor(collateralCheck: boolean, rows: number, shards = 1) {
    this.#rows = rows;
    this.#collateralCheck = collateralCheck;
    this.#mostGross = 9_000_000_000_000_000n / BigInt(shards);
  }

  usdc(account: number): Purse {
    return purse(this.#usdc, account);
  }

  tokens(account: number, market: number, outcome: number): Purse {
    return purse(this.#tokens, `${account}/${market}/${outcome}`);
  }

  /** Yes tick at which an order stands in the book. */
  yesTicks(order: OracleOrder): bigint {
    return order.outcome === OUTCOME.YES ? order.limitTicks : this.#d(order) - order.limitTicks;
  }

  isBid(order: { side: number; outcome: number }): boolean {
    return (
      (order.side === SIDE.BUY && order.outcome === OUTCOME.YES) ||
      (order.side === SIDE.SELL && order.outcome === OUTCOME.NO)
    );
  }

  /** One side of the visible book in the order in which it would be matched. */
  queue(market: number, isBid: boolean): OracleOrder[] {
    const sign = isBid ? -1 : 1;
    return this.open
      .filter((order) => order.market === market && !order.isDormant && this.isBid(order) === isBid)
      .sort((a, b) => sign * Number(this.yesTicks(a) - this.yesTicks(b)) || a.turn - b.turn);
  }

  openMarket(
    terms: Pick<OracleMarket, 'ticksPerUnit' | 'minOrderAtomic' | 'status' | 'feeBps' | 'startMs' | 'endMs'> & {
      stage?: number | undefined;
      set?: SetPlace | undefined;
    },
  ): void {
    const ending = { isClosing: false, decision: undefined, holders: [], unpaid: undefined };
    const set = this.#joined(terms.set);
    this.markets.push({
      ...terms,
      set,
      stage: Math.max(this.stage, terms.stage ?? 0),
      isClosed: false,
      collateral: 0n,
      ...ending,
    });
  }

  /** Members open in the order of their places. */
  #joined(place: SetPlace | undefined): OracleSet | undefined {
    if (place === undefined) return undefined;
    const known = place.ordinal === 0 ? undefined : this.markets[place.first]!.set;
    const set = known ?? { size: place.members, members: [], pot: 0n, isSettled: false };
    set.members.push(this.markets.length);
    return set;
  }

  /** RULES.md 2.8, 9.5: carries out everything that is due by time, record by record. */
  advance(nowMs: number): void {
    this.at(nowMs);
    while (this.isDue) this.tick(nowMs);
  }

  /** The time of the next command or record. */
  at(nowMs: number): void {
    this.events = [];
    this.nowMs = Math.max(this.nowMs, nowMs);
  }

  /** Something is to be done by time alone. */
  get isDue(): boolean {
    return this.#firstDue() <= this.nowMs;
  }

  /** Carries out one due record, in order of time; at the same moment markets precede orders. */
  tick(nowMs: number): void {
    this.nowMs = Math.max(this.nowMs, nowMs);
    for (let left = this.#rows; left > 0; left--) {
      const dueMs = this.#firstDue();
      if (dueMs > this.nowMs) return;
      const market = this.markets.find((candidate) => this.#dueMs(candidate) === dueMs);
      if (market === undefined) this.#close(this.#firstExpiring()!, CLOSE_REASON.EXPIRED);
      else left -= this.#moveMarket(market, dueMs, left - 1);
    }
  }

  get hasSteps(): boolean {
    return this.#endings.length > 0;
  }

  /** RULES.md 9.18: a record in which the markets that are being ended have their turns. */
  step(): void {
    for (let left = this.#rows; left > 0 && this.hasSteps; ) {
      const index = this.#endings[0];
      left -= Math.max(1, this.#goOn(index, left));
      if (this.#endings[0] === index) this.#endings.push(this.#endings.shift()!);
    }
  }

  /** @returns how many orders were closed, or holders had their turn. */
  #goOn(index: number, rows: number): number {
    const market = this.markets[index];
    const done = market.isClosing ? this.#closeSome(index, rows) : this.#paySome(index, rows);
    if (!market.isClosing && market.unpaid === undefined) this.#endings.splice(this.#endings.indexOf(index), 1);
    return done;
  }

  #firstExpiring(): OracleOrder | undefined {
    const expiring = this.open.filter((order) => order.expirationSec > 0);
    return expiring.sort((a, b) => a.expirationSec - b.expirationSec || a.id - b.id)[0];
  }

  #firstDue(): number {
    const orderDue = (this.#firstExpiring()?.expirationSec ?? Number.POSITIVE_INFINITY) * 1000;
    return Math.min(orderDue, ...this.markets.map((market) => this.#dueMs(market)));
  }

  patch(index: number, patch: Patch): number {
    const market = this.markets[index];
    if (market === undefined) return E.MARKET_NOT_FOUND;
    const endMs = patch.endMs ?? market.endMs;
    const isOfAll =
      endMs !== market.endMs ||
      (patch.feeBps ?? market.feeBps) !== market.feeBps ||
      (patch.startMs ?? market.startMs) !== market.startMs ||
      patch.status === MARKET_STATUS.RESOLVING;
    if (market.set !== undefined && isOfAll) return E.MEMBER_OF_SET;
    if (patch.status !== undefined && patch.status !== market.status) {
      const arrow = `${STATUS_NAMES.get(market.status)}>${STATUS_NAMES.get(patch.status)}`;
      if (!ARROWS.has(arrow)) return E.INVALID_TRANSITION;
    }
    if (patch.status === MARKET_STATUS.ACTIVE && endMs <= this.nowMs) return E.INVALID_TRANSITION;
    if (patch.status === MARKET_STATUS.ACTIVE && market.isClosing) return E.ENGINE_BUSY;
    if (patch.status !== undefined) market.status = patch.status;
    if (patch.status === MARKET_STATUS.RESOLVING && !market.isClosing) {
      this.#startClosing(index);
      this.#goOn(index, this.#rows);
    }
    market.endMs = endMs;
    if (endMs > this.nowMs) market.isClosed = false;
    if (patch.feeBps !== undefined) {
      market.feeBps = patch.feeBps;
      this.#moveFee(index, market);
    }
    return OK;
  }

  /** RULES.md 9.6: to resolved or to cancelled. */
  decide(index: number, status: number, payoutYesPpm: number): number {
    const market = this.markets[index];
    if (market === undefined) return E.MARKET_NOT_FOUND;
    const { ACTIVE, LOCKED, RESOLVING, RESOLVED } = MARKET_STATUS;
    const mayResolve = market.status === ACTIVE || market.status === LOCKED || market.status === RESOLVING;
    const isDecided = this.#payouts.has(index) || market.decision !== undefined;
    // RULES.md 19.5: a single member can only be eliminated.
    if (market.set !== undefined && (status !== RESOLVED || payoutYesPpm !== 0)) return E.MEMBER_OF_SET;
    if (market.set !== undefined && market.set.members.length < market.set.size) return E.INVALID_TRANSITION;
    if (isDecided || (status === RESOLVED && !mayResolve)) return E.INVALID_TRANSITION;
    if (market.set !== undefined && market.set.members.filter((at) => this.#isUndecided(at)).length <= 2)
      return E.TOO_FEW_MEMBERS;
    market.status = RESOLVING;
    market.decision = { status, yesPpm: BigInt(payoutYesPpm) };
    this.#startClosing(index);
    this.#goOn(index, this.#rows);
    return OK;
  }

  /** RULES.md 3.4. */
  claim(account: number, index: number): number {
    if (this.markets[index] === undefined) return E.MARKET_NOT_FOUND;
    if (!this.#payouts.has(index)) return E.INVALID_TRANSITION;
    if (this.#worth(account, index) <= 0n) return E.NOTHING_TO_CLAIM;
    this.#pay(account, index);
    return OK;
  }

  /** RULES.md 9.6: holders that have not claimed are paid, and the fee account gets the remainder of rounding. */
  settle(index: number): number {
    const market = this.markets[index];
    if (market === undefined) return E.MARKET_NOT_FOUND;
    const payout = this.#payouts.get(index);
    if (market.set !== undefined && (payout === undefined || this.#left(market.set).length === 0))
      return E.MEMBER_OF_SET;
    if (payout === undefined || payout.isSettled) return E.INVALID_TRANSITION;
    payout.isSettled = true;
    market.unpaid = [...market.holders];
    this.#endings.push(index);
    this.#goOn(index, this.#rows);
    return OK;
  }

  #paySome(index: number, rows: number): number {
    const market = this.markets[index];
    const turn = market.unpaid!.splice(0, rows);
    for (const account of turn) this.#pay(account, index);
    if (market.unpaid!.length > 0) return turn.length;
    market.unpaid = undefined;
    if (market.set === undefined) {
      this.usdc(FEES).available += market.collateral;
      market.collateral = 0n;
    }
    this.#settledMarkets.add(index);
    if (market.set?.members.every((member) => this.#settledMarkets.has(member))) {
      this.usdc(FEES).available += market.set.pot;
      market.set.pot = 0n;
    }
    if (market.status === MARKET_STATUS.RESOLVED) market.status = MARKET_STATUS.SETTLED;
    return turn.length;
  }

  funds({ account, amount: micro, isDeposit, reference, market: index }: Funds): number {
    if (this.#references.has(reference)) return OK;
    const amount = BigInt(micro);
    const mine = this.usdc(account);
    const total = (isDeposit ? this.#deposited : this.#withdrawn) + amount;
    if (isDeposit && total > MAX_TOTAL) return E.VALIDATION_ERROR;
    if (!isDeposit && mine.available + this.elsewhere < amount) return E.INSUFFICIENT_BALANCE;
    if (total > MAX_TOTAL) return E.VALIDATION_ERROR;
    const market = index === undefined ? undefined : this.markets[index];
    if (index !== undefined && market === undefined) return E.MARKET_NOT_FOUND;
    if (index !== undefined && this.#payouts.has(index)) return E.MARKET_NOT_ACTIVE;
    if (this.#isTooMuch(market === undefined ? amount : 3n * amount)) return E.INSUFFICIENT_BALANCE;
    if (isDeposit) this.#deposited = total;
    else this.#withdrawn = total;
    this.#references.add(reference);
    if (market === undefined) mine.available += isDeposit ? amount : -amount;
    else if (amount > 0n) this.#addSets(account, index!, amount);
    return OK;
  }

  convert(account: number, index: number, amount: bigint, isSplit: boolean): number {
    const market = this.markets[index];
    if (market === undefined) return E.MARKET_NOT_FOUND;
    const { ACTIVE, LOCKED } = MARKET_STATUS;
    if (market.status !== ACTIVE && (isSplit || market.status !== LOCKED)) return E.MARKET_NOT_ACTIVE;
    const isInLots = amount % BigInt(market.ticksPerUnit) === 0n;
    if (amount === 0n || (isSplit && !isInLots)) return E.INVALID_LOT;
    const mine = this.usdc(account);
    const [yes, no] = [this.tokens(account, index, OUTCOME.YES), this.tokens(account, index, OUTCOME.NO)];
    const isThere = isSplit
      ? mine.available + this.elsewhere >= amount
      : yes.available >= amount && no.available >= amount;
    if (!isThere || (isSplit && this.#isTooMuch(3n * amount))) return E.INSUFFICIENT_BALANCE;
    const sets = isSplit ? amount : -amount;
    mine.available -= sets;
    this.#addSets(account, index, sets);
    return OK;
  }

  /** Where the USDC behind the tokens of a market lie. */
  #potOf(index: number): { add: (micro: bigint) => void } {
    const market = this.markets[index]!;
    const { set } = market;
    return {
      add: (micro) => {
        if (set === undefined) market.collateral += micro;
        else set.pot += micro;
      },
    };
  }

  /** The members of a set that are not decided, neither alone nor together. */
  #left({ members }: OracleSet): number[] {
    return members.filter((index) => !this.#payouts.has(index));
  }

  #isUndecided(index: number): boolean {
    return !this.#payouts.has(index) && this.markets[index]!.decision === undefined;
  }

  #setAt(first: number): OracleSet | number {
    const market = this.markets[first];
    if (market === undefined) return E.MARKET_NOT_FOUND;
    if (market.set === undefined || market.set.members[0] !== first) return E.NOT_A_SET;
    return market.set.members.length === market.set.size ? market.set : E.MARKET_NOT_ACTIVE;
  }

  /** RULES.md 19.3. @param chosen places in the set */
  convertSet(account: number, first: number, chosen: readonly number[], amount: bigint, isToUsdc: boolean): number {
    const set = this.#setAt(first);
    if (typeof set === 'number') return set;
    if (chosen.some((place) => place >= set.size)) return E.VALIDATION_ERROR;
    const k = BigInt(chosen.length);
    if ((k - 1n) * amount > MAX_TOTAL || amount > 1_000_000_000_000_000n) return E.VALIDATION_ERROR;
    if (chosen.some((place) => this.#payouts.has(set.members[place]!))) return E.MARKET_NOT_ACTIVE;
    const left = this.#left(set);
    if (left.length < 2 || (!isToUsdc && left.length < set.size)) return E.MARKET_NOT_ACTIVE;
    const { ACTIVE, LOCKED } = MARKET_STATUS;
    const isOpen = ({ status }: OracleMarket) => status === ACTIVE || (isToUsdc && status === LOCKED);
    if (!left.every((index) => isOpen(this.markets[index]!))) return E.MARKET_NOT_ACTIVE;
    if (amount === 0n) return E.INVALID_LOT;
    const sign = isToUsdc ? 1n : -1n;
    /** The account gets this, or gives it if it is negative. */
    const micro = sign * (k === 0n ? amount : (k - 1n) * amount);
    const tokens = left.map((index) => {
      const isNo = chosen.some((place) => set.members[place] === index);
      const atomic = isNo || k === 0n ? -sign * amount : sign * amount;
      return { index, atomic, outcome: isNo ? OUTCOME.NO : OUTCOME.YES };
    });
    if (this.usdc(account).available + this.elsewhere + micro < 0n && micro < 0n) return E.INSUFFICIENT_BALANCE;
    for (const { index, atomic, outcome } of tokens)
      if (atomic < 0n && this.tokens(account, index, outcome).available + atomic < 0n) return E.INSUFFICIENT_BALANCE;
    if (this.#isTooMuch(2n * BigInt(set.size) * amount)) return E.INSUFFICIENT_BALANCE;
    this.usdc(account).available += micro;
    set.pot -= micro;
    for (const { index, atomic, outcome } of tokens) {
      this.#holds(account, index);
      this.tokens(account, index, outcome).available += atomic;
    }
    return OK;
  }

  /** RULES.md 19.6. @param payouts by place; null: equal parts */
  decideSet(first: number, status: number, payouts: readonly number[] | null): number {
    const set = this.#setAt(first);
    if (typeof set === 'number') return set;
    const open = set.members.filter((index) => this.#isUndecided(index));
    if (open.length < 2) return E.INVALID_TRANSITION;
    if (set.members.some((index) => this.markets[index]!.decision !== undefined)) return E.ENGINE_BUSY;
    const { ACTIVE, RESOLVED, RESOLVING } = MARKET_STATUS;
    const mayResolve = open.every((index) => {
      const { status: now } = this.markets[index]!;
      return now >= ACTIVE && now <= RESOLVING;
    });
    if (status === RESOLVED && !mayResolve) return E.INVALID_TRANSITION;
    const each = Math.floor(1_000_000 / open.length);
    const equal = open.map((_, at) => (at === 0 ? 1_000_000 - each * (open.length - 1) : each));
    const given = payouts ?? set.members.map((index) => (open.includes(index) ? equal[open.indexOf(index)]! : 0));
    const isOut = given.some((ppm, place) => ppm > 0 && !open.includes(set.members[place] ?? -1));
    const sum = given.reduce((total, ppm) => total + ppm, 0);
    if (isOut || sum !== 1_000_000 || (payouts === null && status === RESOLVED)) return E.VALIDATION_ERROR;
    for (const index of open) {
      const market = this.markets[index]!;
      market.status = RESOLVING;
      market.decision = { status, yesPpm: BigInt(given[set.members.indexOf(index)]!) };
      this.#startClosing(index);
    }
    this.step();
    return OK;
  }

  /** RULES.md 19.8. */
  settleSet(first: number): number {
    const set = this.#setAt(first);
    if (typeof set === 'number') return set;
    if (this.#left(set).length > 0 || set.members.every((index) => this.#payouts.get(index)!.isSettled))
      return E.INVALID_TRANSITION;
    for (const index of set.members) {
      if (this.#payouts.get(index)!.isSettled) continue;
      this.#payouts.get(index)!.isSettled = true;
      const market = this.markets[index]!;
      market.unpaid = [...market.holders];
      if (market.unpaid.length === 0) this.#paySome(index, 0);
      else this.#endings.push(index);
    }
    this.step();
    return OK;
  }

  #addSets(account: number, index: number, sets: bigint): void {
    this.#holds(account, index);
    for (const outcome of [OUTCOME.YES, OUTCOME.NO]) this.tokens(account, index, outcome).available += sets;
    this.#potOf(index).add(sets);
  }

  place(p: Placement): number {
    const refusal = this.#refusalOfForm(p);
    if (refusal !== OK) return refusal;
    if (this.groups.get(p.group)?.isTripped) return E.ORDER_GROUP_TRIGGERED;
    return p.tooManyOpen ? E.TOO_MANY_OPEN_ORDERS : this.#enter(p, undefined);
  }

  /** RULES.md 7.10: the old order goes, and is there again when the new one cannot take its place. */
  replace(p: Placement, oldId: number, isAmend: boolean, expected?: number): number {
    this.answer = [0, 0];
    const refusal = this.#refusalOfForm(
      p,
      this.open.find(({ id }) => id === oldId),
      isAmend,
    );
    if (refusal !== OK) return refusal;
    const accepted = [...this.#accepted.values()].find((order) => order.id === oldId);
    if (accepted === undefined || accepted.account !== p.account) return E.ORDER_NOT_FOUND;
    const at = this.open.findIndex((order) => order.id === oldId);
    const old = this.open[at];
    if (old === undefined) return this.#isForgotten(accepted) ? E.ORDER_NOT_FOUND : E.ORDER_NOT_CANCELLABLE;
    const isOtherSide = old.side !== p.side || old.outcome !== p.outcome;
    if (old.market !== p.market || (isAmend && isOtherSide)) return E.REPLACES_ANOTHER_MARKET;
    if (expected !== undefined && BigInt(expected) !== this.leftOf(old)) return E.REMAINING_CHANGED;
    if (this.groups.get(p.group)?.isTripped) return E.ORDER_GROUP_TRIGGERED;
    if (p.tooManyOpen) return E.TOO_MANY_OPEN_ORDERS;
    const [limitTicks, lots] = onGrid(p, this.#d(old));
    if (this.#isTooMuch(4n * lots * this.#d(old))) return E.INSUFFICIENT_BALANCE;
    const isSamePrice = limitTicks === old.limitTicks;
    const keepsTurn = isAmend && isSamePrice && lots <= old.remaining && !old.isDormant;

    const count = this.events.length;
    this.#close(old, CLOSE_REASON.USER);
    const code = this.#enter(p, keepsTurn ? old.turn : undefined);
    this.answer = [keepsTurn ? 1 : 0, isSamePrice ? 0 : 1];
    if (code === OK) return OK;
    this.events.length = count;
    this.open.splice(at, 0, old);
    this.#pays(old).available -= this.#reserves(old);
    this.#pays(old).reserved += this.#reserves(old);
    return code;
  }

  /** The remainder of an open order in the asset that it gives. */
  leftOf(order: OracleOrder): bigint {
    return order.remaining * (order.side === SIDE.BUY ? order.limitTicks : this.#d(order));
  }

  /** RULES.md 7.11: cancels the order that these terms sign, or sees to it that it comes too late. */
  bury(p: Placement, domain: number): number {
    this.answer = [0, 0];
    const accepted = this.#accepted.get(signedText(p, domain));
    const isKnown = accepted?.account === p.account && !this.#isForgotten(accepted);
    if (isKnown) return this.cancel(p.account, accepted.id);
    const untilMs = this.nowMs + 60_000;
    this.#buried.set(`${p.account}: ${signedText(p, domain)}`, untilMs);
    this.answer = [untilMs, 0];
    return OK;
  }

  /** @param old the open order that is to give way. */
  #refusalOfForm(p: Placement, old?: OracleOrder, isAmend = false): number {
    if (p.group !== 0 && this.groups.get(p.group)?.account !== p.account) return E.VALIDATION_ERROR;
    const signed = signedText(p, this.domain);
    const accepted = this.#accepted.get(signed);
    if (accepted !== undefined && !this.#isForgotten(accepted)) return E.DUPLICATE_ORDER;
    if ((this.#buried.get(`${p.account}: ${signed}`) ?? 0) > this.nowMs) return E.ORDER_TOMBSTONED;
    if (p.deadlineMs !== undefined && this.arrivedMs > p.deadlineMs) return E.DEADLINE_PASSED;
    const market = this.markets[p.market];
    if (market === undefined) return E.MARKET_NOT_FOUND;
    if (market.status !== MARKET_STATUS.ACTIVE) return E.MARKET_NOT_ACTIVE;
    if (market.stage === 2 && !(isAmend && this.#onlyShrinks(p, old))) return E.CANCEL_ONLY_PHASE;
    if (p.expirationSec !== 0 && p.expirationSec * 1000 <= this.nowMs) return E.ORDER_EXPIRED;
    const [, lots, offGrid] = onGrid(p, BigInt(market.ticksPerUnit));
    if (offGrid !== OK) return offGrid;
    const tokens = p.side === SIDE.BUY ? p.takerAmount : p.makerAmount;
    if (tokens < market.minOrderAtomic && !this.#sellsAll(p, lots, old)) return E.BELOW_MIN_SIZE;
    if (p.isForged) return E.INVALID_SIGNATURE;
    if (p.nonce < this.nonceFloorOf(p.account, p.wallet)) return E.NONCE_BELOW_FLOOR;
    return p.feeBps === market.feeBps ? OK : E.FEE_RATE_MISMATCH;
  }

  /** RULES.md 1.5: it sells every whole lot, at least one, and no other order of the account sells some of them. */
  #sellsAll(p: Placement, lots: bigint, old: OracleOrder | undefined): boolean {
    if (p.side !== SIDE.SELL || lots === 0n) return false;
    const others = this.open.filter(({ account, market, side, outcome, id }) => {
      const isSame = account === p.account && market === p.market && outcome === p.outcome;
      return isSame && side === SIDE.SELL && !(id === old?.id && old.account === p.account);
    });
    const { available, reserved } = this.tokens(p.account, p.market, p.outcome);
    const held = available + reserved;
    return others.length === 0 && held >= 0n && lots === held / BigInt(this.markets[p.market]!.ticksPerUnit);
  }

  /** The amend leaves its order where it stands in the queue, with as much as it has left or less. */
  #onlyShrinks(p: Placement, old: OracleOrder | undefined): boolean {
    if (old === undefined || old.account !== p.account || old.market !== p.market || old.isDormant) return false;
    if (old.side !== p.side || old.outcome !== p.outcome) return false;
    const [limitTicks, lots, offGrid] = onGrid(p, this.#d(old));
    return offGrid === OK && limitTicks === old.limitTicks && lots <= old.remaining;
  }

  #enter(p: Placement, turn: number | undefined): number {
    const [limitTicks, lots] = onGrid(p, BigInt(this.markets[p.market].ticksPerUnit));
    const { account, side, outcome, feeBps, expirationSec } = p;
    const id = this.#accepted.size + 1;
    const fresh = { id, account, market: p.market, side, outcome, feeBps, expirationSec, isDormant: false };
    const named = { ...fresh, turn: turn ?? id, clientId: p.clientId ?? '', group: p.group, grant: p.grant };
    const signed = { nonce: p.nonce, wallet: p.wallet };
    const order: OracleOrder = { ...named, ...signed, limitTicks, lots, remaining: lots, filledNotional: 0n };
    const purse = this.#pays(order);
    const reserve = this.#reserves(order);
    const spendable = side === SIDE.BUY ? purse.available + this.elsewhere : purse.available;
    if (this.#collateralCheck && spendable < reserve) return E.INSUFFICIENT_BALANCE;
    if (this.#isTooMuch(4n * lots * this.#d(order))) return E.INSUFFICIENT_BALANCE;
    const refusal = this.#refusalOfMatching(p, order);
    if (refusal !== OK) return refusal;

    this.#accepted.set(signedText(p, this.domain), { account, id, market: p.market, expirationSec: p.expirationSec });
    if (side === SIDE.SELL) this.#holds(account, p.market);
    purse.available -= reserve;
    purse.reserved += reserve;
    this.open.push(order);
    this.events.push({ kind: 'order', order: id });
    this.#match(p, order);
    return OK;
  }

  /** The number of an accepted order, otherwise a number that no order has. */
  idOf(placement: Placement, domain: number): number {
    return this.#accepted.get(signedText(placement, domain))?.id ?? 0;
  }

  /** RULES.md 5.6. */
  changeContracts(domain: number): number {
    if (domain === this.domain) return OK;
    this.domain = domain;
    for (const order of [...this.open]) this.#close(order, CLOSE_REASON.ADMIN);
    return OK;
  }

  /** RULES.md 9.70. */
  changeStage({ stage: to, from, market: index }: Step): number {
    const one = index === undefined ? undefined : this.markets[index];
    if (index !== undefined && one === undefined) return E.MARKET_NOT_FOUND;
    if (index !== undefined && this.#payouts.has(index)) return E.INVALID_TRANSITION;
    const now = one?.stage ?? this.stage;
    const isLooser = to < now;
    if (from === undefined && isLooser) return E.OTHER_STAGE;
    if (from !== undefined && now !== from && now !== to) return E.OTHER_STAGE;
    if (one !== undefined) one.stage = to;
    else for (const each of [this, ...this.markets]) if (this.#takesStep(each.stage, from ?? 0, to)) each.stage = to;
    return OK;
  }

  /**
   * A step to a stricter stage takes all markets not there yet, a step to a looser stage those in the stage from which
   * it comes.
   */
  #takesStep(stage: number, from: number, to: number): boolean {
    return to > from ? stage < to : stage === from;
  }

  /** RULES.md 7.9, as are the two below. */
  setGroup(account: number, index: number, windowSec: number, max: bigint): number {
    const known = this.groups.get(index);
    if (known !== undefined && known.account !== account) return E.VALIDATION_ERROR;
    const group = known ?? { account, windowSec, max, isTripped: false, fills: [] };
    this.groups.set(index, group);
    if (known !== undefined && known.windowSec === windowSec && known.max === max) return OK;
    Object.assign(group, { windowSec, max, fills: this.#inWindow(group) });
    if (!group.isTripped && this.filledOf(group) >= max) this.#trip(index);
    return OK;
  }

  resetGroup(account: number, index: number): number {
    const group = this.groups.get(index);
    if (group?.account !== account) return E.VALIDATION_ERROR;
    Object.assign(group, { isTripped: false, fills: [] });
    return OK;
  }

  tripGroup(account: number, index: number): number {
    if (this.groups.get(index)?.account !== account) return E.VALIDATION_ERROR;
    this.#trip(index);
    return OK;
  }

  /** The fills that are in the window now. */
  filledOf(group: OracleGroup): bigint {
    return this.#inWindow(group).reduce((sum, { tokens }) => sum + tokens, 0n);
  }

  #inWindow({ fills, windowSec }: OracleGroup): OracleGroup['fills'] {
    return fills.filter(({ ms }) => ms + windowSec * 1000 > this.nowMs);
  }

  #trip(index: number, incoming?: OracleOrder): void {
    this.groups.get(index)!.isTripped = true;
    for (const order of [...this.open]) {
      if (order.group === index && order !== incoming) this.#close(order, CLOSE_REASON.GROUP_LIMIT);
    }
  }

  #countFill(maker: OracleOrder, taker: OracleOrder, tokens: bigint): void {
    const indices = [maker.group, taker.group].filter((index) => index !== 0);
    for (const index of indices) this.groups.get(index)!.fills.push({ ms: this.nowMs, tokens });
    for (const index of indices) {
      const group = this.groups.get(index)!;
      if (!group.isTripped && this.filledOf(group) >= group.max) this.#trip(index, taker);
    }
  }

  /** A shard may forget what it would refuse anyhow, and never an open order. */
  #isForgotten({ id, market, expirationSec }: Accepted): boolean {
    if (!this.isForgetful || this.open.some((order) => order.id === id)) return false;
    const isDecided = this.markets[market]!.status > MARKET_STATUS.RESOLVING;
    return isDecided || (expirationSec !== 0 && expirationSec * 1000 <= this.nowMs);
  }

  cancel(account: number, id: number): number {
    const accepted = [...this.#accepted.values()].find((order) => order.id === id);
    if (accepted === undefined || accepted.account !== account) return E.ORDER_NOT_FOUND;
    const order = this.open.find((candidate) => candidate.id === id);
    if (order === undefined) return this.#isForgotten(accepted) ? E.ORDER_NOT_FOUND : E.ORDER_NOT_CANCELLABLE;
    this.#close(order, CLOSE_REASON.USER);
    return OK;
  }

  cancelMany(account: number, market: number | undefined, outcome: number | undefined): void {
    for (const order of [...this.open]) {
      if (order.account !== account) continue;
      if (market !== undefined && order.market !== market) continue;
      if (outcome !== undefined && order.outcome !== outcome) continue;
      this.#close(order, CLOSE_REASON.USER);
    }
  }

  /** Orders of an unknown grant are swept with those of any grant. */
  sweep(account: number, side: number | undefined, grant: number | undefined): void {
    for (const order of [...this.open]) {
      if (order.account !== account) continue;
      if (side !== undefined && order.side !== side) continue;
      if (grant !== undefined && order.grant !== 0 && order.grant !== grant) continue;
      this.#close(order, CLOSE_REASON.ADMIN);
    }
  }

  nonceFloorOf(account: number, wallet: number): number {
    return this.#nonceFloors.get(`${account}/${wallet}`) ?? 0;
  }

  /** RULES.md 5.12. */
  raiseNonceFloor(account: number, wallet: number, floor: number): number {
    if (floor === 0) return E.VALIDATION_ERROR;
    if (floor <= this.nonceFloorOf(account, wallet)) return OK;
    this.#nonceFloors.set(`${account}/${wallet}`, floor);
    for (const order of [...this.open]) {
      const isOwn = order.account === account && order.wallet === wallet;
      if (isOwn && order.nonce < floor) this.#close(order, CLOSE_REASON.NONCE_FLOOR);
    }
    return OK;
  }

  /** RULES.md 3.2: with this much more, the holdings and debts of accounts would exceed the bound. */
  #isTooMuch(more: bigint): boolean {
    if (this.#collateralCheck) return false;
    let gross = 0n;
    for (const { available, reserved } of [...this.#usdc.values(), ...this.#tokens.values()]) {
      gross += (available < 0n ? -available : available) + reserved;
    }
    return gross + more > this.#mostGross;
  }

  /** Refusals of post-only, FOK, FAK and the minimum net, from what would happen if the order went on. */
  #refusalOfMatching(p: Placement, order: OracleOrder): number {
    const crossing = this.#crossing(order);
    if (this.markets[p.market].stage > 0 && crossing.length > 0) return E.POST_ONLY_PHASE;
    if (p.postOnly && crossing.length > 0) return E.POST_ONLY_WOULD_CROSS;
    if (p.timeInForce !== TIME_IN_FORCE.FOK && p.timeInForce !== TIME_IN_FORCE.FAK) return OK;
    let lots = 0n;
    let usdc = 0n;
    /** The fills of every group up to now. */
    const filled = new Map([...this.groups].map(([index, group]) => [index, this.filledOf(group)]));
    const isGone = ({ group }: OracleOrder): boolean =>
      group !== 0 && filled.get(group)! >= this.groups.get(group)!.max;
    for (const maker of crossing) {
      if (isGone(order)) break;
      if (maker.account === order.account && p.selfTrade !== SELF_TRADE.NONE) {
        if (p.selfTrade === SELF_TRADE.CANCEL_OLDEST) continue;
        break;
      }
      if (isGone(maker)) continue;
      const taken = min(maker.remaining, order.lots - lots);
      for (const { group } of [maker, order]) filled.set(group, (filled.get(group) ?? 0n) + taken * this.#d(order));
      lots += taken;
      usdc += taken * this.#priceFor(order, maker);
    }
    if (p.timeInForce === TIME_IN_FORCE.FOK && lots < order.lots) return E.FOK_NOT_FILLED;
    if (lots === 0n) return E.FAK_NO_FILL;
    const received = p.side === SIDE.BUY ? lots * this.#d(order) : usdc;
    return received - feeOn(received, order) < BigInt(p.minTakerNet) ? E.MIN_NET_NOT_MET : OK;
  }

  #match(p: Placement, order: OracleOrder): void {
    while (order.remaining > 0n) {
      const [maker] = this.#crossing(order);
      if (maker === undefined) break;
      if (maker.account === order.account && p.selfTrade !== SELF_TRADE.NONE) {
        if (p.selfTrade !== SELF_TRADE.CANCEL_NEWEST) this.#close(maker, CLOSE_REASON.SELF_TRADE);
        if (p.selfTrade === SELF_TRADE.CANCEL_OLDEST) continue;
        this.#close(order, CLOSE_REASON.SELF_TRADE);
        return;
      }
      this.#fill(maker, order);
      if (order.remaining > 0n && this.groups.get(order.group)?.isTripped) {
        this.#close(order, CLOSE_REASON.GROUP_LIMIT);
        return;
      }
    }
    if (order.remaining === 0n) this.#close(order, CLOSE_REASON.FILLED);
    else if (p.timeInForce === TIME_IN_FORCE.FAK) this.#close(order, CLOSE_REASON.FAK_REMAINDER);
    else this.events.push({ kind: 'rest', order: order.id, lots: Number(order.remaining) });
  }

  /** The resting orders it could match, in the order in which it would. */
  #crossing(order: OracleOrder): OracleOrder[] {
    const tick = this.yesTicks(order);
    const isBid = this.isBid(order);
    return this.queue(order.market, !isBid).filter((maker) =>
      isBid ? this.yesTicks(maker) <= tick : this.yesTicks(maker) >= tick,
    );
  }

  #fill(maker: OracleOrder, taker: OracleOrder): void {
    const lots = min(maker.remaining, taker.remaining);
    const fees = [maker, taker].map((order) => this.#settle(order, lots, this.#priceFor(order, maker)));
    let matchType: number = MATCH_TYPE.STANDARD;
    if (maker.side === taker.side) {
      const sets = lots * this.#d(maker);
      matchType = maker.side === SIDE.BUY ? MATCH_TYPE.MINT : MATCH_TYPE.MERGE;
      this.#potOf(maker.market).add(maker.side === SIDE.BUY ? sets : -sets);
    }
    this.events.push({
      kind: 'fill',
      maker: maker.id,
      taker: taker.id,
      lots: Number(lots),
      ticks: Number(this.yesTicks(maker)),
      matchType,
      makerFee: Number(fees[0]),
      takerFee: Number(fees[1]),
    });
    if (maker.remaining === 0n) this.#close(maker, CLOSE_REASON.FILLED);
    this.#countFill(maker, taker, lots * this.#d(maker));
  }

  /** @returns the fee. */
  #settle(order: OracleOrder, lots: bigint, price: bigint): bigint {
    const { account, market, outcome } = order;
    const tokens = lots * this.#d(order);
    const notional = lots * price;
    const tokensBefore = (order.lots - order.remaining) * this.#d(order);
    const notionalBefore = order.filledNotional;
    order.remaining -= lots;
    order.filledNotional += notional;
    const mine = this.usdc(account);
    const mineTokens = this.tokens(account, market, outcome);
    if (order.side === SIDE.BUY) {
      const fee = feeOn(tokensBefore + tokens, order) - feeOn(tokensBefore, order);
      mine.reserved -= lots * order.limitTicks;
      mine.available += lots * (order.limitTicks - price);
      this.#holds(account, market);
      mineTokens.available += tokens - fee;
      if (fee > 0n) this.#holds(FEES, market);
      this.tokens(FEES, market, outcome).available += fee;
      return fee;
    }
    const fee = feeOn(notionalBefore + notional, order) - feeOn(notionalBefore, order);
    mineTokens.reserved -= tokens;
    mine.available += notional - fee;
    this.usdc(FEES).available += fee;
    return fee;
  }

  #close(order: OracleOrder, reason: number): void {
    const left = this.#reserves(order);
    const purse = this.#pays(order);
    purse.reserved -= left;
    purse.available += left;
    this.open = this.open.filter((candidate) => candidate !== order);
    this.events.push({ kind: 'closed', order: order.id, reason, left: Number(order.remaining) });
  }

  #moveFee(index: number, market: OracleMarket): void {
    const here = this.open.filter((order) => order.market === index).sort((a, b) => a.turn - b.turn);
    for (const order of here) {
      if (order.isDormant || order.feeBps === market.feeBps) continue;
      order.isDormant = true;
      this.events.push({ kind: 'dormant', order: order.id });
    }
    for (const order of here) {
      if (!order.isDormant || order.feeBps !== market.feeBps) continue;
      order.isDormant = false;
      this.events.push({ kind: 'woken', order: order.id });
    }
  }

  #dueMs(market: OracleMarket): number {
    const { PENDING, ACTIVE, LOCKED } = MARKET_STATUS;
    if (market.isClosed) return Number.POSITIVE_INFINITY;
    if (market.status === PENDING) return Math.min(market.startMs, market.endMs);
    return market.status === ACTIVE || market.status === LOCKED ? market.endMs : Number.POSITIVE_INFINITY;
  }

  #moveMarket(market: OracleMarket, dueMs: number, rows: number): number {
    if (market.status === MARKET_STATUS.PENDING && market.startMs <= dueMs) {
      market.status = MARKET_STATUS.ACTIVE;
      return 0;
    }
    const index = this.markets.indexOf(market);
    market.status = MARKET_STATUS.LOCKED;
    market.isClosed = true;
    this.#startClosing(index);
    return this.#goOn(index, rows);
  }

  #startClosing(index: number): void {
    const market = this.markets[index];
    if (!market.isClosing) this.#endings.push(index);
    market.isClosing = true;
  }

  #closeSome(index: number, rows: number): number {
    const market = this.markets[index];
    const dormant = this.open.filter((order) => order.market === index && order.isDormant);
    const inTurn = [
      ...this.queue(index, true),
      ...this.queue(index, false),
      ...dormant.sort((a, b) => a.turn - b.turn),
    ];
    const turn = inTurn.slice(0, rows);
    for (const order of turn) this.#close(order, CLOSE_REASON.MARKET_CLOSED);
    if (turn.length < inTurn.length) return turn.length;
    market.isClosing = false;
    if (market.decision === undefined) return turn.length;
    const together = this.#decidedTogether(index);
    if (together.some((other) => this.markets[other]!.isClosing)) return turn.length;
    for (const each of together) {
      const member = this.markets[each]!;
      const { status, yesPpm } = member.decision!;
      member.status = status;
      this.#payouts.set(each, { yesPpm, isSettled: false });
      member.decision = undefined;
    }
    return turn.length;
  }

  /** All that is left of its set, if all of that waits for a decision; else the market alone. */
  #decidedTogether(index: number): number[] {
    const { set } = this.markets[index]!;
    if (set === undefined || set.members.some((member) => this.#isUndecided(member))) return [index];
    return this.#left(set);
  }

  #holds(account: number, index: number): void {
    const { holders } = this.markets[index];
    if (!holders.includes(account)) holders.push(account);
  }

  #worth(account: number, index: number): bigint {
    const { yesPpm } = this.#payouts.get(index)!;
    const [yes, no] = [this.tokens(account, index, OUTCOME.YES), this.tokens(account, index, OUTCOME.NO)];
    const millionths = yes.available * yesPpm + no.available * (1_000_000n - yesPpm);
    const rest = ((millionths % 1_000_000n) + 1_000_000n) % 1_000_000n;
    return (millionths - rest) / 1_000_000n;
  }

  #pay(account: number, index: number): void {
    const paid = this.#worth(account, index);
    this.#potOf(index).add(-paid);
    this.usdc(account).available += paid;
    for (const outcome of [OUTCOME.YES, OUTCOME.NO]) this.tokens(account, index, outcome).available = 0n;
  }

  /** Cost or proceeds of a fill against `maker`, per lot of the order's own outcome. */
  #priceFor(order: OracleOrder, maker: OracleOrder): bigint {
    return order.outcome === OUTCOME.YES ? this.yesTicks(maker) : this.#d(order) - this.yesTicks(maker);
  }

  #pays(order: OracleOrder): Purse {
    return order.side === SIDE.BUY ? this.usdc(order.account) : this.tokens(order.account, order.market, order.outcome);
  }

  #reserves(order: OracleOrder): bigint {
    return order.remaining * (order.side === SIDE.BUY ? order.limitTicks : this.#d(order));
  }

  #d(order: OracleOrder): bigint {
    return BigInt(this.markets[order.market].ticksPerUnit);
  }
}

/** RULES.md 1.4: limit, lots, and OK or the refusal. */
function onGrid(p: Placement, d: bigint): [bigint, bigint, number] {
  const [usdc, tokens] = p.side === SIDE.BUY ? [p.makerAmount, p.takerAmount] : [p.takerAmount, p.makerAmount];
  const [u, t] = [BigInt(usdc), BigInt(tokens)];
  const rest = (u * d) % t;
  const isResting = p.timeInForce === TIME_IN_FORCE.GTC || p.timeInForce === TIME_IN_FORCE.GTD;
  const whole = (u * d - rest) / t + (rest > 0n && p.side === SIDE.SELL ? 1n : 0n);
  const ticks = whole >= d && p.side === SIDE.BUY && !isResting ? d - 1n : whole;
  if (ticks < 1n || ticks >= d) return [0n, 0n, E.INVALID_TICK];
  if (isResting) {
    if (rest > 0n) return [0n, 0n, E.INVALID_TICK];
    if (t % d > 0n) return [0n, 0n, E.INVALID_LOT];
  }
  return [ticks, t / d, OK];
}

/** The fee charged so far on the amount received so far. */
function feeOn(received: bigint, order: OracleOrder): bigint {
  return (received * BigInt(order.feeBps)) / 10_000n;
}

function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

function purse<K>(purses: Map<K, Purse>, key: K): Purse {
  let found = purses.get(key);
  if (found === undefined) {
    found = { available: 0n, reserved: 0n };
    purses.set(key, found);
  }
  return found;
}

/** The signed fields that vary here: two orders with the same ones are the same order. */
function signedText(p: Placement, domain: number): string {
  const amounts = [p.makerAmount, p.takerAmount, p.expirationSec, p.feeBps, p.minTakerNet];
  return [domain, p.salt, p.side, ...amounts, p.nonce, p.wallet].join();
}
