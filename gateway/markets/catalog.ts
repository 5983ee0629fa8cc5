/**
 * The catalogue of markets and events: descriptions, trading times, the tokens of outcomes. In memory for the request
 * path, written through to control.db. The engine owns a market's present status, fee and times; the catalogue has only
 * those with which the market was opened. Owner: the gateway thread.
 *
 * Invariants:
 *   CATALOG-1  Market indexes are dense from 0; an index that a shard has seen is never reused, because journals name
 *              markets by it.
 *   CATALOG-2  A token id belongs to one outcome of one market.
 *   CATALOG-3  created_at strictly increases from one market to the next: the order of indexes is the order of
 *              creation.
 *   CATALOG-4  Memory equals control.db: a change whose row cannot be written changes nothing here. A change survives a
 *              power cut once `durable` has resolved; no message that depends on it is sent before.
 */
import { randomUUID } from 'node:crypto';
import { assert } from '../../shared/base/assert.ts';
import { shardOfMarket } from '../../shared/base/sharding.ts';
import type { TakenRows } from '../../shared/records/changedRows.ts';
import type { ControlDatabase } from '../base/database.ts';
import { type Changes, SYNCED_AT_ONCE } from '../base/laterSync.ts';
import type { EventDetails, EventEntry, MarketDetails, MarketEntry, NewMarket } from './catalogEntries.ts';
import { CatalogRevisions } from './catalogRevisionsStore.ts';
import {
  type EventRow,
  fromEventRow,
  fromMarketRow,
  type MarketRow,
  type Revised,
  toEventRow,
  toMarketRow,
} from './catalogRowsStore.ts';
import { DeploymentRows } from './deployments.ts';
import { LEDGER_TOKENS, type TokenSource, toIdBytes } from './marketTokensStore.ts';
import { SeriesIndex } from './seriesIndexStore.ts';

export type { EventDetails, EventEntry, MarketDetails, MarketEntry, NewMarket };

type MarketChange = Pick<MarketEntry, 'eventId' | 'details' | 'deployment' | 'updatedMs'>;

export class Catalog {
  /** By market index (CATALOG-1), which is also the order of creation (CATALOG-3). */
  readonly markets: readonly MarketEntry[];
  /** In the order of creation. */
  readonly events: readonly EventEntry[];
  readonly revisions: CatalogRevisions;
  readonly tokens: TokenSource;
  readonly #database: ControlDatabase;
  readonly #shards: number;
  readonly #changes: Changes;
  readonly #markets: MarketEntry[] = [];
  readonly #events: EventEntry[] = [];
  readonly #marketById = new Map<string, MarketEntry>();
  readonly #marketByToken = new Map<string, MarketEntry>();
  readonly #series = new SeriesIndex();
  readonly #eventById = new Map<string, EventEntry>();
  readonly #eventBySlug = new Map<string, EventEntry>();
  readonly #deployments: DeploymentRows;
  readonly #insertMarket;
  readonly #updateMarket;
  readonly #deleteMarket;
  readonly #insertEvent;
  readonly #updateEvent;
  readonly #selectMarket;
  readonly #selectEvent;

