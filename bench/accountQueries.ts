/**
 * The queries of an account over the read.db of accountHistory.ts. Each query names its large account; a page of that
 * account has as many rows as a page of a small account, so that two durations can be compared. A query that reads a
 * whole history grows with the account: it has a duration, which is compared with none.
 */
import type Database from 'better-sqlite3';
import { AchievementQueries } from '../gateway/account/achievementQueries.ts';
import { type ActivityFilters, ActivityQueries } from '../gateway/account/activityQueries.ts';
import { FundMovementQueries } from '../gateway/account/fundMovementQueries.ts';
import { NotificationQueries } from '../gateway/account/notificationQueries.ts';
import { type OrderFilters, OrderLists } from '../gateway/account/orderListsQueries.ts';
import { PortfolioQueries } from '../gateway/account/portfolioQueries.ts';
import { positionMask } from '../gateway/account/positionIds.ts';
import { FIRST_POSITION, type PositionKey, PositionQueries } from '../gateway/account/positionQueries.ts';
import { RebateQueries } from '../gateway/account/rebateQueries.ts';
import { ReferralQueries } from '../gateway/account/referralQueries.ts';
import { StatementQueries } from '../gateway/account/statementQueries.ts';
import { StatementStartQueries } from '../gateway/account/statementStartQueries.ts';
import { type TradeFilters, TradeQueries } from '../gateway/account/tradeQueries.ts';
import { FILLS_EVER, firstIdAfter, type Position, SINCE_EVER } from '../gateway/base/page.ts';
import { ORDER_STATUS, OUTCOME, SIDE } from '../shared/base/codes.ts';
import { ID_KIND, timeOrderedIdBytes } from '../shared/base/ids.ts';
import { HOUR_MS } from '../shared/tables/buckets.ts';
import { type AccountHistory, END_MS, LARGE, marketUuid, SPAN_MS, START_MS, WIDE } from './accountHistory.ts';

/**
 *   page      has at most as many rows as requested
 *   filtered  is a page of a list filtered by a condition that no index has before the time
 *   whole     has all rows of the account
 */
export type AccountQuery = {
  readonly name: string;
  readonly kind: 'page' | 'filtered' | 'whole';
  readonly large: number;
  /** Returns the number of rows that it has read. */
  readonly ask: (account: number, limit: number) => number;
};
type Ask = AccountQuery['ask'];

const ANY = 0xff;
const MIDDLE_MS = START_MS + SPAN_MS / 2;
const MIDDLE: Position = { atMs: MIDDLE_MS, rank: 1, id: timeOrderedIdBytes(MIDDLE_MS, 0, ID_KIND.TRADE, 0) };
/** The market of list filters: the large account has a hundredth of its trades there. */
const MARKET = 7;
/** The page size of a statement (gateway/account/statementReader.ts). */
const PAGE_ROWS = 512;
const MOST_UNREAD = 1000;
const REBATE_BPS = 2000;

export function accountQueries(db: Database.Database, history: AccountHistory): AccountQuery[] {
  return [
    ...orderQueries(db),
    ...tradeQueries(db),
    ...positionQueries(db, history),
    ...notificationQueries(db, history),
    ...fundQueries(db),
    ...rewardQueries(db, history),
  ];
}

const page = (name: string, ask: Ask, large = LARGE): AccountQuery => ({ name, kind: 'page', large, ask });
const filtered = (name: string, ask: Ask): AccountQuery => ({ name, kind: 'filtered', large: LARGE, ask });
const whole = (name: string, ask: Ask, large = LARGE): AccountQuery => ({ name, kind: 'whole', large, ask });

