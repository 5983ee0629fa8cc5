/**
 * The channel `user`: orders and trades of an account, as the private stream of the exchange has them.
 *
 * Invariants:
 *   POLYUSER-1  An account has one stream, however many read it; it is open while one reads.
 *   POLYUSER-2  A trade is sent in each of its states, in their order and each when it is there: matched, mined,
 *               confirmed; or, where its settlement fails, retrying and failed. While the chain takes longer than
 *               MOST_SETTLING looks, no end is sent.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { formatUnits } from '../../../shared/client/amounts.ts';
import type { ExchangeStream } from '../../../shared/client/stream/exchangeStream.ts';
import type { FillFrame, OrderStatusFrame } from '../../../shared/client/stream/frames.ts';
import type { UserEvent } from '../../../shared/client/stream/userStream.ts';
import type { UserTrade } from '../../../shared/client/types.ts';
import { shownTrade } from './accountRoutes.ts';
import type { TradeStatus } from './orderJson.ts';
import { priceOfRow, type TradeJson, tokensOf } from './orderJson.ts';
import type { Trading } from './orderRoutes.ts';
import { listOf, objectOf, Refusal } from './reply.ts';
import type { Channel, Reader } from './sockets.ts';
import type { KeyRow, OrderRow } from './store.ts';
import { TradeLooks } from './tradeLooks.ts';

const MOST_MARKETS = 500;
const SETTLING_EVERY_MS = 1000;
const MOST_SETTLING = 600;
/** The states through which a trade has come there. */
const STATES: Readonly<Record<UserTrade['settlement_status'], readonly TradeStatus[]>> = {
  pending: ['MATCHED'],
  submitted: ['MATCHED'],
  mined: ['MATCHED', 'MINED'],
  settled: ['MATCHED', 'MINED', 'CONFIRMED'],
  failed: ['MATCHED', 'RETRYING', 'FAILED'],
};

type Account = {
  readonly key: KeyRow;
  readonly readers: Map<Reader, ReadonlySet<string>>;
  readonly looks: TradeLooks;
  stream: ExchangeStream | null;
};

export class UserChannel implements Channel {
  readonly #parts: Trading;
  readonly #onError: (error: unknown) => void;
  readonly #accounts = new Map<string, Account>();

  constructor(parts: Trading, onError: (error: unknown) => void) {
    this.#parts = parts;
    this.#onError = onError;
  }

  async received(reader: Reader, message: Readonly<Record<string, unknown>>): Promise<void> {
    const { apiKey, secret, passphrase } = objectOf(message['auth']);
    if (typeof apiKey !== 'string' || typeof secret !== 'string' || typeof passphrase !== 'string') {
      throw new Refusal(401, 'auth: expected apiKey, secret and passphrase');
    }
    const key = this.#parts.auth.keyOfSocket(apiKey, secret, passphrase);
    const markets = listOf(message['markets'] ?? [], MOST_MARKETS);
    if (!markets.every((market) => typeof market === 'string')) throw new Refusal(400, 'markets: expected conditions');
    const account = this.#accounts.get(key.address) ?? this.#account(key);
    this.#accounts.set(key.address, account);
    account.readers.set(reader, new Set(markets.map((market) => market.toLowerCase())));
    await this.#parts.catalogue.all();
    if (account.stream === null && account.readers.size > 0) await this.#open(account);
  }

  #account(key: KeyRow): Account {
    const looks = new TradeLooks(this.#parts.accounts.client(key.address));
    return { key, readers: new Map(), looks, stream: null };
  }

  left(reader: Reader): void {
    for (const [address, account] of this.#accounts) {
      if (!account.readers.delete(reader) || account.readers.size > 0) continue;
      account.stream?.close();
      this.#accounts.delete(address);
    }
  }

  close(): void {
    for (const { stream } of this.#accounts.values()) stream?.close();
    this.#accounts.clear();
  }

  /** POLYUSER-1. */
  async #open(account: Account): Promise<void> {
    const stream = await this.#parts.accounts.client(account.key.address).openStream();
    if (account.readers.size === 0 || account.stream !== null) return stream.close();
    account.stream = stream;
    const user = stream.openUser({ onEvent: (event) => this.#emitted(account, event) });
    user.ready().catch((error: unknown) => {
      for (const reader of account.readers.keys()) reader.close();
      this.#onError(error);
    });
  }

  #emitted(account: Account, event: UserEvent): void {
    if (event.type === 'order_status') this.#after(() => this.#ofStatus(account, event.frame));
    else if (event.type === 'fill') this.#after(() => this.#ofFill(account, event.frame));
    // Missed events cannot be sent: a reader that connects again asks for its orders and trades.
    else if (event.type === 'gap') for (const reader of account.readers.keys()) reader.close();
  }

  #after(work: () => Promise<void> | void): void {
    Promise.resolve().then(work).catch(this.#onError);
  }

  #ofStatus(account: Account, { data, timestamp }: OrderStatusFrame): void {
    const row = this.#parts.store.orderOfHash(data.order_hash);
    if (row === undefined || isTaking(row)) return;
    const type = data.status === 'cancelled' || data.status === 'expired' ? 'CANCELLATION' : 'PLACEMENT';
    if (type === 'PLACEMENT' && data.status !== 'open') return;
    this.#send(account, data.market_id, orderMessage(this.#parts, row, data.remaining, type, timestamp));
  }

