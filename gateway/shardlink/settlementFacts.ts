/** Answers of the place of settlement about claims, delegates and contracts. */
import { setTimeout as delay } from 'node:timers/promises';
import type { AskOf } from '../../shared/wire/chainQuestions.ts';
import { ChainDown, ChainRefused } from './settlementLink.ts';
import type { SettlementPort } from './settlementPort.ts';

/**
 * Settlement follows the journal every second, and signs at once if it need not wait for another transaction. Clients
 * give up after ten seconds.
 */
export const SIGNED_WITHIN_MS = 8000;
const ASK_AGAIN_MS = 200;

export class SettlementFacts {
  readonly #settlement: Pick<SettlementPort, 'ask'>;

  constructor(settlement: Pick<SettlementPort, 'ask'>) {
    this.#settlement = settlement;
  }

  /** The transaction of the claim in this record, or null if none is signed yet; the ledger has already paid. */
  async transactionOf(marketId: string, shard: number, sequence: number): Promise<string | null> {
    const untilMs = performance.now() + SIGNED_WITHIN_MS;
    for (;;) {
      const found = await this.#askTransaction({ marketId, shard, sequence });
      if (found === undefined || typeof found === 'string' || performance.now() >= untilMs) return found ?? null;
      await delay(ASK_AGAIN_MS);
    }
  }

  /** True once the wallet's tokens of a decided market were paid. Rejects with ChainDown. @param marketId a UUID */
  async isClaimed(wallet: string, marketId: string): Promise<boolean> {
    const ask = { wallet, marketId: `0x${marketId.replaceAll('-', '')}` };
    return (await this.#settlement.ask('isClaimed', ask)).isClaimed;
  }

  /** The reason why the funds cannot move to this exchange contract, or null if they can. Rejects with ChainDown. */
  async successorProblem(next: string): Promise<string | null> {
    return (await this.#settlement.ask('successorProblem', { next })).problem;
  }

  /** True once the contract lets the signer sign for the maker, for good. Rejects with ChainDown. */
  async isDelegate(maker: string, signer: string): Promise<boolean> {
    return (await this.#settlement.ask('isDelegate', { maker, signer })).isDelegate;
  }

  /** Undefined where there is no answer. */
  async #askTransaction(claim: AskOf<'claimTransaction'>): Promise<string | null | undefined> {
    try {
      return (await this.#settlement.ask('claimTransaction', claim)).hash;
    } catch (error) {
      if (error instanceof ChainDown || error instanceof ChainRefused) return undefined;
      throw error;
    }
  }
}
