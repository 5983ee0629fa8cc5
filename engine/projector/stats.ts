/**
 * The statistics that follow from each event: positions, accounts, markets and the exchange (RULES.md 13). They are
 * written in the transaction of the rows that they are about.
 * Owner: the projector thread.
 */
import type Database from 'better-sqlite3';
import { FEE_ACCOUNT, MOVEMENT, OUTCOME } from '../../shared/base/codes.ts';
import { REFERRAL_BPS, shareOfFee } from '../../shared/base/feeShare.ts';
import { MICROS_PER_MS } from '../../shared/base/fillTimes.ts';
import { addSafe, mulSafe } from '../../shared/base/int.ts';
import { ownTicks } from '../../shared/base/orderMath.ts';
import { NO_MARKET } from '../../shared/wire/commands.ts';
import { ANY_EVENT, EVENT, typeOf } from '../../shared/wire/events.ts';
import { readSafe, readSigned } from '../../shared/wire/record.ts';
import type { FundMovementProjection } from './fundMovements.ts';
import type { OpenOrder } from './orderPool.ts';
import type { RecordContext } from './orders.ts';
import { type ConvertedPart, type OnDifference, PositionProjection } from './positions.ts';
import { AccountStats } from './statsAccounts.ts';
import { ExchangeStats } from './statsExchange.ts';
import { MarketStats } from './statsMarkets.ts';

export class Stats {
  readonly #markets: MarketStats;
  readonly #accounts: AccountStats;
  readonly #positions: PositionProjection;
  readonly #exchange: ExchangeStats;
  readonly #fundMovements: FundMovementProjection;
  /** The markets of the conversion whose events are being read. */
  readonly #converted: ConvertedPart[] = [];

  constructor(
    db: Database.Database,
    shards: number,
    fundMovements: FundMovementProjection,
    onDifference: OnDifference,
  ) {
    this.#fundMovements = fundMovements;
    this.#markets = new MarketStats(db);
    this.#accounts = new AccountStats(db);
    this.#positions = new PositionProjection(db, this.#accounts, this.#markets, onDifference);
    this.#exchange = new ExchangeStats(db, shards);
  }

  /** The next fill of the market: how long after its record it was. */
  afterMicros(market: number, { timeMs }: RecordContext): number {
    return this.#markets.fills(market, timeMs) - timeMs * MICROS_PER_MS;
  }

  /** History begins with a market that had its last fill at this time. */
  lastFill(words: Uint32Array, word: number): void {
    this.#markets.opens(words[word + ANY_EVENT.market], readSafe(words, word + EVENT.LAST_FILL.filledMicros));
  }

