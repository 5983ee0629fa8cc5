/** The administrator's client: users, keys, money in and out, the catalogue and the pause switch. */
import type { Outcome, SELF_TRADE_NAMES } from '../codes.ts';
import { DEFAULT_TIMEOUT_MS, sendRequest } from './http.ts';
import { prepareRequest } from './request.ts';
import type {
  FundMovement,
  IssuedApiKey,
  Ledger,
  Market,
  MarketEvent,
  MarketStatusName,
  Message,
  PlatformContracts,
  Profile,
  Scope,
} from './types.ts';

export type NewUser = {
  wallet_address: string;
  display_name?: string;
  email?: string;
  role?: string;
  referral_code?: string;
};

export type NewApiKey = {
  scopes: Scope[];
  tier?: 'standard' | 'premium' | 'market_maker';
  rate_limit_override?: { requests: number; window_seconds: number };
  expires_at?: string;
  require_signing_version?: 1 | 2;
  self_trade_prevention?: (typeof SELF_TRADE_NAMES)[number];
  /** Addresses and networks ("10.0.0.0/8") from which it may be used; everywhere when left out. */
  allowed_ips?: string[];
};

/** What is left out stays. */
export type NewContracts = Partial<PlatformContracts> & { exchange_address: string };

/** Refusals of placing that clients can rehearse. */
export type DrillName = 'NOT_MATCHING_LEADER' | 'SETTLEMENT_UNHEALTHY';

export type PlatformStatus = {
  paused: boolean;
  drills: DrillName[];
  disk_low: boolean;
  contracts: PlatformContracts;
  /** A change that has begun and is not in every shard yet; until it is, no orders are taken. */
  contracts_pending: PlatformContracts | null;
  shards: { shard: number; ready: boolean }[];
};

/** A reference is unique: repeating it answers the first movement again instead of moving money twice. */
export type NewMovement = { amount_usdc_micro: string; reference?: string };

export type NewMarket = Partial<Omit<Market, 'id' | 'created_at' | 'updated_at'>> & {
  title: string;
  description: string;
  category: string;
  trading_ends_at: string;
  ticks_per_unit?: number;
  min_order_size_atomic?: string;
};

export type MarketPatch = Partial<Omit<Market, 'id'>> & { status?: MarketStatusName };

/** Millionths of a USDC that a Yes and a No token pay: together 1,000,000. */
export type Payouts = readonly [yes: number, no: number];

/** The outcome that wins, or a share for both. */
export type Resolution = { outcome_index: Outcome } | { payouts: Payouts };

export type NewEvent = Partial<Omit<MarketEvent, 'id' | 'market_count' | 'created_at' | 'updated_at'>> & {
  slug: string;
  title: string;
};

export class AdminClient {
  readonly #origin: string;
  readonly #token: string;
  readonly #timeoutMs: number;

  constructor(options: { baseUrl: string; token: string; timeoutMs?: number }) {
    this.#origin = new URL(options.baseUrl).origin;
    this.#token = options.token;
    this.#timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  }

  createUser(user: NewUser): Promise<Profile> {
    return this.#send('POST', '/admin/users', user);
  }

  addWallet(userId: string, address: string): Promise<Profile> {
    return this.#send('POST', `/admin/users/${encodeURIComponent(userId)}/wallets`, { address });
  }

  /** From now on `signer` may sign orders that `maker` pays for. */
  addDelegate(userId: string, maker: string, signer: string): Promise<{ maker: string; signer: string }> {
    return this.#send('POST', `/admin/users/${encodeURIComponent(userId)}/delegates`, { maker, signer });
  }

  /** The secret and the passphrase are shown this once. */
  createApiKey(userId: string, key: NewApiKey): Promise<IssuedApiKey> {
    return this.#send('POST', `/admin/users/${encodeURIComponent(userId)}/api-keys`, key);
  }

  revokeApiKey(keyId: string): Promise<Message> {
    return this.#send('DELETE', `/admin/api-keys/${encodeURIComponent(keyId)}`);
  }

  deposit(userId: string, movement: NewMovement): Promise<FundMovement> {
    return this.#send('POST', `/admin/users/${encodeURIComponent(userId)}/deposits`, movement);
  }

  withdraw(userId: string, movement: NewMovement): Promise<FundMovement> {
    return this.#send('POST', `/admin/users/${encodeURIComponent(userId)}/withdrawals`, movement);
  }

  createEvent(event: NewEvent): Promise<MarketEvent> {
    return this.#send('POST', '/admin/events', event);
  }

  createMarket(market: NewMarket): Promise<Market> {
    return this.#send('POST', '/admin/markets', market);
  }

  patchMarket(marketId: string, patch: MarketPatch): Promise<Market> {
    return this.#send('PATCH', `/admin/markets/${encodeURIComponent(marketId)}`, patch);
  }

  /** Cancels every open order; from now on holders may claim. */
  resolveMarket(marketId: string, resolution: Resolution): Promise<Market> {
    return this.#send('POST', `/admin/markets/${encodeURIComponent(marketId)}/resolve`, resolution);
  }

  /** Like resolving, for a market without an answer: half a USDC for every token unless told otherwise. */
  cancelMarket(marketId: string, payouts?: Payouts): Promise<Market> {
    return this.#send('POST', `/admin/markets/${encodeURIComponent(marketId)}/cancel`, { payouts });
  }

  /** Pays every holder who has not claimed. */
  settleMarket(marketId: string): Promise<Market> {
    return this.#send('POST', `/admin/markets/${encodeURIComponent(marketId)}/settle`);
  }

  pause(): Promise<Message> {
    return this.#send('POST', '/admin/platform/pause', {});
  }

  resume(): Promise<Message> {
    return this.#send('POST', '/admin/platform/resume', {});
  }

  platform(): Promise<PlatformStatus> {
    return this.#send('GET', '/admin/platform');
  }

  /** Orders are signed for these from the answer on; what was signed for others before is cancelled. */
  changeContracts(contracts: NewContracts): Promise<PlatformContracts> {
    return this.#send('POST', '/admin/platform/contracts', contracts);
  }

  /** While enabled, whatever places is refused with it. A restart ends it. */
  setDrill(refusal: DrillName, enabled: boolean): Promise<{ drills: DrillName[] }> {
    return this.#send('POST', '/admin/platform/drills', { refusal, enabled });
  }

  ledger(): Promise<Ledger> {
    return this.#send('GET', '/admin/ledger');
  }

  #send<T>(method: string, path: string, payload?: unknown): Promise<T> {
    const request = prepareRequest(method, path, payload, () => ({ authorization: `Bearer ${this.#token}` }));
    return sendRequest(this.#origin, request, this.#timeoutMs);
  }
}
