/** The chain's answers about claims and delegates. */
import { setTimeout as delay } from 'node:timers/promises';
import { ChainDown, type ChainLink, ChainRefused } from './settlementLink.ts';

/**
 * Settlement follows the journal every second, and signs at once if it need not wait for another transaction. Clients
 * give up after ten seconds.
 */
export const SIGNED_WITHIN_MS = 8000;
const ASK_AGAIN_MS = 200;

export class ChainFacts {
  readonly #link: Pick<ChainLink, 'ask'>;

  constructor(link: Pick<ChainLink, 'ask'>) {
    this.#link = link;
  }

  /** The transaction of the claim in this record, or null if none is signed yet; the ledger has already paid. */
  async transactionOf(shard: number, sequence: number): Promise<string | null> {
    const untilMs = performance.now() + SIGNED_WITHIN_MS;
    for (;;) {
      const found = await this.#askTransaction(shard, sequence);
      if (found === undefined || typeof found === 'string' || performance.now() >= untilMs) return found ?? null;
      await delay(ASK_AGAIN_MS);
    }
  }

  /** True once the wallet's tokens of a decided market were paid. Rejects with ChainDown. @param marketId a UUID */
  async isClaimed(wallet: string, marketId: string): Promise<boolean> {
    const ask = { wallet, marketId: `0x${marketId.replaceAll('-', '')}` };
    return (await this.#link.ask('isClaimed', ask)).isClaimed;
  }

  /** The reason why the funds cannot move to this exchange contract, or null if they can. Rejects with ChainDown. */
  async successorProblem(next: string): Promise<string | null> {
    return (await this.#link.ask('successorProblem', { next })).problem;
  }

  /** True once the contract lets the signer sign for the maker, for good. Rejects with ChainDown. */
  async isDelegate(maker: string, signer: string): Promise<boolean> {
    return (await this.#link.ask('isDelegate', { maker, signer })).isDelegate;
  }

  /** Undefined where there is no answer. */
  async #askTransaction(shard: number, sequence: number): Promise<string | null | undefined> {
    try {
      return (await this.#link.ask('claimTransaction', { shard, sequence })).hash;
    } catch (error) {
      if (error instanceof ChainDown || error instanceof ChainRefused) return undefined;
      throw error;
    }
  }
}
