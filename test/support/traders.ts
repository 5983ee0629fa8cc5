/** Markets, and accounts that trade in them, on a real server: each with its own wallet, key and money. */
import assert from 'node:assert/strict';
import type { Outcome } from '../../shared/base/codes.ts';
import { UUID_BYTES, uuidToBytes } from '../../shared/base/hex.ts';
import { shardOfMarket } from '../../shared/base/sharding.ts';
import { ExchangeClient } from '../../shared/client/client.ts';
import type { Credentials } from '../../shared/client/credentials.ts';
import { draftOrder, type OrderIntent, type OrderMarket } from '../../shared/client/order.ts';
import { addressOf } from '../../shared/client/privateKey.ts';
import type {
  Balances,
  Market,
  NewMarket,
  PlacementBody,
  PlacementResponse,
  Scope,
} from '../../shared/client/types.ts';
import { backend } from './backend.ts';
import type { Answer, TestServer } from './server.ts';
import { type QuickOrderSigning, traderSigner } from './traderSigner.ts';

const ALL_SCOPES: Scope[] = ['read:account', 'trade:orders', 'trade:bulk', 'manage:account'];
const FEE_BPS = 50;
const DAY_MS = 86_400_000;

let wallets = 0;

export type TraderOptions = {
  /** Used instead of a new one. */
  privateKey?: string;
  depositMicro?: number;
  /** The code of another account. */
  referralCode?: string;
  scopes?: Scope[] | undefined;
  /** In place of the limit of the key's tier, on every endpoint. */
  requestsPerSecond?: number;
  selfTradePrevention?: 'none' | 'cancel_newest' | 'cancel_oldest' | 'cancel_both';
  /** Replaces the server's setting. */
  retry?: false;
};

/** "BUY Yes 10 at 0.65" with everything else as it usually is. */
export type Intent = Omit<Partial<OrderIntent>, 'market'> & { price: string; size: string };

/** USDC and the tokens of one market, all in atomic units. */
type Holdings = { usdc: number; reserved: number; yes: number; no: number };

export class Trader {
  readonly userId: string;
  readonly signer: QuickOrderSigning;
  readonly client: ExchangeClient;
  readonly #server: TestServer;
  readonly #retry: TestServer['retry'];
  readonly credentials: Credentials;

  constructor(
    server: TestServer,
    userId: string,
    signer: QuickOrderSigning,
    credentials: Credentials,
    retry: TestServer['retry'] = server.retry,
  ) {
    this.#server = server;
    this.#retry = retry;
    this.credentials = credentials;
    this.userId = userId;
    this.signer = signer;
    // Keys that it makes itself have tests of their own.
    const { baseUrl, timeoutMs } = server;
    this.client = new ExchangeClient({ baseUrl, credentials, retry, timeoutMs, idempotencyKeys: 'given' });
  }

