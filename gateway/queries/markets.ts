/** The SQL of the market queries. Runs in a thread of the query pool. */
import type Database from 'better-sqlite3';
import { MARKETS } from '../../shared/tables/markets.ts';
import { type SelectedBy, select } from '../../shared/tables/table.ts';
import type { MarketVolume } from './volumes.ts';

/** The fields of a market that its orders and trades need. */
export const MARKET = select(MARKETS, 'uuid', 'ticks_per_unit');
const VOLUME = select(MARKETS, 'market', 'volume_micro');
/** As `safeIntegers` reads it. */
type VolumeRow = Record<keyof SelectedBy<typeof VOLUME>, bigint>;

export class MarketQueries {
  readonly #volumes: Database.Statement<[], VolumeRow>;

  constructor(db: Database.Database) {
    this.#volumes = db.prepare<[], VolumeRow>(`SELECT ${VOLUME.sql} FROM markets`).safeIntegers();
  }

  volumes(): MarketVolume[] {
    return this.#volumes.all().map((row) => ({ market: Number(row.market), volumeMicro: row.volume_micro }));
  }
}
