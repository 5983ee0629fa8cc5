/**
 * read.db: the contents of the journals and of the catalogue, arranged for queries. Only the projector writes it, and
 * can rebuild it from them as far as they go back. A change of the schema needs a new version, which causes a rebuild,
 * and a step for directories whose journals were trimmed (readDbSteps.ts).
 *
 * Ids are the 16 bytes of a time-ordered UUID: comparing them compares times, so the primary keys of orders and trades
 * are also their order in time. Enumerations are the numbers of shared/base/codes.ts. Lots, ticks, *_micro and *_atomic
 * are the engine's integers, *_ms are Unix milliseconds.
 */
import { FILE_LAYOUTS } from '../base/formats.ts';
import { CANDLES } from './candles.ts';
import { CATALOG_EVENTS, EVENT_COUNTS, EVENT_NAMES, EVENT_SEARCH, SPORT_TEAMS } from './catalogEvents.ts';
import { CATALOG_CURSOR, CATALOG_MARKETS, MARKET_COUNTS, MARKET_SEARCH } from './catalogMarkets.ts';
import { CATEGORY_DAYS } from './categoryDays.ts';
import { CURSORS } from './cursors.ts';
import { FUND_MOVEMENTS, TRADE_HEADS } from './fundMovements.ts';
import { HISTORY_STARTS } from './historyStarts.ts';
import { MARKETS } from './markets.ts';
import { ARCHIVE_CURSOR, ARCHIVE_LATE, ARCHIVED_ACCOUNTS, ARCHIVED_FILES } from './orderArchive.ts';
import { ORDER_HASH_TAIL, ORDER_HASHES } from './orderHashes.ts';
import { ORDER_KEYS } from './orderKeys.ts';
import { ORDERS } from './orders.ts';
import { POSITION_HOURS, POSITIONS } from './positions.ts';
import { PRIVATE_TAIL, PRIVATE_TAIL_STARTS } from './privateTail.ts';
import { ACCOUNT_HOURS, ACCOUNT_STATS, TRADER_HOURS } from './statsAccounts.ts';
import { EXCHANGE_HOURS, EXCHANGE_SHARDS, TRADE_MAXIMA } from './statsExchange.ts';
import { MARKET_STATS } from './statsMarkets.ts';
import type { Table } from './table.ts';
import { TRADES } from './trades.ts';

export const READ_DB_VERSION = FILE_LAYOUTS.readDb;

/** A table follows the tables that it references. A full-text index declares no columns. */
export const READ_DB_TABLES: readonly (Pick<Table, 'name' | 'schema'> & Partial<Pick<Table, 'inserted'>>)[] = [
  CURSORS,
  HISTORY_STARTS,
  MARKETS,
  ORDERS,
  ORDER_HASHES,
  ORDER_HASH_TAIL,
  ARCHIVED_FILES,
  ARCHIVED_ACCOUNTS,
  ARCHIVE_LATE,
  ARCHIVE_CURSOR,
  TRADES,
  FUND_MOVEMENTS,
  TRADE_HEADS,
  PRIVATE_TAIL,
  PRIVATE_TAIL_STARTS,
  ORDER_KEYS,
  POSITIONS,
  POSITION_HOURS,
  ACCOUNT_STATS,
  ACCOUNT_HOURS,
  TRADER_HOURS,
  MARKET_STATS,
  CANDLES,
  EXCHANGE_HOURS,
  EXCHANGE_SHARDS,
  TRADE_MAXIMA,
  CATALOG_CURSOR,
  CATALOG_MARKETS,
  CATEGORY_DAYS,
  MARKET_COUNTS,
  MARKET_SEARCH,
  CATALOG_EVENTS,
  EVENT_COUNTS,
  SPORT_TEAMS,
  EVENT_SEARCH,
  EVENT_NAMES,
];

export const READ_DB_SCHEMA = READ_DB_TABLES.map(({ schema }) => schema).join('\n');
