/**
 * The markets of the catalogue, for lists: one row each, from control.db, with the journals' facts about the market
 * once its shard has opened it. Lists show only rows with a facet.
 *
 * A facet is one number by which most lists filter: the status of the market and of its deployment. For each wanted
 * facet a list scans one range of an index (gateway/markets/catalogListsQueries.ts), so every sort order has an index
 * by facet, and one by category and facet. The order of creation is that of the primary key.
 */
import { DEPLOY_STATUS_NAMES, MARKET_STATUS_NAMES } from '../base/codes.ts';
import { BLOB, column, INTEGER, INTEGER_KEY, NULLABLE_INTEGER, NULLABLE_TEXT, searchTable, table } from './table.ts';

/** The columns by which markets are sorted, besides creation. Each has two indexes. */
const SORTED_COLUMNS = ['updated_ms', 'title', 'start_ms', 'end_ms', 'status', 'volume_micro'] as const;

/** A row enters the indexes when it is listed. */
const LISTED = 'WHERE facet IS NOT NULL';

export const CATALOG_MARKETS = table(
  'catalog_markets',
  {
    market: INTEGER_KEY,
    uuid: BLOB,
    /** Index of its event. */
    event: NULLABLE_INTEGER,
    title: column<string>('TEXT NOT NULL'),
    /** The names of its outcomes, one a line, without Yes and No, which every search would find. */
    outcomes: column<string>(`TEXT NOT NULL DEFAULT ''`),
    category: column<string>('TEXT NOT NULL'),
    /** Index in DEPLOY_STATUS_NAMES. */
    deploy_status: INTEGER,
    updated_ms: INTEGER,
    /** This and the following columns are null until the shard of the market has opened it. */
    facet: NULLABLE_INTEGER,
    /** One of MARKET_STATUS_NAMES: lists sort by the name. */
    status: NULLABLE_TEXT,
    start_ms: NULLABLE_INTEGER,
    end_ms: NULLABLE_INTEGER,
    volume_micro: column<bigint | null>('INTEGER'),
  },
  {
    indexes: [
      `INDEX catalog_markets_created ON catalog_markets (facet) ${LISTED}`,
      `INDEX catalog_markets_category_created ON catalog_markets (category, facet) ${LISTED}`,
      ...SORTED_COLUMNS.flatMap((name) => [
        `INDEX catalog_markets_${name} ON catalog_markets (facet, ${name}, uuid) ${LISTED}`,
        `INDEX catalog_markets_category_${name} ON catalog_markets (category, facet, ${name}, uuid) ${LISTED}`,
      ]),
      'INDEX catalog_markets_event ON catalog_markets (event, status) WHERE event IS NOT NULL',
    ],
  },
);

/** The number of listed markets of each facet: by category, and over all categories under ALL_CATEGORIES. */
export const MARKET_COUNTS = table(
  'market_counts',
  {
    category: column<string>('TEXT NOT NULL'),
    facet: INTEGER,
    markets: column<number>('INTEGER NOT NULL CHECK (markets >= 0)'),
  },
  { primaryKey: 'category, facet', withoutRowid: true },
);

/** Not a category, because a category's name has at least one character. */
export const ALL_CATEGORIES = '';

/** The words of titles and descriptions, by market; the names of its outcomes count to the title. */
export const MARKET_SEARCH = searchTable('market_search', ['title', 'description']);

/** The last change of the catalogue that is in these tables and in those of catalogEvents.ts. */
export const CATALOG_CURSOR = table('catalog_cursor', { id: INTEGER_KEY, revision: INTEGER });

const DEPLOY_BITS = 3;

/** `facet = status * 2^DEPLOY_BITS + deploy_status`, in SQL and here. */
export const FACET_SQL = (status: string, deployStatus: string): string =>
  `(${status} << ${DEPLOY_BITS}) | ${deployStatus}`;

export function statusOfFacet(facet: number): (typeof MARKET_STATUS_NAMES)[number] {
  return MARKET_STATUS_NAMES[facet >> DEPLOY_BITS];
}

export function deployStatusOfFacet(facet: number): (typeof DEPLOY_STATUS_NAMES)[number] {
  return DEPLOY_STATUS_NAMES[facet & (2 ** DEPLOY_BITS - 1)];
}
