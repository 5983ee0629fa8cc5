/**
 * Random trading on an exchange that settles on a chain, as a list of steps that are plain data: a list that leads to
 * a difference is run again with steps left out, until none can be spared. A step that the ledger refuses is one like
 * any other: it changes nothing.
 */
import { type Address, hexToBytes, toHex } from 'viem';
import {
  MARKET_STATUS,
  MAX_ORDER_AMOUNT,
  MOVEMENT,
  OUTCOME,
  SELF_TRADE,
  SIDE,
  TIME_IN_FORCE,
} from '../../shared/base/codes.ts';
import { OK } from '../../shared/base/errors.ts';
import { bpsFloor, MAX_SAFE } from '../../shared/base/int.ts';
import { REPLACE_MODE } from '../../shared/wire/commands.ts';
import type { Random } from '../support/random.ts';
import { FollowedExchange } from './followedExchange.ts';
import { key, USDC, withHighS, withLowV } from './rig.ts';

/** An account's delegate has a key made from the account's number and this. */
export const DELEGATE = 100;
/** Rates at the bounds, usual ones, and such as round at nearly every fill. */
const FEES_BPS = [0, 1, 50, 333, 9999, 10_000];
const MOST_SALT = 2n ** 256n - 1n;
const { GTC, GTD, FOK, FAK } = TIME_IN_FORCE;
const KINDS = [GTC, GTC, GTC, GTC, GTC, GTC, GTD, FOK, FAK, FAK];

type Terms = {
  readonly account: number;
  readonly market: number;
  readonly side: number;
  readonly outcome: number;
  readonly timeInForce: number;
  readonly size: 'least' | 'some' | 'all' | 'most';
  readonly tokens: number;
  readonly tick: number;
  /** Off the grid, as orders that do not rest may be. */
  readonly off: number;
  /**
   * For orders that do not rest: a BUY at 1.00 or for all the money that exists, a SELL below one tick or for nothing.
   */
  readonly edge: 'none' | 'beyond' | 'farthest';
  readonly net: 'none' | 'part' | 'most';
  readonly expires: 'never' | 'soon' | 'late';
  readonly isPostOnly: boolean;
  readonly selfTrade: number;
  readonly group: number;
  readonly signed: 'usual' | 'lowV' | 'highS' | 'delegate' | 'stranger';
  readonly number: 'least' | 'some' | 'most';
};
/** Money between the ledger, the two parts of an escrow, and the wallet. */
type Moving =
  | { readonly do: 'withdraw' | 'release' | 'hold'; readonly account: number; readonly micro: number }
  | { readonly do: 'ownSplit'; readonly account: number; readonly market: number; readonly atomic: number };
export type Step =
  | ({ readonly do: 'place' } & Terms)
  | ({ readonly do: 'replace'; readonly nth: number; readonly isAmend: boolean } & Terms)
  | { readonly do: 'cancel'; readonly nth: number }
  | { readonly do: 'split' | 'merge'; readonly account: number; readonly market: number; readonly atomic: number }
  | Moving
  | { readonly do: 'fee'; readonly market: number; readonly bps: number }
  | { readonly do: 'group'; readonly account: number; readonly seconds: number; readonly atomic: number }
  | { readonly do: 'decide'; readonly market: number; readonly yesPpm: number }
  | { readonly do: 'claim'; readonly account: number; readonly market: number }
  | { readonly do: 'pay'; readonly market: number }
  | { readonly do: 'pass'; readonly ms: number }
  | { readonly do: 'round'; readonly blocks: number };

type Open = { readonly hash: Uint32Array; readonly account: number; readonly terms: Terms };

/** Draws the steps: most are orders. Markets are decided late, so that they are traded before. */
export function drawSteps(random: Random, count: number, accounts: readonly number[], markets: number): Step[] {
  return Array.from({ length: count }, (_, index) => drawStep(random, accounts, markets, index / count));
}

function drawStep(random: Random, accounts: readonly number[], markets: number, passed: number): Step {
  // The first accounts have the most funds.
  const account = accounts[Math.min(random.below(accounts.length), random.below(accounts.length))];
  const [market, nth] = [random.below(markets), random.below(1000)];
  const atomic = random.pick([random.between(1, 500), random.between(1, 2_000_000)]) * 10;
  const die = random.below(100);
  if (die < 67) return { do: 'place', ...drawTerms(random, account, market) };
  if (die < 75) return { do: 'replace', nth, isAmend: random.chance(60), ...drawTerms(random, account, market) };
  if (die < 78) return { do: 'cancel', nth };
  if (die < 84) return { do: random.pick(['split', 'merge']), account, market, atomic };
  if (die < 88) return { do: random.pick(['withdraw', 'release', 'hold']), account, micro: atomic };
  if (die < 89) return { do: 'ownSplit', account, market, atomic: random.between(1, 5000) };
  if (die < 90) return { do: 'fee', market, bps: random.pick(FEES_BPS) };
  if (die < 91) return { do: 'group', account, seconds: random.between(1, 60), atomic: random.between(1, 3_000_000) };
  if (die < 93) return { do: 'pass', ms: random.pick([1, 999, 1000, 3000]) };
  if (die < 97 || passed < 0.6) return { do: 'round', blocks: random.between(1, 3) };
  if (die < 98) return { do: 'decide', market, yesPpm: random.pick([0, 1_000_000, 500_000, 333_333]) };
  return die < 99 ? { do: 'claim', account, market } : { do: 'pay', market };
}