  /**
   * Applies a FILL event.
   * @returns what it adds to volumes, at the taker's price: nothing beyond EXCHANGESTATS-3.
   */
  filled(
    words: Uint32Array,
    word: number,
    maker: OpenOrder,
    taker: OpenOrder,
    afterMicros: number,
    record: RecordContext,
  ): number {
    const yesTicks = words[word + EVENT.FILL.yesTicks];
    const lots = readSafe(words, word + EVENT.FILL.lots);
    const makerTicks = ownTicks(maker.outcome, yesTicks, maker.ticksPerUnit);
    const takerTicks = ownTicks(taker.outcome, yesTicks, taker.ticksPerUnit);
    const makerFee = readSafe(words, word + EVENT.FILL.makerFee);
    const takerFee = readSafe(words, word + EVENT.FILL.takerFee);
    this.#positions.fill(maker, lots, makerTicks, makerFee, record);
    this.#positions.fill(taker, lots, takerTicks, takerFee, record);
    this.#sharesFees(maker, makerTicks, makerFee, taker, takerTicks, takerFee, record);
    const countedLots = this.#exchange.counts(mulSafe(lots, taker.ticksPerUnit), record) ? lots : 0;
    const volumeMicro = mulSafe(countedLots, takerTicks);
    this.#accounts.traded(taker.account, volumeMicro, record);
    if (maker.account !== taker.account) this.#accounts.traded(maker.account, mulSafe(countedLots, makerTicks), record);
    this.#markets.traded(taker.market, {
      timeMs: record.timeMs + Math.floor(afterMicros / MICROS_PER_MS),
      yesTicks,
      tokensAtomic: mulSafe(countedLots, taker.ticksPerUnit),
      notionalMicro: mulSafe(countedLots, yesTicks),
      volumeMicro,
    });
    this.#exchange.traded(mulSafe(lots, takerTicks), volumeMicro, record);
    return volumeMicro;
  }

  /** A trade with oneself has one share, of both fees. */
  #sharesFees(
    maker: OpenOrder,
    makerTicks: number,
    makerFee: number,
    taker: OpenOrder,
    takerTicks: number,
    takerFee: number,
    record: RecordContext,
  ): void {
    const ofMaker = shareOfFee(maker.side, makerFee, makerTicks, maker.ticksPerUnit, REFERRAL_BPS);
    const ofTaker = shareOfFee(taker.side, takerFee, takerTicks, taker.ticksPerUnit, REFERRAL_BPS);
    if (maker.account === taker.account) {
      this.#accounts.sharesFees(taker.account, ofMaker + ofTaker, record);
      return;
    }
    this.#accounts.sharesFees(maker.account, ofMaker, record);
    this.#accounts.sharesFees(taker.account, ofTaker, record);
  }

  /** Applies an event by which money moves outside of trades. */
  moved(words: Uint32Array, word: number, record: RecordContext): void {
    switch (typeOf(words[word + ANY_EVENT.type])) {
      case EVENT.FUNDS.TYPE:
        this.#funds(words, word, record);
        this.#fundMovements.moved(words, word, record);
        break;
      case EVENT.UNWOUND.TYPE:
        this.#unwound(words, word, record);
        this.#fundMovements.unwound(words, word, record);
        break;
      case EVENT.SET_CONVERTED.TYPE:
        this.#setConverted(words, word);
        this.#fundMovements.setConverted(words, word, record);
        break;
      case EVENT.SET.TYPE:
        this.#setChanged(record);
        break;
    }
  }

  /** Applies a FUNDS event. */
  #funds(words: Uint32Array, word: number, record: RecordContext): void {
    const account = words[word + ANY_EVENT.account];
    const movement = words[word + EVENT.FUNDS.movement];
    const amount = readSafe(words, word + EVENT.FUNDS.amount);
    if (movement === MOVEMENT.SPLIT || movement === MOVEMENT.MERGE) {
      this.#positions.convert(account, words[word + ANY_EVENT.market], movement, amount, record);
    } else if (movement === MOVEMENT.CLAIM) {
      if (account !== FEE_ACCOUNT) this.#exchange.settled(amount, record);
    } else {
      this.#accounts.funded(account, BigInt(movement === MOVEMENT.DEPOSIT ? amount : -amount), record);
    }
  }

  /** Notes a SET_CONVERTED event: the costs of the markets of a conversion depend on each other. */
  #setConverted(words: Uint32Array, word: number): void {
    const yesAtomic = readSigned(words, word + EVENT.SET_CONVERTED.yesAtomic);
    const noAtomic = readSigned(words, word + EVENT.SET_CONVERTED.noAtomic);
    const outcome = noAtomic === 0 ? OUTCOME.YES : OUTCOME.NO;
    this.#converted.push({
      account: words[word + ANY_EVENT.account],
      market: words[word + ANY_EVENT.market],
      outcome,
      atomic: addSafe(yesAtomic, noAtomic),
      micro: readSigned(words, word + EVENT.SET_CONVERTED.micro),
    });
  }

  /** Applies a SET event: it follows the last market of a conversion. */
  #setChanged(record: RecordContext): void {
    if (this.#converted.length > 0) this.#positions.convertSet(this.#converted, record);
    this.#converted.length = 0;
  }

  /** Applies an UNWOUND event: the tokens come back for what was paid for them, or the other way round. */
  #unwound(words: Uint32Array, word: number, record: RecordContext): void {
    const { UNWOUND } = EVENT;
    const yes = readSigned(words, word + UNWOUND.yesAtomic);
    const no = readSigned(words, word + UNWOUND.noAtomic);
    const micro = readSigned(words, word + UNWOUND.micro);
    this.#positions.unwind(words[word + ANY_EVENT.account], words[word + ANY_EVENT.market], yes, no, micro, record);
  }

  /** Applies an ACCOUNT event. */
  has(words: Uint32Array, word: number, record: RecordContext): void {
    const account = words[word + ANY_EVENT.account];
    const market = words[word + ANY_EVENT.market];
    this.#accounts.reserves(account, readSafe(words, word + EVENT.ACCOUNT.reservedMicro), record);
    if (market === NO_MARKET) return;
    const { yes, no } = tokensOf(words, word);
    const redemption = this.#positions.holds(account, market, yes, no, this.#markets.payoutYesPpm(market), record);
    if (redemption === null) return;
    this.#fundMovements.redeemed(account, market, this.#markets.status(market), redemption, record);
  }

  /** Applies an ACCOUNT event of the state with which history begins. */
  opens(words: Uint32Array, word: number, record: RecordContext): void {
    const account = words[word + ANY_EVENT.account];
    const market = words[word + ANY_EVENT.market];
    this.#accounts.reserves(account, readSafe(words, word + EVENT.ACCOUNT.reservedMicro), record);
    if (market === NO_MARKET) {
      const usdc = addSafe(
        readSigned(words, word + EVENT.ACCOUNT.netMicro),
        readSafe(words, word + EVENT.ACCOUNT.reservedMicro),
      );
      if (account !== FEE_ACCOUNT) this.#accounts.funded(account, BigInt(usdc), record);
      this.#fundMovements.carried(account, { market: null, usdc_micro: usdc, yes_atomic: 0, no_atomic: 0 }, record);
      return;
    }
    const { yes, no } = tokensOf(words, word);
    this.#fundMovements.carried(account, { market, usdc_micro: 0, yes_atomic: yes, no_atomic: no }, record);
    this.#positions.open(account, market, OUTCOME.YES, yes, record);
    this.#positions.open(account, market, OUTCOME.NO, no, record);
  }

  /** Applies a MARKET event. */
  market(words: Uint32Array, word: number, record: RecordContext): void {
    const before = this.#markets.apply(words, word, record);
    this.#exchange.changedStatus(before, words[word + EVENT.MARKET.status], record);
  }

  flush(): void {
    this.#positions.flush();
    this.#accounts.flush();
    this.#markets.flush();
    this.#exchange.flush();
  }
}

/** Available and reserved, of an ACCOUNT event. */
function tokensOf(words: Uint32Array, word: number): { readonly yes: number; readonly no: number } {
  const { yesAvailable, yesReserved, noAvailable, noReserved } = EVENT.ACCOUNT;
  return {
    yes: addSafe(readSigned(words, word + yesAvailable), readSafe(words, word + yesReserved)),
    no: addSafe(readSigned(words, word + noAvailable), readSafe(words, word + noReserved)),
  };
}
