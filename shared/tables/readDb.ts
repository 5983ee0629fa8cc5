/**
 * read.db: the contents of the journals, arranged for queries. The projector alone writes it and can rebuild it from
 * the journals at any time, so it has no migrations: a change of the schema needs a new READ_DB_VERSION, which causes a
 * rebuild.
 *
 * Ids are the 16 bytes of a time-ordered UUID: comparing them compares times, so the primary keys of orders and trades
 * are also their order in time. Enumerations are the numbers of shared/base/codes.ts. Lots, ticks, *_micro and *_atomic
 * are the engine's integers, *_ms are Unix milliseconds.
 */
import { CURSORS } from './cursors.ts';
import { MARKETS } from './markets.ts';
import { ORDER_HASH_TAIL, ORDER_HASHES } from './orderHashes.ts';
import { ORDER_KEYS } from './orderKeys.ts';
import { ORDERS } from './orders.ts';
import { PRIVATE_TAIL, PRIVATE_TAIL_STARTS } from './privateTail.ts';
import type { Table } from './table.ts';
import { TRADES } from './trades.ts';

/** A new number for every change of the schema, or of what the projector writes into it. */
export const READ_DB_VERSION = 7;

/** A table follows those it references. */
const TABLES: readonly Table[] = [
  CURSORS,
  MARKETS,
  ORDERS,
  ORDER_HASHES,
  ORDER_HASH_TAIL,
  TRADES,
  PRIVATE_TAIL,
  PRIVATE_TAIL_STARTS,
  ORDER_KEYS,
];

export const READ_DB_SCHEMA = TABLES.map(({ schema }) => schema).join('\n');