function drawTerms(random: Random, account: number, market: number): Terms {
  const side = random.below(2);
  // Most orders are near the middle, on the side where they match.
  const middle = side === SIDE.BUY ? random.between(4800, 6000) : random.between(4000, 5200);
  return {
    ...{ account, market, side, outcome: random.below(2), timeInForce: random.pick(KINDS) },
    size: random.chance(75) ? 'some' : random.pick(['least', 'least', 'all', 'most']),
    tokens: random.between(1, 3_000_000),
    tick: random.chance(85) ? middle : random.pick([0, random.below(10_000), 9999]),
    off: random.pick([0, 1, random.below(100_000)]),
    edge: random.pick(['none', 'none', 'beyond', 'farthest']),
    net: random.pick(['none', 'part', 'most']),
    expires: random.pick(['never', 'never', 'never', 'soon', 'late']),
    isPostOnly: random.chance(10),
    selfTrade: random.chance(60) ? SELF_TRADE.NONE : random.below(4),
    group: random.chance(10) ? 1 : 0,
    signed: random.chance(95) ? random.pick(['usual', 'lowV', 'delegate']) : random.pick(['highS', 'stranger']),
    number: random.pick(['some', 'some', 'some', 'least', 'most']),
  };
}

export class TradingExchange extends FollowedExchange {
  readonly #open: Open[] = [];
  readonly #groups = new Set<number>();
  readonly #feesBps = this.terms.map(({ feeBps }) => feeBps);
  #releases = 0;

  async run(step: Step): Promise<void> {
    switch (step.do) {
      case 'place':
        return this.#enter(step);
      case 'replace': {
        const old = this.#open[step.nth % this.#open.length];
        // An amended order keeps its side and outcome, and both belong to one account and market.
        if (old === undefined) return;
        const { account, market, side, outcome } = old.terms;
        return this.#enter({ ...step, account, market, ...(step.isAmend ? { side, outcome } : {}) }, old, step.isAmend);
      }
      case 'cancel': {
        const order = this.#open[step.nth % this.#open.length];
        if (order !== undefined) this.engineOf(order.terms.market).cancel(order.account, order.hash);
        return;
      }
      case 'split':
        return void this.split(step.account, step.market, step.atomic);
      case 'merge':
        return void this.merge(step.account, step.market, step.atomic);
      case 'fee':
        this.#feesBps[step.market] = step.bps;
        return void this.engineOf(step.market).patch(step.market, { feeBps: step.bps });
      case 'group':
        this.#groups.add(step.account);
        for (const engine of this.engines) engine.groupSet(step.account, 1, step.seconds, step.atomic);
        return;
      case 'decide':
        this.engineOf(step.market).resolve(step.market, step.yesPpm, MARKET_STATUS.RESOLVED);
        return this.#finishSteps();
      case 'claim':
        return void this.engineOf(step.market).claim(step.account, step.market);
      case 'pay':
        this.engineOf(step.market).settle(step.market);
        return this.#finishSteps();
      case 'pass':
        for (const engine of this.engines) {
          engine.nowMs += step.ms;
          engine.tick();
        }
        return;
      case 'round':
        await this.step();
        await this.chain.client.mine({ blocks: step.blocks });
        return;
      default:
        return this.#move(step);
    }
  }

