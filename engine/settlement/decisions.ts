/**
 * Decisions of markets, which a key of their own sends: the key of batches, which settles what it likes of signed
 * orders, decides nothing.
 *
 * Invariants:
 *   DECISIONS-1  A decision is sent once all older trades, splits, merges and late moves of its market are in a block:
 *                two keys have no common order.
 *   DECISIONS-2  Claims of a market wait until its decision is in a block, and no other work waits with them.
 */
import { prepared } from '../../shared/base/prepared.ts';
import type { StoreDatabase } from '../../shared/records/recordedDatabase.ts';
import { IS_MARKET_THERE, KIND, OF_TOKENS, type Work } from './work.ts';

/** From then on its tokens are claimed where they are, so those that have to go elsewhere go before. */
const BEFORE_A_DECISION = `${OF_TOKENS},${KIND.LATE_MOVE}`;
const MOST_LOOKED_AT = 16;

/** DECISIONS-1. Those that may be sent at this block, the oldest first. */
export function dueDecisions(db: StoreDatabase, block: number, exchange: number): Work[] {
  const sql = `SELECT * FROM work WHERE status = 'pending' AND not_before <= ? AND exchange <= ?
                 AND kind = ${KIND.RESOLUTION} AND ${IS_MARKET_THERE} AND NOT EXISTS (SELECT 1 FROM work AS older
                   WHERE older.market = work.market AND older.id < work.id AND older.kind IN (${BEFORE_A_DECISION})
                     AND older.status <> 'settled' AND older.status <> 'mined' AND older.unwound_ms IS NULL)
               ORDER BY id LIMIT ?`;
  return prepared(db, sql).all(block, exchange, MOST_LOOKED_AT) as Work[];
}