  /** The same trader at the server's present address: a restart changes the port. */
  reconnected(): Trader {
    return this.on(this.#server);
  }

  /** The same trader on another server that has its account. */
  on(server: TestServer): Trader {
    return new Trader(server, this.userId, this.signer, this.credentials, this.#retry);
  }

  /** The same trader with another key. */
  withKey(credentials: Credentials): Trader {
    return new Trader(this.#server, this.userId, this.signer, credentials, this.#retry);
  }

  get address(): string {
    return this.signer.address;
  }

  /** A signed body; `changes` are made after signing, `maker` before. */
  body(market: OrderMarket, intent: Intent, changes: Record<string, unknown> = {}, maker?: string): PlacementBody {
    const draft = draftOrder({ outcomeIndex: 0, side: 'BUY', feeRateBps: FEE_BPS, ...intent, market });
    return { ...this.signer.sign(draft, { maker }).body, ...changes };
  }

  /** A signed body with freely chosen amounts, on the grid or not. */
  bodyOf(market: OrderMarket, intent: Intent, makerAmount: number, takerAmount: number): PlacementBody {
    const draft = draftOrder({ outcomeIndex: 0, side: 'BUY', feeRateBps: FEE_BPS, ...intent, market });
    const amounts = { maker_amount: String(makerAmount), taker_amount: String(takerAmount) };
    return this.signer.sign({ ...draft, ...amounts }).body;
  }

  place(market: OrderMarket, intent: Intent): Promise<PlacementResponse> {
    return this.client.placeOrder(this.body(market, intent));
  }

  /** Sends any request with this trader's key, and returns any answer. */
  send(method: string, path: string, payload?: unknown): Promise<Answer> {
    const request = this.client.prepareSigned(method, path, payload);
    return this.#server.request(method, path, request.body === '' ? undefined : request.body, request.headers);
  }

  post(body: unknown): Promise<Answer> {
    return this.send('POST', '/v1/orders', body);
  }

  async holdings(market: OrderMarket): Promise<Holdings> {
    const balances: Balances = await this.client.balances();
    const tokens = (outcome: Outcome): number => {
      const held = balances.tokens.find((row) => row.market_id === market.id && row.outcome_index === outcome);
      return Number(held?.available ?? 0) + Number(held?.reserved ?? 0);
    };
    return {
      usdc: Number(balances.usdc.available),
      reserved: Number(balances.usdc.reserved),
      yes: tokens(0),
      no: tokens(1),
    };
  }
}

/** A deposit that the ledger has: the administrator's, or one on the chain. @param wallet the first of the account. */
export async function deposit(server: TestServer, userId: string, wallet: string, micro: number): Promise<void> {
  if (backend !== null) await backend.deposit(server, userId, wallet, micro);
  else await server.admin.deposit(userId, { amount_usdc_micro: String(micro) });
}

/** On a chain a wallet says there who signs for it, before it says so here (RULES.md 17.35). */
export async function delegateOnChain(server: TestServer, wallet: string, delegate: string): Promise<void> {
  await backend?.addDelegate(server, wallet, delegate);
}

async function makeUser(server: TestServer, options: TraderOptions) {
  const { depositMicro = 1_000_000_000, referralCode } = options;
  const isAnyUser = options.privateKey === undefined && referralCode === undefined;
  if (backend !== null && isAnyUser && depositMicro > 0) return backend.fundedUser(server, depositMicro);
  const privateKey = options.privateKey ?? `0x${(++wallets).toString(16).padStart(64, '0')}`;
  const wallet = addressOf(privateKey);
  const referral = referralCode === undefined ? {} : { referral_code: referralCode };
  const { id: userId } = await server.admin.createUser({ wallet_address: wallet, ...referral });
  if (depositMicro > 0) await deposit(server, userId, wallet, depositMicro);
  return { userId, privateKey };
}

export async function makeTrader(server: TestServer, options: TraderOptions = {}): Promise<Trader> {
  const { userId, privateKey } = await makeUser(server, options);
  const publicClient = new ExchangeClient({ baseUrl: server.baseUrl });
  const signer = traderSigner(privateKey, await publicClient.signingDomain());
  const key = await server.admin.createApiKey(userId, {
    scopes: options.scopes ?? ALL_SCOPES,
    ...(options.requestsPerSecond === undefined
      ? {}
      : { rate_limit_override: { requests: options.requestsPerSecond, window_seconds: 1 } }),
    ...(options.selfTradePrevention === undefined ? {} : { self_trade_prevention: options.selfTradePrevention }),
  });
  const credentials = { keyId: key.key_id, secret: key.secret, passphrase: key.passphrase };
  return new Trader(server, userId, signer, credentials, options.retry);
}

type MarketOptions = {
  title?: string;
  outcomes?: [string, string];
  ticks_per_unit?: Exclude<NewMarket['ticks_per_unit'], undefined>;
  min_order_size_atomic?: string;
  fee_bps?: number;
  trading_starts_at?: string;
  trading_ends_at?: string;
  event_id?: string;
};

export async function makeMarket(server: TestServer, options: MarketOptions = {}): Promise<OrderMarket> {
  const market: Market = await server.admin.createMarket({
    title: 'Will it rain tomorrow?',
    description: 'Yes if a drop is measured.',
    category: 'Weather',
    trading_ends_at: new Date(Date.now() + DAY_MS).toISOString(),
    ...options,
  });
  assert.ok(market.yes_token_id !== undefined && market.no_token_id !== undefined, 'a market has tokens');
  return {
    id: market.id,
    yes_token_id: market.yes_token_id,
    no_token_id: market.no_token_id,
    ticks_per_unit: options.ticks_per_unit ?? 100,
  };
}

/** One market in each shard: ids are random, so a few more than needed are made. */
export async function marketPerShard(server: TestServer, shards: number): Promise<OrderMarket[]> {
  const found: OrderMarket[] = [];
  while (found.filter(Boolean).length < shards) {
    const market = await makeMarket(server);
    const bytes = new Uint8Array(UUID_BYTES);
    assert.ok(uuidToBytes(market.id, bytes, 0));
    found[shardOfMarket(bytes, shards)] ??= market;
  }
  return found;
}

export function assertRefused(answer: Answer, status: number, code: string, error: string): void {
  assert.deepEqual(
    { status: answer.status, code: answer.body.code, error: answer.body.error },
    { status, code, error },
  );
  if (status === 503 || status === 429) assert.ok(Number(answer.headers.get('retry-after')) >= 1);
}

type Missing = { asset: 'USDC' | 'TOKEN'; required: string; available: string; reserved: string };

/** The order or conversion was refused for want of money, and the answer says how much there is. */
export function assertMissing(answer: Answer, details: Missing): void {
  assertRefused(answer, 400, 'INSUFFICIENT_BALANCE', 'insufficient balance');
  assert.deepEqual(answer.body.details, details);
}

/** The money of the whole exchange closes to the micro. */
export async function assertBalanced(server: TestServer): Promise<void> {
  const ledger = await server.admin.ledger();
  assert.ok(ledger.balanced, JSON.stringify(ledger));
}
