/**
 * The catalogue of markets and events: descriptions, trading times, the tokens of outcomes. In memory for the request
 * path, written through to control.db. The present status, fee and times of a market belong to the engine; the
 * catalogue has only those with which the market was opened.
 * Owner: the gateway thread.
 *
 * Invariants:
 *   CATALOG-1  Market indexes are dense from 0; one that a shard has seen is never used again, because journals
 *              name markets by it.
 *   CATALOG-2  A token id belongs to one outcome of one market.
 *   CATALOG-3  created_at strictly increases from one market to the next: the order of indexes is the order of
 *              creation.
 */
import { randomUUID } from 'node:crypto';
import type { Market, MarketEvent } from '../../shared/api/markets.ts';
import { assert } from '../../shared/base/assert.ts';
import type { MarketStatus } from '../../shared/base/codes.ts';
import { UUID_BYTES, uint256ToDecimal, uuidToBytes } from '../../shared/base/hex.ts';
import { shardOfMarket } from '../../shared/base/sharding.ts';
import { keccak256 } from '../../shared/crypto/keccak.ts';
import type { ControlDatabase } from './database.ts';

/** The description of a market, in the form of a MarketResponse. The exchange only repeats it. */
export type MarketDetails = Pick<
  Market,
  | 'title'
  | 'subtitle'
  | 'description'
  | 'outcomes'
  | 'outcome_probabilities'
  | 'previous_outcome_probabilities'
  | 'category'
  | 'subcategories'
  | 'external_source'
  | 'external_event_id'
  | 'external_market_type'
  | 'series_ticker'
  | 'player_name'
  | 'player_team_abbrev'
  | 'stat_category'
  | 'period'
  | 'line'
  | 'resolution_source'
  | 'settlement_sources'
  | 'open_interest'
  | 'volume_24h'
  | 'contract_address'
  | 'condition_id'
  | 'question_id'
>;

export type EventDetails = Omit<MarketEvent, 'id' | 'slug' | 'market_count' | 'created_at' | 'updated_at'>;

export type MarketEntry = {
  readonly index: number;
  readonly id: string;
  readonly idBytes: Uint8Array;
  readonly shard: number;
  readonly ticksPerUnit: number;
  readonly minOrderAtomic: number;
  readonly yesTokenId: string;
  readonly noTokenId: string;
  readonly opening: MarketOpening;
  readonly createdMs: number;
  eventId: string | null;
  details: MarketDetails;
  updatedMs: number;
};

type MarketOpening = {
  readonly status: MarketStatus;
  readonly feeBps: number;
  readonly startMs: number;
  readonly endMs: number;
};

export type NewMarket = {
  readonly eventId: string | null;
  readonly ticksPerUnit: number;
  readonly minOrderAtomic: number;
  /** Null: derived from the market's id. */
  readonly tokenIds: readonly [yes: string, no: string] | null;
  readonly opening: MarketOpening;
  readonly details: MarketDetails;
};

export type EventEntry = {
  readonly index: number;
  readonly id: string;
  readonly slug: string;
  readonly createdMs: number;
  /** In the order of creation. */
  readonly markets: MarketEntry[];
  details: EventDetails;
  updatedMs: number;
};

type MarketRow = {
  market_index: number;
  id: string;
  event_id: string | null;
  ticks_per_unit: number;
  min_order_atomic: number;
  yes_token_id: string;
  no_token_id: string;
  status: MarketStatus;
  fee_bps: number;
  start_ms: number;
  end_ms: number;
  details: string;
  created_ms: number;
  updated_ms: number;
};

type EventRow = {
  event_index: number;
  id: string;
  slug: string;
  details: string;
  created_ms: number;
  updated_ms: number;
};