  constructor(database: ControlDatabase, shards: number, changes: Changes = SYNCED_AT_ONCE, tokens = LEDGER_TOKENS) {
    this.tokens = tokens;
    this.markets = this.#markets;
    this.events = this.#events;
    this.#database = database;
    this.#shards = shards;
    this.#changes = changes;
    this.revisions = new CatalogRevisions(database);
    this.#deployments = new DeploymentRows(database);
    this.#insertMarket = database.prepare<MarketRow & Revised>(
      `INSERT INTO markets VALUES ($market_index, $id, $event_id, $ticks_per_unit, $min_order_atomic, $yes_token_id,
         $no_token_id, $status, $fee_bps, $start_ms, $end_ms, $details, $created_ms, $updated_ms, $revision)`,
    );
    this.#updateMarket = database.prepare<[string | null, string, number, number, number]>(
      'UPDATE markets SET event_id = ?, details = ?, updated_ms = ?, revision = ? WHERE market_index = ?',
    );
    this.#deleteMarket = database.prepare<[number]>('DELETE FROM markets WHERE market_index = ?');
    this.#insertEvent = database.prepare<EventRow & Revised>(
      'INSERT INTO events VALUES ($event_index, $id, $slug, $details, $created_ms, $updated_ms, $revision)',
    );
    this.#updateEvent = database.prepare<[string, number, number, number]>(
      'UPDATE events SET details = ?, updated_ms = ?, revision = ? WHERE event_index = ?',
    );
    this.#selectMarket = database.prepare<[number], MarketRow>('SELECT * FROM markets WHERE market_index = ?');
    this.#selectEvent = database.prepare<[number], EventRow>('SELECT * FROM events WHERE event_index = ?');
    this.#load();
  }

  /** Reads these events and markets again; each keeps its object. */
  reload(changed: TakenRows): void {
    for (const index of changed.numbersOf('events')) this.#reloadEvent(this.#selectEvent.get(index)!);
    const markets = new Set([...changed.numbersOf('markets'), ...changed.numbersOf('deployments')]);
    for (const index of [...markets].sort((a, b) => a - b)) this.#reloadMarket(index, this.#selectMarket.get(index));
    this.revisions.publish();
  }

  /** Ids are stored in lower case; the same id in upper case is accepted. */
  byId(id: string): MarketEntry | undefined {
    return this.#marketById.get(id) ?? this.#marketById.get(id.toLowerCase());
  }

  byIndex(index: number): MarketEntry {
    const market = this.#markets[index];
    assert(market !== undefined, 'CATALOG-1: a market index belongs to a market');
    return market;
  }

  /** The market of which this token is an outcome. */
  byToken(tokenId: string): MarketEntry | undefined {
    return this.#marketByToken.get(tokenId);
  }

  /** In the order of creation. */
  inSeries(series: string): readonly MarketEntry[] {
    return this.#series.markets(series);
  }

  /** Upper case is accepted, as for a market's id. */
  eventById(id: string): EventEntry | undefined {
    return this.#eventById.get(id) ?? this.#eventById.get(id.toLowerCase());
  }

  eventBySlug(slug: string): EventEntry | undefined {
    return this.#eventBySlug.get(slug);
  }

  /** The shard of a market: all markets of an event set lie where its id says (RULES.md 19.1). */
  shardOf(id: string, eventId: string | null): number {
    return this.#shardIn(id, eventId === null ? undefined : this.#eventById.get(eventId));
  }

  #shardIn(id: string, event: EventEntry | undefined): number {
    return shardOfMarket(toIdBytes(event?.details.winners === 1 ? event.id : id), this.#shards);
  }

  /** CATALOG-4. Resolves when every change so far survives a power cut. */
  durable(): Promise<void> {
    return this.#changes.durable();
  }

  /** The shard opens the market once this is durable. The caller has checked that the tokens are free. */
  createMarket(fields: NewMarket, nowMs: number): MarketEntry {
    return this.createMarkets([fields], nowMs)[0];
  }

  /** Like `createMarket` for several, in one transaction: all are created or none. */
  createMarkets(fields: readonly NewMarket[], nowMs: number): MarketEntry[] {
    return this.#create(null, this.#newMarkets(fields, nowMs));
  }

  /**
   * An event with its markets, in one transaction: a process that ends leaves all of them or none (RULES.md 19.1). The
   * caller has checked that the slug is free.
   */
  createSet(slug: string, details: EventDetails, fields: readonly NewMarket[], nowMs: number, id: string): EventEntry {
    const event = this.#newEvent(slug, { ...details, winners: 1 }, nowMs, id);
    const markets = this.#newMarkets(fields, nowMs);
    this.#create(
      event,
      markets.map((each) => ({ ...each, eventId: id, shard: this.#shardIn(each.id, event) })),
    );
    return event;
  }

  #newMarkets(fields: readonly NewMarket[], nowMs: number): MarketEntry[] {
    let createdMs = this.#markets.at(-1)?.createdMs ?? 0;
    return fields.map((each, offset) => {
      createdMs = Math.max(nowMs, createdMs + 1);
      return this.#toEntry(each, this.#markets.length + offset, createdMs);
    });
  }

  #create(event: EventEntry | null, markets: MarketEntry[]): MarketEntry[] {
    const rows = markets.map(toMarketRow);
    this.#write(() => {
      if (event !== null) this.#insertEvent.run({ ...toEventRow(event), revision: this.revisions.next() });
      for (const row of rows) this.#insertMarket.run({ ...row, revision: this.revisions.next() });
    });
    if (event !== null) this.#addEvent(event);
    for (const market of markets) this.#addMarket(market);
    this.revisions.publish();
    return markets;
  }

  #toEntry(fields: NewMarket, index: number, createdMs: number): MarketEntry {
    const id = fields.id ?? randomUUID();
    const idBytes = toIdBytes(id);
    const [yesTokenId, noTokenId] = fields.tokenIds ?? this.tokens.idsOf(idBytes);
    return {
      index,
      id,
      idBytes,
      shard: this.shardOf(id, fields.eventId),
      ticksPerUnit: fields.ticksPerUnit,
      minOrderAtomic: fields.minOrderAtomic,
      yesTokenId,
      noTokenId,
      opening: fields.opening,
      createdMs,
      eventId: fields.eventId,
      details: fields.details,
      deployment: null,
      updatedMs: createdMs,
    };
  }

  #fromRow(row: MarketRow): MarketEntry {
    return fromMarketRow(row, this.shardOf(row.id, row.event_id));
  }

  /** Removes the newest market, which no shard has opened. */
  removeNewest(market: MarketEntry): void {
    assert(market === this.#markets.at(-1), 'CATALOG-1: only the newest market leaves no hole');
    this.#write(() => {
      this.revisions.next();
      this.#deleteMarket.run(market.index);
    });
    this.#dropNewest(market);
    this.revisions.publish();
  }

  #dropNewest(market: MarketEntry): void {
    this.#markets.pop();
    this.#marketById.delete(market.id);
    this.#marketByToken.delete(market.yesTokenId);
    this.#marketByToken.delete(market.noTokenId);
    this.#leaveEvent(market);
    this.#series.leave(market);
  }

  updateMarket(
    market: MarketEntry,
    eventId: string | null,
    details: MarketDetails,
    nowMs: number,
    deployment = market.deployment,
  ): void {
    const updatedMs = Math.max(nowMs, market.updatedMs + 1);
    const row = JSON.stringify(details);
    this.#write(() => {
      this.#updateMarket.run(eventId, row, updatedMs, this.revisions.next(), market.index);
      if (deployment !== market.deployment) this.#deployments.set(market.index, deployment);
    });
    this.#change(market, { eventId, details, deployment, updatedMs });
    this.revisions.publish();
  }

  #change(market: MarketEntry, { eventId, details, deployment, updatedMs }: MarketChange): void {
    market.deployment = deployment;
    if (eventId !== market.eventId) {
      this.#leaveEvent(market);
      market.eventId = eventId;
      this.#joinEvent(market);
    }
    const isOtherSeries = details.series_ticker !== market.details.series_ticker;
    if (isOtherSeries) this.#series.leave(market);
    market.details = details;
    if (isOtherSeries) this.#series.join(market);
    market.updatedMs = updatedMs;
  }

  /** The caller has checked that the slug is free, and so is the id, if one is given. */
  createEvent(slug: string, details: EventDetails, nowMs: number, id: string = randomUUID()): EventEntry {
    const event = this.#newEvent(slug, details, nowMs, id);
    this.#create(event, []);
    return event;
  }

  #newEvent(slug: string, details: EventDetails, createdMs: number, id: string): EventEntry {
    return { index: this.#events.length, id, slug, createdMs, markets: [], details, updatedMs: createdMs };
  }

  updateEvent(event: EventEntry, details: EventDetails, nowMs: number): void {
    const updatedMs = Math.max(nowMs, event.updatedMs + 1);
    const row = JSON.stringify(details);
    this.#write(() => this.#updateEvent.run(row, updatedMs, this.revisions.next(), event.index));
    event.details = details;
    event.updatedMs = updatedMs;
    this.revisions.publish();
  }

  /** CATALOG-4. */
  #write(change: () => void): void {
    this.#changes.write(this.#database.transaction(change));
  }

  #load(): void {
    const events = this.#database.prepare<[], EventRow>('SELECT * FROM events ORDER BY event_index').all();
    for (const row of events) this.#addEvent(fromEventRow(row));
    const markets = this.#database.prepare<[], MarketRow>('SELECT * FROM markets ORDER BY market_index').all();
    for (const row of markets) this.#addMarket(this.#fromRow(row));
    for (const { market_index, status, retries } of this.#deployments.all()) {
      this.#markets[market_index].deployment = { status, retries };
    }
  }

  #reloadEvent(row: EventRow): void {
    const read = fromEventRow(row);
    const event = this.#eventById.get(row.id);
    if (event === undefined) this.#addEvent(read);
    else {
      event.details = read.details;
      event.updatedMs = read.updatedMs;
    }
  }

  /** Several of the newest markets may be gone at once: they are then removed together with the first of them. */
  #reloadMarket(index: number, row: MarketRow | undefined): void {
    if (row === undefined) {
      while (this.#markets.length > index) this.#dropNewest(this.#markets.at(-1)!);
      return;
    }
    const read = { ...this.#fromRow(row), deployment: this.#deployments.of(index) };
    const market = this.#marketById.get(row.id);
    if (market !== undefined) this.#change(market, read);
    else {
      // This is a different market from the one that was here before it was removed.
      while (this.#markets.length > index) this.#dropNewest(this.#markets.at(-1)!);
      this.#addMarket(read);
    }
  }

  #addMarket(market: MarketEntry): void {
    assert(market.index === this.#markets.length, 'CATALOG-1: market indexes are dense');
    assert(
      market.createdMs > (this.#markets.at(-1)?.createdMs ?? 0),
      'CATALOG-3: markets are in the order of creation',
    );
    this.#markets.push(market);
    this.#marketById.set(market.id, market);
    for (const token of [market.yesTokenId, market.noTokenId]) {
      assert(!this.#marketByToken.has(token), 'CATALOG-2: a token id belongs to one outcome');
      this.#marketByToken.set(token, market);
    }
    this.#joinEvent(market);
    this.#series.join(market);
  }

  #addEvent(event: EventEntry): void {
    this.#events.push(event);
    this.#eventById.set(event.id, event);
    this.#eventBySlug.set(event.slug, event);
  }

  #joinEvent(market: MarketEntry): void {
    if (market.eventId === null) return;
    const event = this.#eventById.get(market.eventId);
    assert(event !== undefined, 'catalog: a market belongs to an event that exists');
    const last = event.markets.at(-1);
    event.markets.push(market);
    if (last !== undefined && last.index > market.index) event.markets.sort((a, b) => a.index - b.index);
  }

  #leaveEvent(market: MarketEntry): void {
    if (market.eventId === null) return;
    const siblings = this.#eventById.get(market.eventId)!.markets;
    siblings.splice(siblings.indexOf(market), 1);
  }
}