function orderQueries(db: Database.Database): AccountQuery[] {
  const lists = new OrderLists(db);
  const every = { statuses: ANY, sides: ANY, outcomes: ANY, sinceMs: SINCE_EVER, sort: 'updated_at' } as const;
  const list =
    (filters: Partial<OrderFilters>): Ask =>
    (account, limit) =>
      lists.list(account, { ...every, offset: 0, after: null, ...filters, limit }).rows.length;
  const ofStatus = (status: number): Ask => list({ statuses: 1 << status });
  return [
    page('orders', list({})),
    page('orders, deep cursor', list({ after: MIDDLE })),
    page('orders by creation', list({ sort: 'created_at' })),
    page('orders by creation, deep cursor', list({ sort: 'created_at', after: MIDDLE })),
    page('open orders', list({ statuses: (1 << ORDER_STATUS.OPEN) | (1 << ORDER_STATUS.PARTIALLY_FILLED) })),
    page('filled orders', ofStatus(ORDER_STATUS.FILLED)),
    page('filled orders by creation', list({ statuses: 1 << ORDER_STATUS.FILLED, sort: 'created_at' })),
    page('filled orders, deep cursor', list({ statuses: 1 << ORDER_STATUS.FILLED, after: MIDDLE })),
    page('cancelled orders', ofStatus(ORDER_STATUS.CANCELLED)),
    page('expired orders', ofStatus(ORDER_STATUS.EXPIRED)),
    page('orders since a time', list({ sinceMs: MIDDLE_MS })),
    page('orders of an outcome', list({ outcomes: 1 << OUTCOME.NO })),
    filtered('orders of a side, an eighth', list({ sides: 1 << SIDE.SELL })),
    page('first version of orders', (account, limit) => lists.newest(account, limit).length),
  ];
}

function tradeQueries(db: Database.Database): AccountQuery[] {
  const [trades, activity] = [new TradeQueries(db), new ActivityQueries(db)];
  const everyTrade = { market: null, takerSides: ANY, sinceMicros: FILLS_EVER, offset: 0, after: null } as const;
  const everything = { market: null, type: null, offset: 0, after: null } as const;
  const market = marketUuid(MARKET);
  const list =
    (filters: Partial<TradeFilters>): Ask =>
    (account, limit) =>
      trades.list(account, { ...everyTrade, ...filters, limit }).rows.length;
  const read =
    (filters: Partial<ActivityFilters>): Ask =>
    (account, limit) =>
      activity.list(account, { ...everything, ...filters, limit }).rows.length;
  return [
    page('trades', list({})),
    page('trades, deep cursor', list({ after: MIDDLE })),
    page('trades since a time', list({ sinceMicros: MIDDLE_MS * 1000 })),
    filtered('trades whose taker sells', list({ takerSides: 1 << SIDE.SELL })),
    filtered('trades in a market', list({ market })),
    page(
      'first version of trades',
      (account, limit) => trades.legacyList(account, { ...everyTrade, limit }).rows.length,
    ),
    page('activity', read({})),
    page('activity, deep cursor', read({ after: MIDDLE })),
    page('activity, fills', read({ type: 'fill' })),
    page('activity, orders placed', read({ type: 'placed' })),
    page('activity, orders cancelled', read({ type: 'cancelled' })),
    filtered('activity in a market', read({ market })),
  ];
}

function positionQueries(db: Database.Database, { markets }: AccountHistory): AccountQuery[] {
  const [positions, portfolio] = [new PositionQueries(db), new PortfolioQueries(db)];
  const achievements = new AchievementQueries(db);
  const masks = [OUTCOME.YES, OUTCOME.NO].map((outcome) => positionMask('a user', outcome));
  const marked: ReadonlySet<number> = new Set();
  const slice =
    (after: PositionKey): Ask =>
    (account, limit) =>
      positions.slice({ account, market: null, after, limit, masks, marked }).texts.length;
  const sinceMs = END_MS - 24 * HOUR_MS;
  const gained: Ask = (account) => {
    let [held, after] = [0, null as PositionKey | null];
    do {
      const part = portfolio.slice({ account, sinceMs, after });
      held += part.held.markets.length;
      after = part.next;
    } while (after !== null);
    return held;
  };
  return [
    page('positions', slice(FIRST_POSITION), WIDE),
    page('positions, deep cursor', slice([Math.floor(markets / 2), OUTCOME.YES]), WIDE),
    page('positions of the account with many trades', slice(FIRST_POSITION), LARGE),
    whole('gain of a day, all positions', gained, WIDE),
    whole('facts of achievements', (account) => achievements.facts({ account, nflSinceMs: 0 }).marketsTraded, WIDE),
  ];
}

