/**
 * The state with which the history of a shard begins in read.db when its journal does not have the first records any
 * more: the state of a snapshot, in the form of the events with which a shard describes itself. Positions, open orders
 * and markets are known from then on, but not their earlier history (RULES.md 10.17). Owner: the projector thread. It
 * loads this file, and with it the engine, only if a journal was trimmed.
 */
import { unreachable } from '../../shared/base/assert.ts';
import { ANY_EVENT, EVENT, typeOf } from '../../shared/wire/events.ts';
import { JournalError, type JournalHead } from '../journal/row.ts';
import type { ShardKey } from '../journal/shardKey.ts';
import { oldestState, type Replica } from '../snapshot/replica.ts';
import type { MarketProjection } from './markets.ts';
import type { OrderProjection, RecordContext } from './orders.ts';
import type { Stats } from './stats.ts';

type Projections = { readonly markets: MarketProjection; readonly orders: OrderProjection; readonly stats: Stats };

export type OpeningState = {
  /** The record whose state this is. */
  readonly head: JournalHead;
  readonly timeMs: number;
  /** The number of the shard's last trade. */
  readonly lastTrade: number;
  /** Called in a transaction, with the record of that head. */
  apply(projections: Projections, record: RecordContext): void;
};

export type ReadOpeningState = typeof readOpeningState;

/**
 * The oldest state that the journal continues: it keeps the most history.
 * @param directory of the snapshots.
 * @param first the first record that the journal still has.
 */
export function readOpeningState(directory: string, shard: number, key: ShardKey, first: number): OpeningState {
  const replica = oldestState({ directory, shard, key }, first);
  if (replica === null) {
    throw new JournalError(
      `the journal of shard ${shard} was trimmed and starts at ${first}, and no snapshot can be used: ` +
        'put a backup of read.db in its place',
    );
  }
  return describe(replica);
}

/** The state of a replica, for which its journal goes on at `head`. */
export function describe({ engine, head }: Replica): OpeningState {
  const apply = (projections: Projections, record: RecordContext): void => {
    engine.describe(() => {
      applyEvents(engine.out.words, engine.out.lengthBytes >>> 2, projections, record);
      engine.out.clear();
    });
  };
  return { head, timeMs: engine.nowMs, lastTrade: engine.state.matcher.tradeSequence, apply };
}

function applyEvents(words: Uint32Array, end: number, projections: Projections, record: RecordContext): void {
  const { markets, orders, stats } = projections;
  for (let word = 0; word < end; word += words[word] >>> 2) {
    switch (typeOf(words[word + ANY_EVENT.type])) {
      case EVENT.MARKET.TYPE:
        markets.apply(words, word, 0);
        stats.market(words, word, record);
        break;
      case EVENT.LAST_FILL.TYPE:
        stats.lastFill(words, word);
        break;
      case EVENT.ACCOUNT.TYPE:
        stats.opens(words, word, record);
        break;
      case EVENT.ORDER_STATE.TYPE: {
        const order = orders.place(words, word, markets.ticksPerUnit(words[word + ANY_EVENT.market]), record);
        const next = word + (words[word] >>> 2);
        const isTagged = next < end && typeOf(words[next + ANY_EVENT.type]) === EVENT.ORDER_TAG.TYPE;
        if (isTagged) orders.tag(order, words, next);
        break;
      }
      case EVENT.ORDER.TYPE:
      case EVENT.FILL.TYPE:
      case EVENT.CLOSED.TYPE:
        unreachable('opening state: a description has no event of a change');
      // An ORDER_TAG is read with its order. The sums of all funds, order groups and contracts are not in read.db.
    }
  }
}