export class Catalog {
  /** By market index (CATALOG-1), which is also the order of creation (CATALOG-3). */
  readonly markets: readonly MarketEntry[];
  /** In the order of creation. */
  readonly events: readonly EventEntry[];
  readonly #database: ControlDatabase;
  readonly #shards: number;
  readonly #markets: MarketEntry[] = [];
  readonly #events: EventEntry[] = [];
  readonly #marketById = new Map<string, MarketEntry>();
  readonly #marketByToken = new Map<string, MarketEntry>();
  readonly #eventById = new Map<string, EventEntry>();
  readonly #eventBySlug = new Map<string, EventEntry>();
  readonly #insertMarket;
  readonly #updateMarket;
  readonly #deleteMarket;
  readonly #insertEvent;
  readonly #updateEvent;

  constructor(database: ControlDatabase, shards: number) {
    this.markets = this.#markets;
    this.events = this.#events;
    this.#database = database;
    this.#shards = shards;
    this.#insertMarket = database.prepare<MarketRow>(
      `INSERT INTO markets VALUES ($market_index, $id, $event_id, $ticks_per_unit, $min_order_atomic, $yes_token_id,
         $no_token_id, $status, $fee_bps, $start_ms, $end_ms, $details, $created_ms, $updated_ms)`,
    );
    this.#updateMarket = database.prepare<[string | null, string, number, number]>(
      'UPDATE markets SET event_id = ?, details = ?, updated_ms = ? WHERE market_index = ?',
    );
    this.#deleteMarket = database.prepare<[number]>('DELETE FROM markets WHERE market_index = ?');
    this.#insertEvent = database.prepare<EventRow>(
      'INSERT INTO events VALUES ($event_index, $id, $slug, $details, $created_ms, $updated_ms)',
    );
    this.#updateEvent = database.prepare<[string, number, number]>(
      'UPDATE events SET details = ?, updated_ms = ? WHERE event_index = ?',
    );
    this.#load();
  }

  /** Ids are kept in lower case; in upper case it is the same id. */
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

  eventById(id: string): EventEntry | undefined {
    return this.#eventById.get(id);
  }

  eventBySlug(slug: string): EventEntry | undefined {
    return this.#eventBySlug.get(slug);
  }

  /**
   * Durable when it returns; the shard opens the market afterwards. The caller has checked that the tokens are free.
   */
  createMarket(fields: NewMarket, nowMs: number): MarketEntry {
    const id = randomUUID();
    const idBytes = toIdBytes(id);
    const [yesTokenId, noTokenId] = fields.tokenIds ?? [deriveTokenId(idBytes, 0), deriveTokenId(idBytes, 1)];
    const createdMs = Math.max(nowMs, (this.#markets.at(-1)?.createdMs ?? 0) + 1);
    const market: MarketEntry = {
      index: this.#markets.length,
      id,
      idBytes,
      shard: shardOfMarket(idBytes, this.#shards),
      ticksPerUnit: fields.ticksPerUnit,
      minOrderAtomic: fields.minOrderAtomic,
      yesTokenId,
      noTokenId,
      opening: fields.opening,
      createdMs,
      eventId: fields.eventId,
      details: fields.details,
      updatedMs: createdMs,
    };
    this.#insertMarket.run(toMarketRow(market));
    this.#addMarket(market);
    return market;
  }

  /** Removes the newest market, which no shard has opened. */
  removeNewest(market: MarketEntry): void {
    assert(market === this.#markets.at(-1), 'CATALOG-1: only the newest market leaves no hole');
    this.#deleteMarket.run(market.index);
    this.#markets.pop();
    this.#marketById.delete(market.id);
    this.#marketByToken.delete(market.yesTokenId);
    this.#marketByToken.delete(market.noTokenId);
    this.#leaveEvent(market);
  }

  updateMarket(market: MarketEntry, eventId: string | null, details: MarketDetails, nowMs: number): void {
    const updatedMs = Math.max(nowMs, market.updatedMs + 1);
    this.#updateMarket.run(eventId, JSON.stringify(details), updatedMs, market.index);
    if (eventId !== market.eventId) {
      this.#leaveEvent(market);
      market.eventId = eventId;
      this.#joinEvent(market);
    }
    market.details = details;
    market.updatedMs = updatedMs;
  }

  /** The caller has checked that the slug is free. */
  createEvent(slug: string, details: EventDetails, nowMs: number): EventEntry {
    const event: EventEntry = {
      index: this.#events.length,
      id: randomUUID(),
      slug,
      createdMs: nowMs,
      markets: [],
      details,
      updatedMs: nowMs,
    };
    this.#insertEvent.run({
      event_index: event.index,
      id: event.id,
      slug,
      details: JSON.stringify(details),
      created_ms: nowMs,
      updated_ms: nowMs,
    });
    this.#addEvent(event);
    return event;
  }

  updateEvent(event: EventEntry, details: EventDetails, nowMs: number): void {
    const updatedMs = Math.max(nowMs, event.updatedMs + 1);
    this.#updateEvent.run(JSON.stringify(details), updatedMs, event.index);
    event.details = details;
    event.updatedMs = updatedMs;
  }

  #load(): void {
    const events = this.#database.prepare<[], EventRow>('SELECT * FROM events ORDER BY event_index').all();
    for (const row of events) {
      this.#addEvent({
        index: row.event_index,
        id: row.id,
        slug: row.slug,
        createdMs: row.created_ms,
        markets: [],
        details: JSON.parse(row.details),
        updatedMs: row.updated_ms,
      });
    }
    const markets = this.#database.prepare<[], MarketRow>('SELECT * FROM markets ORDER BY market_index').all();
    for (const row of markets) this.#addMarket(fromMarketRow(row, this.#shards));
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
    event.markets.push(market);
    event.markets.sort((a, b) => a.index - b.index);
  }

  #leaveEvent(market: MarketEntry): void {
    if (market.eventId === null) return;
    const siblings = this.#eventById.get(market.eventId)!.markets;
    siblings.splice(siblings.indexOf(market), 1);
  }
}

