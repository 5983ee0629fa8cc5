/** The rows of markets and events in control.db, and the entries of the catalogue that they are read into. */
import type { MarketStatus } from '../../shared/base/codes.ts';
import type { EventEntry, MarketEntry } from './catalogEntries.ts';
import { toIdBytes } from './marketTokensStore.ts';

export type MarketRow = {
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

export type EventRow = {
  event_index: number;
  id: string;
  slug: string;
  details: string;
  created_ms: number;
  updated_ms: number;
};

/** catalogRevisionsStore.ts */
export type Revised = { readonly revision: number };

export function toMarketRow(market: MarketEntry): MarketRow {
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

export function fromMarketRow(row: MarketRow, shard: number): MarketEntry {
  return {
    index: row.market_index,
    id: row.id,
    idBytes: toIdBytes(row.id),
    shard,
    ticksPerUnit: row.ticks_per_unit,
    minOrderAtomic: row.min_order_atomic,
    yesTokenId: row.yes_token_id,
    noTokenId: row.no_token_id,
    opening: { status: row.status, feeBps: row.fee_bps, startMs: row.start_ms, endMs: row.end_ms },
    createdMs: row.created_ms,
    eventId: row.event_id,
    details: JSON.parse(row.details),
    deployment: null,
    updatedMs: row.updated_ms,
  };
}

export function toEventRow({ index, id, slug, details, createdMs, updatedMs }: EventEntry): EventRow {
  return {
    event_index: index,
    id,
    slug,
    details: JSON.stringify(details),
    created_ms: createdMs,
    updated_ms: updatedMs,
  };
}

/** Its markets join it by themselves. */
export function fromEventRow(row: EventRow): EventEntry {
  return {
    index: row.event_index,
    id: row.id,
    slug: row.slug,
    createdMs: row.created_ms,
    markets: [],
    details: JSON.parse(row.details),
    updatedMs: row.updated_ms,
  };
}
