/**
 * The trades of a market where the exchange settles, before the market ends in the ledger (RULES.md 17.43): a trade
 * that the contract refuses can be unwound only until the holders are paid.
 * Owner: the gateway thread.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { MarketStatus } from '../../shared/base/codes.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import type { Refusal } from '../base/refusal.ts';
import { ChainDown } from '../shardlink/settlementLink.ts';
import type { SettlementPort } from '../shardlink/settlementPort.ts';
import type { MarketEntry } from './catalog.ts';

const ANSWER_WITHIN_MS = 2000;
const ASK_AGAIN_MS = 250;
/** Clients give up a request after ten seconds. */
const WAIT_MS = 6000;
const FAILED: Refusal = {
  row: ERRORS.CONFLICT,
  message: 'the contract refuses trades of this market: have them tried again or unwound first',
};
const OPEN: Refusal = { row: ERRORS.CONFLICT, message: 'trades of this market are not on the chain yet' };
const ANOTHER: Refusal = {
  row: ERRORS.CONFLICT,
  message: 'another decision of this market waits on the chain: it takes effect unless it is vetoed there',
};
const SILENT: Refusal = { row: ERRORS.SETTLEMENT_UNHEALTHY, message: 'settlement does not answer' };

export class MarketTrades {
  readonly #settlement: Pick<SettlementPort, 'ask' | 'decidesMarkets'>;
  readonly #waitMs: number;

  constructor(settlement: Pick<SettlementPort, 'ask' | 'decidesMarkets'>, waitMs = WAIT_MS) {
    this.#settlement = settlement;
    this.#waitMs = waitMs;
  }

  /** True if a market is decided there first. */
  get decidesMarkets(): boolean {
    return this.#settlement.decidesMarkets;
  }

  /** Null if the market may be decided. */
  async whyNotDecided(market: number): Promise<Refusal | null> {
    const found = await this.#ask(market);
    if (found === null) return SILENT;
    return found.failed > 0 ? FAILED : null;
  }

  /** Null once the decision is durably requested; the market trades no longer. */
  async decide(
    { id, index }: Pick<MarketEntry, 'id' | 'index'>,
    status: MarketStatus,
    payoutYesPpm: number,
  ): Promise<Refusal | 'not on the chain' | null> {
    const marketId = `0x${id.replaceAll('-', '')}`;
    const answer = await this.#orSilent(
      this.#settlement.ask('decide', { market: index, marketId, status, payoutYesPpm }),
    );
    if (answer === null) return SILENT;
    if (answer === 'not on the chain') return answer;
    return answer === 'wanted' ? null : ANOTHER;
  }

  /** Null if the holders may be paid. Waits for trades that are on their way. */
  async whyNotPaid(market: number): Promise<Refusal | null> {
    const untilMs = performance.now() + this.#waitMs;
    for (;;) {
      const found = await this.#ask(market);
      if (found === null) return SILENT;
      if (found.failed > 0) return FAILED;
      if (found.open === 0) return null;
      if (performance.now() >= untilMs) return OPEN;
      await delay(ASK_AGAIN_MS);
    }
  }

  #ask(market: number): Promise<{ readonly failed: number; readonly open: number } | null> {
    return this.#orSilent(this.#settlement.ask('marketTrades', { market }, ANSWER_WITHIN_MS));
  }

  async #orSilent<T>(answer: Promise<T>): Promise<T | null> {
    try {
      return await answer;
    } catch (error) {
      if (error instanceof ChainDown) return null;
      throw error;
    }
  }
}
