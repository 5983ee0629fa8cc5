/** What travels over HTTP, to the letter: field names as on the wire, 256-bit and money values as decimal strings. */
import type { EventStatus, MarketType } from '../catalog.ts';
import type {
  MARKET_STATUS_NAMES,
  MATCH_TYPE_NAMES,
  ORDER_STATUS_NAMES,
  Outcome,
  SELF_TRADE_NAMES,
  SIDE_NAMES,
  TIME_IN_FORCE_NAMES,
} from '../codes.ts';
import type { Eip712Domain } from '../eip712.ts';

export type SideName = (typeof SIDE_NAMES)[number];
export type TimeInForceName = (typeof TIME_IN_FORCE_NAMES)[number];
export type OrderStatusName = (typeof ORDER_STATUS_NAMES)[number];
export type MarketStatusName = (typeof MARKET_STATUS_NAMES)[number];
export type MatchTypeName = (typeof MATCH_TYPE_NAMES)[number];
export type SelfTradeName = (typeof SELF_TRADE_NAMES)[number];
export type Scope = 'read:account' | 'trade:orders' | 'trade:bulk' | 'stream:market' | 'stream:user' | 'manage:account';

export type Message = { message: string };
export type Status = { status: string };

export type PlacementBody = {
  market_id: string;
  token_id: string;
  side: SideName;
  maker_amount: string;
  taker_amount: string;
  maker: string;
  signer: string;
  taker: string;
  salt: string;
  nonce: number;
  expiration?: number;
  fee_rate_bps: number;
  signature: string;
  outcome_index: Outcome;
  time_in_force?: TimeInForceName;
  post_only?: boolean;
  min_taker_net?: string;
  self_trade_prevention?: SelfTradeName;
  client_order_id?: string;
  order_group?: string;
};

export type Fill = {
  trade_id: string;
  price: string;
  token_quantity_atomic: string;
  notional_usdc_micro: string;
  match_type: MatchTypeName;
  maker_order_id: string;
};

export type PlacementResponse = {
  order_id: string;
  order_hash: string;
  status: OrderStatusName;
  matches: number;
  fills: Fill[];
  client_order_id?: string;
  order_group?: string;
};

export type CancelReplaceResponse = { cancelled_order_hash: string; order: PlacementResponse };

/** Amounts as signed; `remaining` in the maker's asset. */
export type AmendResponse = PlacementResponse & {
  price: string;
  maker_amount: string;
  taker_amount: string;
  remaining: string;
  time_priority: boolean;
  price_changed: boolean;
};

export type FailedRow = { status: 'failed'; error: string; code: string; details?: unknown };
export type PlacedRow = {
  index: number;
  status: 'success';
  order_hash: string;
  order_id: string;
  /** `matches` are the fills themselves here. */
  response: Omit<PlacementResponse, 'matches' | 'fills'> & { matches: Fill[] };
};
export type BatchPlaceResponse = {
  results: (PlacedRow | (FailedRow & { index: number }))[];
  succeeded: number;
  failed: number;
  total: number;
};
export type BatchCancelResponse = {
  results: ({ order_hash: string; status: 'cancelled' } | (FailedRow & { order_hash: string }))[];
  cancelled: number;
  failed: number;
  total: number;
};

/** Of a cancel that found no order and keeps it from coming. */
export type TombstoneResponse = Message & { tombstone_until: string };

/** Null where an order stands too deep in a long queue to be counted. */
export type QueuePosition = {
  ahead_orders: number | null;
  ahead_token_quantity_atomic: string | null;
  level_token_quantity_atomic: string;
  sequence: number;
};

export type OrderGroupSettings = { window_seconds: number; max_token_quantity_atomic: string };
export type OrderGroup = OrderGroupSettings & {
  name: string;
  /** In the shard where it is closest to the maximum. */
  filled_token_quantity_atomic: string;
  triggered: boolean;
};

export type OrderRecord = {
  id: string;
  order_hash: string;
  market_id: string;
  side: SideName;
  price: string;
  status: OrderStatusName;
  remaining: string;
  filled_amount: string;
  time_in_force: TimeInForceName;
  post_only: boolean;
  created_at: string;
  filled_token_quantity_atomic: string;
  average_fill_price: string | null;
  sequence: number;
  client_order_id?: string;
  order_group?: string;
};

export type UserOrder = OrderRecord & {
  initial_limit_notional_usdc_micro: string | null;
  filled_limit_notional_usdc_micro: string | null;
  remaining_limit_notional_usdc_micro: string | null;
};

export type Page = { total: number; limit: number; offset: number };
export type UserOrders = Page & { orders: UserOrder[] };

export type UserTrade = {
  id: string;
  market_id: string;
  taker_order_id: string;
  maker_order_id: string;
  price: string;
  amount: string;
  taker_side: SideName;
  outcome_index: Outcome;
  role: 'taker' | 'maker' | null;
  party_order_id: string | null;
  party_side: SideName | null;
  party_outcome_index: Outcome | null;
  notional_usdc_micro: string | null;
  token_quantity_atomic: string | null;
  settlement_status: string;
  matched_at: string;
};
export type UserTrades = Page & { trades: UserTrade[] };