function notificationQueries(db: Database.Database, { trades }: AccountHistory): AccountQuery[] {
  const notifications = new NotificationQueries(db);
  const everything = { fromMs: END_MS, through: [2 * trades] };
  const after = { createdMs: MIDDLE_MS, id: MIDDLE.id };
  const list = (task: Partial<Parameters<NotificationQueries['page']>[0]>): Ask => {
    return (account, limit) => {
      const { rows } = notifications.page({
        account,
        after: null,
        read: everything,
        mostUnread: MOST_UNREAD,
        ...task,
        limit,
      });
      return rows.length;
    };
  };
  const unread: Ask = (account) =>
    notifications.page({ account, after: null, limit: 0, read: null, mostUnread: MOST_UNREAD }).unread;
  return [
    page('notifications, all read', list({})),
    page('notifications, all read, many positions', list({}), WIDE),
    page('notifications, deep cursor', list({ after })),
    page('notifications, none read', list({ read: null })),
    whole('unread count, none read', unread),
    whole('unread count, none read, many positions', unread, WIDE),
  ];
}

function fundQueries(db: Database.Database): AccountQuery[] {
  const [movements, start] = [new FundMovementQueries(db), new StatementStartQueries(db)];
  const statement = new StatementQueries(db);
  /** The first page of entries from `fromMs` on, from which balances are known. */
  const piece =
    (fromMs: number): Ask =>
    (account, limit) => {
      const { cut, usdcMicro } = cuts.get(account) ?? keep(account);
      const before = firstIdAfter(fromMs - 1);
      const after = { trade: before, movement: before };
      const form = 'json' as const;
      const rows = Math.min(PAGE_ROWS, limit);
      statement.page({ account, cut, after, end: firstIdAfter(END_MS), usdcMicro, form, rows });
      return rows;
    };
  const cuts = new Map<number, ReturnType<StatementStartQueries['start']>>();
  const keep = (account: number) => {
    const started = start.start(account, 0);
    cuts.set(account, started);
    return started;
  };
  const entries: Ask = (account) => {
    const { cut } = start.start(account, 0);
    const end = firstIdAfter(END_MS);
    const first = firstIdAfter(START_MS - 1);
    let [after, usdcMicro, pages] = [{ trade: first, movement: first }, 0, 0];
    for (;;) {
      const part = statement.page({ account, cut, after, end, usdcMicro, form: 'csv', rows: PAGE_ROWS });
      [after, usdcMicro] = [part.after, part.usdcMicro];
      if (part.isLast) return pages * PAGE_ROWS + linesOf(part.parts);
      pages++;
    }
  };
  return [
    page('movements of funds', (account, limit) => movements.list(account, limit, 0).rows.length),
    page('statement, its first entries', piece(START_MS)),
    page('statement, entries in its middle', piece(MIDDLE_MS)),
    whole('statement, balances of its start', (account) => start.start(account, END_MS - HOUR_MS).cut.trades.length),
    whole(
      'statement, balances of its start, many positions',
      (account) => {
        return start.start(account, END_MS - HOUR_MS).tokens.markets.length;
      },
      WIDE,
    ),
    whole('statement, all entries as CSV', entries),
  ];
}

function rewardQueries(db: Database.Database, { markets }: AccountHistory): AccountQuery[] {
  const [rebates, referrals] = [new RebateQueries(db), new ReferralQueries(db)];
  const rates = Array.from({ length: markets }, (_, market) => ({ market, sinceMs: START_MS, bps: REBATE_BPS }));
  const allRebates: Ask = (account) => {
    let [before, count] = [null as Uint8Array | null, 0];
    for (;;) {
      const part = rebates.slice({ account, rates, trades: null, before, skip: 0, take: 20 });
      count += part.count;
      before = part.before;
      if (part.isLast) return count;
    }
  };
  return [
    page('earnings of a referrer', (account, limit) => {
      return referrals.earnings({ accounts: [account], limit, offset: 0 }).rows.length;
    }),
    whole('rebates, all of them', allRebates),
  ];
}

/** The entries of a page of a statement: those with a reference are not in the texts. */
function linesOf(parts: ReturnType<StatementQueries['page']>['parts']): number {
  return parts.reduce((sum, part) => sum + (typeof part === 'string' ? part.split('\r\n').length - 1 : 1), 0);
}
