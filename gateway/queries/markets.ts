/** The SQL of the market queries. Runs in a thread of the query pool. */
import type Database from 'better-sqlite3';
import type { MarketVolume } from '../control/volumes.ts';

type Row = { readonly market: bigint; readonly volume_micro: bigint };

export class MarketQueries {
  readonly #volumes: Database.Statement<[], Row>;

  constructor(db: Database.Database) {
    this.#volumes = db.prepare<[], Row>('SELECT market, volume_micro FROM markets').safeIntegers();
  }

  volumes(): MarketVolume[] {
    return this.#volumes.all().map((row) => ({ market: Number(row.market), volumeMicro: row.volume_micro }));
  }
}