/**
 * The token id of an outcome: keccak-256 of the market's id and the outcome, as a 256-bit number. Two markets never
 * share one, and anyone can compute it, as on a chain.
 */
function deriveTokenId(idBytes: Uint8Array, outcome: 0 | 1): string {
  const preimage = new Uint8Array(UUID_BYTES + 1);
  preimage.set(idBytes);
  preimage[UUID_BYTES] = outcome;
  return uint256ToDecimal(keccak256(preimage));
}

function toIdBytes(id: string): Uint8Array {
  const bytes = new Uint8Array(UUID_BYTES);
  const isUuid = uuidToBytes(id, bytes, 0);
  assert(isUuid, 'catalog: a market id is a UUID');
  return bytes;
}

function toMarketRow(market: MarketEntry): MarketRow {
  return {
    market_index: market.index,
    id: market.id,
    event_id: market.eventId,
    ticks_per_unit: market.ticksPerUnit,
    min_order_atomic: market.minOrderAtomic,
    yes_token_id: market.yesTokenId,
    no_token_id: market.noTokenId,
    status: market.opening.status,
    fee_bps: market.opening.feeBps,
    start_ms: market.opening.startMs,
    end_ms: market.opening.endMs,
    details: JSON.stringify(market.details),
    created_ms: market.createdMs,
    updated_ms: market.updatedMs,
  };
}

function fromMarketRow(row: MarketRow, shards: number): MarketEntry {
  const idBytes = toIdBytes(row.id);
  return {
    index: row.market_index,
    id: row.id,
    idBytes,
    shard: shardOfMarket(idBytes, shards),
    ticksPerUnit: row.ticks_per_unit,
    minOrderAtomic: row.min_order_atomic,
    yesTokenId: row.yes_token_id,
    noTokenId: row.no_token_id,
    opening: { status: row.status, feeBps: row.fee_bps, startMs: row.start_ms, endMs: row.end_ms },
    createdMs: row.created_ms,
    eventId: row.event_id,
    details: JSON.parse(row.details),
    updatedMs: row.updated_ms,
  };
}
