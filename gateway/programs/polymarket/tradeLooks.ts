/**
 * Finds the trades of an account's fills in its history, which has them a moment later.
 *
 * Invariant:
 *   POLYLOOKS-1  However many fills come at once, each gets its trade: they are looked for together, from the newest
 *                trade to the time of the oldest fill that waits. A fill that is not there after LOOKS looks gets null.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ExchangeClient } from '../../../shared/client/client.ts';
import type { UserTrade } from '../../../shared/client/types.ts';

const LOOKS = 20;
const LOOK_EVERY_MS = 250;
const PAGE = 100;
/** Of one look. */
const MOST_PAGES = 200;

type Waiting = {
  readonly filledMs: number;
  readonly found: (trade: UserTrade | null) => void;
  looks: number;
};

export class TradeLooks {
  readonly #client: Pick<ExchangeClient, 'userTrades'>;
  readonly #everyMs: number;
  readonly #waiting = new Map<string, Waiting>();
  #isLooking = false;

  constructor(client: Pick<ExchangeClient, 'userTrades'>, everyMs = LOOK_EVERY_MS) {
    this.#client = client;
    this.#everyMs = everyMs;
  }

  /** @param filledMs the time of the fill. @returns null if it is not there after a while */
  find(tradeId: string, filledMs: number): Promise<UserTrade | null> {
    return new Promise((resolve, reject) => {
      this.#waiting.set(tradeId, { filledMs, found: resolve, looks: 0 });
      if (this.#isLooking) return;
      this.#isLooking = true;
      this.#lookAll().then(() => {
        this.#isLooking = false;
      }, reject);
    });
  }

  /** POLYLOOKS-1. */
  async #lookAll(): Promise<void> {
    while (this.#waiting.size > 0) {
      await this.#look(new Map(this.#waiting)).catch(() => {
        // The exchange does not answer: that was one of the looks.
      });
      if (this.#waiting.size > 0) await sleep(this.#everyMs, undefined, { ref: false });
    }
  }

  /** @param wanted those that waited when the look began. */
  async #look(wanted: Map<string, Waiting>): Promise<void> {
    const oldestMs = Math.min(...[...wanted.values()].map(({ filledMs }) => filledMs));
    try {
      let cursor: string | null = null;
      for (let page = 0; page < MOST_PAGES && wanted.size > 0; page++) {
        const { trades, next_cursor }: Awaited<ReturnType<ExchangeClient['userTrades']>> =
          await this.#client.userTrades({
            limit: PAGE,
            ...(cursor === null ? {} : { cursor }),
          });
        for (const trade of trades) {
          wanted.delete(trade.id);
          this.#end(trade.id, trade);
        }
        const last = trades.at(-1);
        if (next_cursor === null || last === undefined || Date.parse(last.matched_at) < oldestMs) break;
        cursor = next_cursor;
      }
    } finally {
      for (const [id, waiting] of wanted) if (++waiting.looks >= LOOKS) this.#end(id, null);
    }
  }

  #end(tradeId: string, trade: UserTrade | null): void {
    this.#waiting.get(tradeId)?.found(trade);
    this.#waiting.delete(tradeId);
  }
}