export type CancelAllResponse = { cancelled: number; message: string };
export type CancelMarketResponse = { message: string; market_id: string; cancelled: number };

export type HeartbeatResponse = { status: string; server_time: number };

export type RateLimit = { requests: number; window_seconds: number };
export type RateLimits = {
  tier: string;
  rate_limit_override: RateLimit | null;
  enforced: boolean;
  limits: (RateLimit & { method: string; path: string; remaining: number; reset: number })[];
};

export type BookLevel = {
  price: string;
  num_orders: number;
  token_quantity_atomic?: string;
  notional_usdc_micro?: string;
  size: string;
};
export type BookSides = { bids: BookLevel[]; asks: BookLevel[] };
export type BookMark = { market_id: string; sequence: number; timestamp: number };
export type Book = BookMark & BookSides & { outcome_index: Outcome };
export type BothBooks = BookMark & { outcome_0: BookSides; outcome_1: BookSides };

/** One order of a book; at one price in the order in which they are filled. */
export type BookOrder = { id: string; price: string; remaining_token_quantity_atomic: string };
export type BookOfOrders = BookMark & {
  outcome_index: Outcome;
  bids: BookOrder[];
  asks: BookOrder[];
  /** The levels asked for hold more orders than an answer. */
  has_more: boolean;
};

export type Bbo = {
  market_id: string;
  outcome_index: Outcome;
  best_bid: string | null;
  best_ask: string | null;
  spread: string | null;
  midpoint: string | null;
  /** Unix seconds. */
  timestamp: number;
};

export type TickSize = {
  market_id: string;
  tick_size: string;
  ticks_per_unit: number;
  lot_size_atomic: string;
  min_order_size_atomic: string;
};

export type FeeRate = {
  market_id: string;
  maker_fee_bps: number;
  taker_fee_bps: number;
  maker_fee_pct: string;
  taker_fee_pct: string;
};

export type PlatformContracts = {
  chain_id: number;
  exchange_address: string;
  market_factory_address: string;
  usdc_address: string;
  ctf_address: string;
  fee_sweeper_address: string;
};

export type PlatformConfig = PlatformContracts & {
  outcome_slot_count: number;
  eip712_domain: Eip712Domain;
};

export type Market = {
  id: string;
  event_id?: string;
  title: string;
  subtitle: string;
  description: string;
  status: MarketStatusName;
  resolution_type: 'binary';
  outcomes: string[];
  outcome_probabilities?: number[];
  previous_outcome_probabilities?: number[];
  category: string;
  subcategories?: string[];
  external_source: string;
  external_event_id?: string;
  external_market_type?: MarketType;
  series_ticker?: string;
  player_name?: string;
  player_team_abbrev?: string;
  stat_category?: string;
  period?: string;
  line?: number;
  trading_starts_at: string;
  trading_ends_at: string;
  resolved_at?: string;
  settled_at?: string;
  resolution_source?: string;
  settlement_sources?: { name: string; url: string }[] | null;
  open_interest?: number;
  volume_24h?: number;
  total_volume: string;
  fee_bps: number;
  deploy_status: string;
  contract_address?: string;
  condition_id?: string;
  yes_token_id?: string;
  no_token_id?: string;
  question_id?: string;
  current_prices: { '0': number; '1': number };
  canonical_sibling_market_id?: string;
  created_at: string;
  updated_at: string;
};
export type Markets = Page & { markets: Market[]; next_cursor?: string | null };

export type MarketEvent = {
  id: string;
  slug: string;
  title: string;
  description: string;
  status: EventStatus;
  category: string;
  sport_league: string | null;
  sport_teams: string[] | null;
  image_url: string | null;
  start_time: string;
  external_event_id: string;
  external_platform: string;
  external_event_subtitle: string | null;
  external_event_mutually_exclusive: boolean;
  market_count: number;
  created_at: string;
  updated_at: string;
};

export type Balances = {
  usdc: { available: string; reserved: string };
  tokens: { market_id: string; outcome_index: Outcome; available: string; reserved: string }[];
};

/** What the account's tokens of one outcome of a decided market pay. */
export type Redeemable = {
  market_id: string;
  outcome_index: Outcome;
  quantity: string;
  payout: string;
  resolution: string;
  resolved_at: string;
};
export type ClaimResponse = { message: string; market_id: string; tx_hash: string };

/** The answer of split and merge. */
export type FullSets = { message: string; market_id: string; amount: string };

export type Profile = {
  id: string;
  email: string | null;
  display_name: string | null;
  wallet_address: string;
  linked_wallets: string[];
  role: string;
  created_at: string;
};

export type IssuedApiKey = {
  key_id: string;
  secret: string;
  passphrase: string;
  scopes: Scope[];
  tier: string;
};

export type FundMovement = {
  id: string;
  type: string;
  amount_usdc_micro: string;
  reference: string | null;
  status: string;
  created_at: string;
};

export type Ledger = {
  balanced: boolean;
  total_usdc_micro: string;
  accounts_usdc_micro: string;
  fees_usdc_micro: string;
  collateral_usdc_micro: string;
  sets: { market_id: string; yes_atomic: string; no_atomic: string }[];
};
