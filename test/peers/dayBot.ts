/**
 * A bot of a recorded day: an official client of Polymarket that quotes, buys, sells and cancels beside the accounts of
 * the day, as its seed says, and compares what its user channel and the REST interface say with the ledger.
 */
import assert from 'node:assert/strict';
import { ExchangeClient } from '../../shared/client/client.ts';
import type { OrderMarket } from '../../shared/client/order.ts';
import type { UserOrder, UserTrade } from '../../shared/client/types.ts';
import { eventually } from '../support/eventually.ts';
import { PolymarketSocket } from '../support/polymarketBot.ts';
import type { Random } from '../support/random.ts';
import type { Json, TestServer } from '../support/server.ts';
import { type Beliefs, believed, micro, openOrder } from './beliefs.ts';
import { clientAt, makeSigner, postOrder, type Version } from './clients.ts';
import type { Placed } from './day.ts';

const START_MICRO = 10_000_000_000n;
const PRICE_SCALE = 100_000_000n;
const PAGE = 100;
/** The book of a moment may be a reason for these refusals; any other one fails the day. */
const REFUSALS = /FOK_ORDER_NOT_FILLED|FAK_ORDER_NOT_FILLED|INVALID_POST_ONLY|no match/;

type Place = { readonly server: TestServer; readonly host: string; readonly markets: readonly OrderMarket[] };

export class DayBot {
  readonly counts = { placed: 0, refused: 0, cancelled: 0 };
  readonly #version: Version;
  readonly #client: Json;
  readonly #owner: string;
  readonly #socket: PolymarketSocket;
  readonly #markets: readonly OrderMarket[];
  readonly #conditions: ReadonlyMap<string, string>;
  readonly #ledger: ExchangeClient;
  readonly #random: Random;

  private constructor(
    version: Version,
    client: Json,
    parts: {
      owner: string;
      socket: PolymarketSocket;
      markets: readonly OrderMarket[];
      conditions: ReadonlyMap<string, string>;
      ledger: ExchangeClient;
      random: Random;
    },
  ) {
    this.#version = version;
    this.#client = client;
    this.#owner = parts.owner;
    this.#socket = parts.socket;
    this.#markets = parts.markets;
    this.#conditions = parts.conditions;
    this.#ledger = parts.ledger;
    this.#random = parts.random;
  }

  static async start(version: Version, { server, host, markets }: Place, random: Random): Promise<DayBot> {
    const signer = makeSigner();
    const creds = await (await clientAt(host, version, { signer })).createOrDeriveApiKey();
    const client = await clientAt(host, version, { signer, creds });
    const conditions = new Map<string, string>();
    for (const { id, yes_token_id } of markets) {
      const book = await eventually('the market is listed', async () => {
        const found = await client.getOrderBook(yes_token_id).catch(() => null);
        return found?.market !== undefined && found;
      });
      conditions.set(id, book.market);
    }
    const auth = { apiKey: creds.key, secret: creds.secret, passphrase: creds.passphrase };
    const socket = new PolymarketSocket(`${host.replace('http', 'ws')}/ws/user`, { type: 'user', auth });
    await socket.subscribed();
    const ledger = await ledgerOf(server, signer.account.address);
    return new DayBot(version, client, { owner: creds.key, socket, markets, conditions, ledger, random });
  }

  close(): void {
    this.#socket.close();
    this.#ledger.close();
  }

  /** Something of its own, near what the day is about to do. */
  async act(event: Placed): Promise<void> {
    const market = this.#markets[event.market]!;
    const token = event.outcome === 0 ? market.yes_token_id : market.no_token_id;
    const held = this.#beliefs().tokens.get(token) ?? 0n;
    const choice = this.#random.below(10);
    // Both directions in one market would trade with each other.
    if (choice !== 9)
      await this.#cancelled(this.#client.cancelMarketOrders({ market: this.#conditions.get(market.id) }));
    if (choice === 9) await this.#cancelled(this.#client.cancelAll());
    else if (choice < 4) await this.#quote(token, event, choice);
    else if (choice < 6 && held >= 2_000_000n) await this.#sellNow(token, held);
    else if (choice < 7 && held >= 5_000_000n) await this.#offer(token, event.price);
    else await this.#buyNow(token);
  }

