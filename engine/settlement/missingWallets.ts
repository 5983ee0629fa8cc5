/**
 * Movements of accounts whose wallet settlement does not know: they wait, the gateway is asked for the wallets, and
 * their number is reported. An account without a wallet gets one from its owner or from an administrator.
 */

import { FEE_ACCOUNT } from '../../shared/base/codes.ts';
import { preparedValue } from '../../shared/base/prepared.ts';
import type { StoreDatabase } from '../../shared/records/recordedDatabase.ts';
import type { News } from './news.ts';
import { KIND } from './work.ts';

const AGAIN_AFTER_MS = 30_000;
const MOST_ASKED = 20;
/** The most pending work that one round checks, oldest first. */
const MOST_LOOKED_AT = 1000;

type MissingWalletsOptions = {
  readonly db: StoreDatabase;
  readonly news: News;
  readonly nowMs: () => number;
};

export class MissingWallets {
  /** The number of movements that waited in the last round. */
  count = 0;
  readonly #options: MissingWalletsOptions;
  /** By account: the time at which the gateway was asked. */
  readonly #askedMs = new Map<number, number>();

  constructor(options: MissingWalletsOptions) {
    this.#options = options;
  }

  step(): void {
    const { db, news, nowMs } = this.#options;
    const waiting = this.#waiting();
    this.count = waiting.length;
    const now = nowMs();
    const due = [...new Set(waiting)].filter((account) => now - (this.#askedMs.get(account) ?? 0) >= AGAIN_AFTER_MS);
    for (const account of this.#askedMs.keys()) if (!waiting.includes(account)) this.#askedMs.delete(account);
    if (due.length === 0) return;
    db.transaction(() => {
      for (const account of due.slice(0, MOST_ASKED)) {
        this.#askedMs.set(account, now);
        news.add('walletMissing', { account });
      }
    })();
  }

  #waiting(): number[] {
    const sql = `
      SELECT oldest.account FROM (
        SELECT account, kind FROM work WHERE status = 'pending' ORDER BY id LIMIT ${MOST_LOOKED_AT}) AS oldest
      LEFT JOIN escrows USING (account)
      WHERE escrows.address IS NULL AND kind NOT IN (${KIND.TRADE}, ${KIND.RESOLUTION})
        AND oldest.account <> ${FEE_ACCOUNT}`;
    return preparedValue<[], number>(this.#options.db, sql).all();
  }
}