  async #ofFill(account: Account, frame: FillFrame): Promise<void> {
    const { faults, store } = this.#parts;
    const { data, timestamp } = frame;
    if (faults.lateFillsMs > 0) await sleep(faults.lateFillsMs, undefined, { ref: false });
    const row = store.orderOfHash(data.order_hash);
    if (row !== undefined && !isTaking(row)) {
      this.#send(account, data.market_id, orderMessage(this.#parts, row, data.remaining, 'UPDATE', timestamp));
    }
    const found = await account.looks.find(data.trade_id, timestamp);
    const trade = found === null ? undefined : shownTrade(this.#parts, found, account.key).at(0);
    if (found === null || trade === undefined) return;
    const sent = new Set<TradeStatus>();
    const send = (reached: UserTrade['settlement_status'], hash: string | null): void => {
      for (const status of STATES[reached]) {
        if (sent.has(status)) continue;
        sent.add(status);
        const json = hash === null ? trade : { ...trade, transaction_hash: hash };
        this.#send(account, data.market_id, tradeMessage(json, status, timestamp));
      }
    };
    if (faults.isFailed(trade.id)) send('failed', null);
    else await this.#follow(account, found, send);
  }

  /** POLYUSER-2. Without a chain a trade is settled at once. */
  async #follow(
    account: Account,
    trade: UserTrade,
    send: (reached: UserTrade['settlement_status'], hash: string | null) => void,
  ): Promise<void> {
    const { accounts, transactions } = this.#parts;
    const client = accounts.client(account.key.address);
    send(trade.settlement_status, await transactions.of(client, trade));
    let status = trade.settlement_status;
    for (let look = 0; look < MOST_SETTLING && account.readers.size > 0; look++) {
      if (status === 'settled' || status === 'failed') return;
      await sleep(SETTLING_EVERY_MS, undefined, { ref: false });
      const settlement = await client.tradeSettlement(trade.id);
      status = settlement.settlement_status;
      send(status, transactions.noted(settlement));
    }
  }

  #send({ readers }: Account, marketId: string, message: object): void {
    const condition = this.#parts.catalogue.ofId(marketId)?.conditionId;
    if (condition === undefined) return;
    for (const [reader, wanted] of readers) if (wanted.size === 0 || wanted.has(condition)) reader.send(message);
  }
}

/** It never rests: only its trades are sent. */
function isTaking({ kind }: OrderRow): boolean {
  return kind === 'FOK' || kind === 'FAK';
}

function orderMessage(
  { catalogue }: Trading,
  row: OrderRow,
  remaining: string,
  type: 'PLACEMENT' | 'UPDATE' | 'CANCELLATION',
  timestamp: number,
): object {
  const listed = catalogue.ofId(row.market_id)!;
  const outcome = row.outcome_index === 0 ? 0 : 1;
  const tokens = tokensOf(row);
  const matched = tokens - (BigInt(remaining) * tokens) / BigInt(row.maker_amount);
  return {
    ...{ event_type: 'order', type, id: row.id, owner: row.owner, order_owner: row.owner },
    market: listed.conditionId,
    asset_id: listed.tokens[outcome],
    outcome: listed.market.outcomes[outcome],
    side: row.side,
    price: priceOfRow(row, listed),
    original_size: formatUnits(tokens),
    size_matched: formatUnits(matched),
    status: type === 'CANCELLATION' ? 'CANCELED' : matched === tokens ? 'MATCHED' : 'LIVE',
    maker_address: row.maker,
    order_type: row.kind,
    expiration: String(row.expiration_sec),
    created_at: String(row.created_sec),
    associate_trades: null,
    timestamp: String(timestamp),
  };
}

function tradeMessage(trade: TradeJson, status: TradeStatus, timestamp: number): object {
  const { match_time: matchtime, ...rest } = trade;
  const own = { event_type: 'trade', type: 'TRADE', ...rest, status, matchtime, match_time: matchtime };
  return { ...own, trade_owner: trade.owner, timestamp: String(timestamp) };
}
