/** The SQL of the market queries. Runs in a thread of the query pool. */
import type Database from 'better-sqlite3';
import { MARKETS } from '../../shared/tables/markets.ts';
import { type SelectedBy, select } from '../../shared/tables/table.ts';
import type { MarketVolumes } from './volumes.ts';

/** The fields of a market that its orders and trades need. */
export const MARKET = select(MARKETS, 'uuid', 'ticks_per_unit');
/** Stands for all markets in place of a market index. */
export const ALL_MARKETS = -1;
const VOLUME = select(MARKETS, 'market', 'volume_micro');
/** The row as `safeIntegers` reads it. */
type VolumeRow = Record<keyof SelectedBy<typeof VOLUME>, bigint>;

export class VolumeQueries {
  readonly #volumes: Database.Statement<[], VolumeRow>;

  constructor(db: Database.Database) {
    this.#volumes = db.prepare<[], VolumeRow>(`SELECT ${VOLUME.sql} FROM markets`).safeIntegers();
  }

  /** In one block of memory, which the gateway thread takes over as it is, however many markets there are. */
  volumes(): MarketVolumes {
    const rows = this.#volumes.all();
    const last = rows.reduce((highest, { market }) => Math.max(highest, Number(market)), -1);
    const byMarket = new BigInt64Array(last + 1);
    let totalMicro = 0n;
    for (const { market, volume_micro } of rows) {
      byMarket[Number(market)] = volume_micro;
      totalMicro += volume_micro;
    }
    return { byMarket, totalMicro };
  }
}

/** A market by which a list is filtered, and when it was opened: none of its orders and trades is older. */
export type MarketFilter = { readonly market: number; readonly opened_ms: number };

const EVERY_MARKET: MarketFilter = { market: ALL_MARKETS, opened_ms: 0 };
const OPENING = select(MARKETS, 'market', 'opened_ms');

/** All markets if there is no UUID; undefined if no market has it. */
export function marketFilter(db: Database.Database): (uuid: Uint8Array | null) => MarketFilter | undefined {
  const find = db.prepare<[Uint8Array], MarketFilter>(`SELECT ${OPENING.sql} FROM markets WHERE uuid = ?`);
  return (uuid) => (uuid === null ? EVERY_MARKET : find.get(uuid));
}