  #finishSteps(): void {
    for (const engine of this.engines) while (engine.engine.hasSteps) engine.step();
  }

  async #move(step: Moving): Promise<void> {
    if (step.do === 'withdraw') return void this.withdraw(step.account, step.micro);
    if (step.do === 'release') {
      const reference = toHex(++this.#releases, { size: 32 });
      // A crash belongs to a round: the gateway repeats requests made in between.
      const { stepsLeft } = this.crashes;
      this.crashes.stepsLeft = Number.POSITIVE_INFINITY;
      this.settlement.money.prepareRelease(reference);
      this.crashes.stepsLeft = stepsLeft;
      const shard = this.engines[step.account % this.engines.length];
      return void shard.move(step.account, MOVEMENT.WITHDRAWAL, step.micro, hexToBytes(reference));
    }
    const { address } = key(step.account);
    const [, unheld] = await this.chain.balance(address, USDC);
    if (unheld === 0n) return;
    if (step.do === 'ownSplit') return this.#splitOwn(step.market, BigInt(step.atomic), address, unheld);
    await this.chain.exchange(address, 'hold', [USDC, (unheld + 1n) / 2n]);
  }

  async #splitOwn(market: number, atomic: bigint, address: Address, unheld: bigint): Promise<void> {
    const { conditionId, yes } = this.markets[market];
    if ((await this.chain.call('exchange', 'conditionOf', [yes])) !== conditionId) return;
    await this.chain.exchange(address, 'splitFromEscrow', [conditionId, atomic < unheld ? atomic : unheld]);
  }

  async #enter(terms: Terms, old?: Open, isAmend = false): Promise<void> {
    const { account, market, side, outcome, timeInForce, selfTrade } = terms;
    const isImmediate = timeInForce === FOK || timeInForce === FAK;
    const [makerAmount, takerAmount] = this.#amounts(terms, isImmediate);
    const { nowMs } = this.engineOf(market);
    const soon = Math.floor(nowMs / 1000) + 1;
    const expires = timeInForce === GTD && terms.expires === 'never' ? 'late' : terms.expires;
    const order = {
      ...{ account, market, side, outcome, timeInForce, makerAmount, takerAmount, selfTrade },
      feeBps: this.#feesBps[market],
      expirationSec: { never: 0, soon, late: terms.number === 'most' ? MAX_SAFE : soon + 3600 }[expires],
      postOnly: terms.isPostOnly && !isImmediate,
      ...(terms.group === 1 && this.#groups.has(account) ? { group: 1 } : {}),
      nonce: { least: 0, some: 7, most: MAX_SAFE }[terms.number],
      ...(terms.number === 'some' ? {} : { salt: terms.number === 'least' ? 0n : MOST_SALT }),
      ...this.#signer(terms),
      ...(old === undefined ? {} : { old: old.hash, mode: isAmend ? REPLACE_MODE.AMEND : REPLACE_MODE.CANCEL_REPLACE }),
    };
    const minTakerNet = isImmediate ? this.#minTakerNet(terms, makerAmount, takerAmount) : 0;
    const { hash, reply } = await this.place({ ...order, minTakerNet });
    if (reply.code === OK) this.#open.push({ hash: hash.slice(), account, terms });
  }

  /** 'most': as much as the order gets from the present book, minus its fee. */
  #minTakerNet({ net, market, side, outcome }: Terms, makerAmount: number, takerAmount: number): number {
    if (net === 'none') return 0;
    if (net === 'part') return Math.floor(takerAmount / 2);
    const { ticksPerUnit } = this.terms[market];
    const [micro, tokens] = side === SIDE.BUY ? [makerAmount, takerAmount] : [takerAmount, makerAmount];
    const { bids, asks } = this.engineOf(market).book(market);
    const levels = (side === SIDE.BUY) === (outcome === OUTCOME.YES) ? asks : bids;
    let [left, received] = [Math.floor(tokens / ticksPerUnit), 0];
    for (const level of levels) {
      const [yesTicks, lots] = level.split(' x ').map(Number);
      const ticks = outcome === OUTCOME.YES ? yesTicks : ticksPerUnit - yesTicks;
      const [price, limit] = [BigInt(ticks) * BigInt(tokens), BigInt(micro) * BigInt(ticksPerUnit)];
      if (side === SIDE.BUY ? price > limit : price < limit) break;
      const taken = Math.min(left, lots);
      left -= taken;
      received += taken * (side === SIDE.BUY ? ticksPerUnit : ticks);
    }
    return received - bpsFloor(received, this.#feesBps[market]);
  }

  #amounts(terms: Terms, isImmediate: boolean): number[] {
    const { account, market, side, outcome, size, tokens, tick, off, edge } = terms;
    const { ticksPerUnit, minOrderAtomic } = this.terms[market];
    const ticks = 1 + Math.floor((tick * (ticksPerUnit - 1)) / 10_000);
    const engine = this.engineOf(market);
    const { available } = side === SIDE.BUY ? engine.usdc(account) : engine.tokens(account, outcome, market);
    const all = side === SIDE.BUY ? Math.floor(available / ticks) * ticksPerUnit : available;
    const wanted = { least: minOrderAtomic, some: tokens, all, most: MAX_ORDER_AMOUNT }[size];
    const bounded = Math.min(Math.max(wanted, minOrderAtomic), MAX_ORDER_AMOUNT);
    const lots = Math.max(1, Math.floor(bounded / ticksPerUnit));
    let [micro, atomic] = [lots * ticks, lots * ticksPerUnit];
    if (isImmediate) {
      atomic = Math.min(atomic + (off % ticksPerUnit), MAX_ORDER_AMOUNT);
      const [beyond, farthest] = side === SIDE.BUY ? [atomic, MAX_ORDER_AMOUNT] : [Math.max(1, lots - 1), 1];
      micro = Math.min({ none: micro + (off % lots), beyond, farthest }[edge], MAX_ORDER_AMOUNT);
    }
    return side === SIDE.BUY ? [micro, atomic] : [atomic, micro];
  }

  #signer({ account, signed }: Terms) {
    if (signed === 'delegate') return { signer: key(account + DELEGATE) };
    if (signed === 'lowV') return { changed: withLowV };
    if (signed === 'highS') return { changed: withHighS };
    return signed === 'stranger' ? { signer: key(account + DELEGATE), namedSigner: key(account).address } : {};
  }
}
