/**
 * The projector's memory of read.db: all projections. It is made again when read.db is.
 * Owner: the projector thread.
 */
import type Database from 'better-sqlite3';
import type { JournalHead } from '../journal/row.ts';
import { CatalogProjection } from './catalog.ts';
import { FundMovementProjection } from './fundMovements.ts';
import { KeyProjection } from './keys.ts';
import { MarketProjection } from './markets.ts';
import { OrderArchive } from './orderArchive.ts';
import { OrderProjection } from './orders.ts';
import type { OnDifference } from './positions.ts';
import { PrivateTail } from './privateTail.ts';
import { Cursors, HistoryStarts } from './readDb.ts';
import { Stats } from './stats.ts';
import { TradeProjection } from './trades.ts';

export class ReadState {
  readonly archive: OrderArchive;
  readonly catalog: CatalogProjection;
  readonly cursors: Cursors;
  readonly fundMovements: FundMovementProjection;
  readonly heads: JournalHead[];
  readonly historyStarts: HistoryStarts;
  readonly keys: KeyProjection;
  readonly markets: MarketProjection;
  readonly orders: OrderProjection;
  readonly trades: TradeProjection;
  readonly stats: Stats;
  readonly privateTail: PrivateTail;

  constructor(db: Database.Database, shards: number, onDifference: OnDifference) {
    this.archive = new OrderArchive(db);
    this.catalog = new CatalogProjection(db);
    this.cursors = new Cursors(db);
    this.heads = Array.from({ length: shards }, (_, shard) => this.cursors.load(shard));
    this.historyStarts = new HistoryStarts(db);
    this.keys = new KeyProjection(db);
    this.markets = new MarketProjection(db);
    this.orders = new OrderProjection(db, shards);
    this.trades = new TradeProjection(db);
    this.fundMovements = new FundMovementProjection(db, shards);
    this.stats = new Stats(db, shards, this.fundMovements, onDifference);
    this.privateTail = new PrivateTail(db);
  }

  /** Called in a transaction: memory and rows agree afterwards. */
  flush(shard: number): void {
    this.orders.flush();
    this.trades.flush();
    this.fundMovements.flush(shard);
    this.stats.flush();
    this.markets.flush((changed, traded) => this.catalog.follow(changed, traded));
    this.privateTail.flush();
    this.keys.flush();
    this.orders.endBatch();
  }
}
