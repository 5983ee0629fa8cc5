/** Markets and events in the memory of the gateway. */
import type { MarketEvent } from '../../shared/api/events.ts';
import type { Market } from '../../shared/api/markets.ts';
import type { MarketStatus } from '../../shared/base/codes.ts';
import type { DeploymentState } from './deployments.ts';

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

export type EventDetails = Omit<
  MarketEvent,
  'id' | 'slug' | 'winners' | 'market_count' | 'created_at' | 'updated_at'
> & {
  /** Of an event set (RULES.md 19.1), since its creation. */
  readonly winners?: 1;
  /** Players of a game between two players (RULES.md 12.34). */
  readonly home_player_full_name?: string | null;
  readonly away_player_full_name?: string | null;
};

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
  /** Null if deployed, or never requested. */
  deployment: DeploymentState;
  updatedMs: number;
};

/** These never change, so a copy of them stays right. */
export type TradedMarket = Pick<MarketEntry, 'index' | 'id' | 'shard' | 'ticksPerUnit' | 'minOrderAtomic'>;

type MarketOpening = {
  readonly status: MarketStatus;
  readonly feeBps: number;
  readonly startMs: number;
  readonly endMs: number;
};

export type NewMarket = {
  /** Absent for a random id. The caller has checked that no market has it. */
  readonly id?: string;
  readonly eventId: string | null;
  readonly ticksPerUnit: number;
  readonly minOrderAtomic: number;
  /** Null to derive them from the market's id. */
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