  /** Bids where the day bids, so that what takes there takes from here as well. */
  async #quote(token: string, { price }: Placed, choice: number): Promise<void> {
    const order = { tokenID: token, price: Number(price), size: this.#random.between(5, 60), side: 'BUY' };
    if (choice === 0) return this.#post({ ...order, expiration: Math.floor(Date.now() / 1000) + 86_400 }, 'GTD');
    return this.#post(order, 'GTC', choice === 1);
  }

  async #offer(token: string, price: string): Promise<void> {
    await this.#post({ tokenID: token, price: Number(price), size: 5, side: 'SELL' }, 'GTC');
  }

  async #post(order: Json, kind: string, postOnly = false): Promise<void> {
    await this.#placed(postOrder(this.#client, this.#version, order, kind, postOnly));
  }

  async #buyNow(tokenID: string): Promise<void> {
    const order = { tokenID, amount: this.#random.between(2, 40), side: 'BUY' };
    const kind = this.#random.chance(50) ? 'FOK' : 'FAK';
    await this.#placed(this.#client.createAndPostMarketOrder(order, undefined, kind));
  }

  async #sellNow(tokenID: string, held: bigint): Promise<void> {
    const most = Number(held / 1_000_000n);
    const order = { tokenID, amount: this.#random.between(1, most), side: 'SELL' };
    await this.#placed(this.#client.createAndPostMarketOrder(order, undefined, 'FAK'));
  }

  async #placed(answer: Promise<Json>): Promise<void> {
    const { error } = await answer.catch((thrown: Error) => ({ error: thrown.message }));
    if (error === undefined) this.counts.placed++;
    else if (REFUSALS.test(error)) this.counts.refused++;
    else throw new Error(`an order was refused: ${error}`);
  }

  async #cancelled(answer: Promise<Json>): Promise<void> {
    const { canceled, not_canceled, error } = await answer;
    assert.equal(error, undefined);
    // An order that was filled in the meantime is not there any more.
    assert.ok(Object.values(not_canceled).every((reason) => /matched/.test(String(reason))));
    this.counts.cancelled += canceled.length;
  }

  #beliefs(): Beliefs {
    return believed(this.#socket.messages, this.#owner);
  }

  /** Waits until the channel has said everything that the ledger knows, and compares all of it. @returns its trades */
  async compare(): Promise<number> {
    const trades = await allTrades(this.#ledger);
    await eventually(
      () => `the channel has each of ${trades.length} trades in its last state`,
      async () => {
        const known = this.#beliefs().trades;
        return trades.every(({ id }) => known.get(id)?.states.includes('CONFIRMED'));
      },
    );
    const open = (await this.#ledger.userOrders({ status: 'open,partially_filled', limit: 200 })).orders;
    const expected = open.map((record) => this.#openOf(record)).sort();
    await eventually(
      'the channel has the end of each order',
      async () => JSON.stringify(this.#beliefs().open) === JSON.stringify(expected),
    ).catch(() => assert.deepEqual(this.#beliefs().open, expected));
    this.#compareTrades(trades, this.#beliefs());
    await this.#compareBalances(this.#beliefs());
    await this.#compareRest(trades, expected);
    return trades.length;
  }

  #openOf(record: UserOrder): string {
    const market = this.#markets.find(({ id }) => id === record.market_id)!;
    const [whole, fraction = ''] = record.price.split('.');
    const price8 = BigInt(`${whole}${fraction.padEnd(8, '0')}`);
    const atomic = (BigInt(record.initial_limit_notional_usdc_micro!) * PRICE_SCALE) / price8;
    const asset = record.outcome_index === 0 ? market.yes_token_id : market.no_token_id;
    return `${asset} ${record.side} ${atomic} at ${price8 / 100n}, ${record.filled_token_quantity_atomic} filled`;
  }

  /** Each once in each of its states, with the account's side of it. */
  #compareTrades(trades: readonly UserTrade[], { trades: known }: Beliefs): void {
    assert.deepEqual([...known.keys()].sort(), trades.map(({ id }) => id).sort());
    for (const trade of trades) {
      const { own, states } = known.get(trade.id)!;
      assert.deepEqual(states, ['MATCHED', 'MINED', 'CONFIRMED']);
      const market = this.#markets.find(({ id }) => id === trade.market_id)!;
      const asset = trade.party_outcome_index === 0 ? market.yes_token_id : market.no_token_id;
      assert.deepEqual(
        [own.isTaker, own.side, own.assetId, own.atomic],
        [trade.role === 'taker', trade.party_side, asset, BigInt(trade.token_quantity_atomic!)],
      );
    }
  }

  /**
   * Of an amount of USDC the parts are orders of the exchange, each with a fee of its own that is rounded down: a bot
   * cannot know where one ends, so its tokens are at most a millionth for each such trade from the ledger's.
   */
  async #compareBalances({ usdcMicro, tokens, trades }: Beliefs): Promise<void> {
    const balances = await this.#ledger.balances();
    const held = ({ available, reserved }: { available: string; reserved: string }) =>
      BigInt(available) + BigInt(reserved);
    assert.equal(START_MICRO + usdcMicro, held(balances.usdc));
    for (const { id, yes_token_id, no_token_id } of this.#markets) {
      for (const [outcome, asset] of [yes_token_id, no_token_id].entries()) {
        const row = balances.tokens.find(
          ({ market_id, outcome_index }) => market_id === id && outcome_index === outcome,
        );
        const bought = [...trades.values()].filter(({ own }) => own.assetId === asset && own.isTaker).length;
        const difference = (row === undefined ? 0n : held(row)) - (tokens.get(asset) ?? 0n);
        assert.ok(difference >= 0n && difference <= BigInt(bought), `${asset}: ${difference} of ${bought} trades`);
        const { balance } = await this.#client.getBalanceAllowance({ asset_type: 'CONDITIONAL', token_id: asset });
        assert.equal(BigInt(balance), row === undefined ? 0n : held(row));
      }
    }
    const { balance } = await this.#client.getBalanceAllowance({ asset_type: 'COLLATERAL' });
    assert.equal(BigInt(balance), held(balances.usdc));
  }

  async #compareRest(trades: readonly UserTrade[], expected: readonly string[]): Promise<void> {
    const open: Json[] = await this.#client.getOpenOrders();
    assert.deepEqual(open.map(openOrder).sort(), expected);
    const shown: Json[] = await this.#client.getTrades();
    assert.deepEqual(
      shown.map(({ id, size, status }) => [id, micro(size), status]).sort(),
      trades.map(({ id, token_quantity_atomic }) => [id, BigInt(token_quantity_atomic!), 'CONFIRMED']).sort(),
    );
  }
}

/** The account as the exchange has it, past `npm run polymarket`. */
async function ledgerOf({ admin, baseUrl, timeoutMs }: TestServer, wallet: string): Promise<ExchangeClient> {
  const { users } = await admin.listUsers({ wallet: wallet.toLowerCase() });
  const key = await admin.createApiKey(users[0]!.id, { scopes: ['read:account'], tier: 'market_maker' });
  const credentials = { keyId: key.key_id, secret: key.secret, passphrase: key.passphrase };
  return new ExchangeClient({ baseUrl, credentials, timeoutMs });
}

async function allTrades(client: ExchangeClient): Promise<readonly UserTrade[]> {
  const trades: UserTrade[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await client.userTrades({ limit: PAGE, ...(cursor ? { cursor } : {}) });
    trades.push(...page.trades);
    cursor = page.next_cursor;
  }
  return trades;
}
