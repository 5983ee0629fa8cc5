/**
 * The commands of a witness (witness.ts): each is sent by one of several accounts, with a key or without one. The
 * answers are all that its clients know of the exchange.
 */
import assert from 'node:assert/strict';
import type { ApiError } from '../../shared/client/http.ts';
import { draftOrder, type OrderIntent, type OrderMarket } from '../../shared/client/order.ts';
import type { BatchPlaceResponse, PlacementResponse, Scope } from '../../shared/client/types.ts';
import { KeyedRequests } from './keyedRequests.ts';
import { seededRandom } from './random.ts';
import type { TestServer } from './server.ts';
import { makeMarket, makeTrader, type Trader } from './traders.ts';
import { type Claimant, claimed, makeClaims } from './witnessClaims.ts';
import { AccountHistory } from './witnessHistory.ts';
import { CANCEL, FEE_BPS, isAccepted, newOrder, type Order, raise, stays } from './witnessOrder.ts';
import { type Outcome, told } from './witnessOutcome.ts';
import { readBalances, readOpenOrders, readOrder, streamHeaders } from './witnessReads.ts';

const TRADERS = 3;
const TICKS_PER_UNIT = [100, 1000, 100] as const;
const DEPOSIT_MICRO = 20_000_000_000;
const SPLIT_ATOMIC = 200_000_000;
const SCOPES: Scope[] = ['read:account', 'trade:orders', 'trade:bulk', 'manage:account', 'stream:user'];
const MOST_IN_BATCH = 4;

type Conversion = { readonly market: number; readonly sign: 1 | -1; readonly amount: number };

/** One account as its owner knows it, orders that are still open left out. */
export type Account = Claimant & {
  trader: Trader;
  /** By market and outcome. */
  readonly tokens: [number, number][];
  /**
   * The movement that was sent without a key and not answered: at most one at a time, so that the balance shows whether
   * it was applied.
   */
  conversion: Conversion | null;
  /** Cancels of many orders that may still take effect. */
  massCancels: number;
  readonly history: AccountHistory;
};

type Deposit = { readonly account: number; readonly reference: string; readonly amount: number };

export class WitnessClients {
  readonly server: TestServer;
  readonly markets: OrderMarket[];
  readonly accounts: Account[];
  readonly keyed = new KeyedRequests();
  /** Orders that are not known to be over. */
  orders: Order[] = [];
  deposits: Deposit[] = [];
  /** The places where it has read and followed private frames since the last round began. */
  places: readonly TestServer[] = [];
  readonly #random: () => number;
  readonly #mayDiskFill: boolean;
  #references = 0;
  #orderReads = 0;

  static async create(server: TestServer, seed: number, { mayDiskFill = false } = {}): Promise<WitnessClients> {
    const markets: OrderMarket[] = [];
    for (const ticks_per_unit of TICKS_PER_UNIT) {
      markets.push(await makeMarket(server, { ticks_per_unit, fee_bps: FEE_BPS }));
    }
    const accounts: Account[] = [];
    for (let index = 0; index < TRADERS; index++) {
      const trader = await makeTrader(server, { depositMicro: DEPOSIT_MICRO, scopes: SCOPES, retry: false });
      for (const market of markets) await trader.client.split(market.id, SPLIT_ATOMIC);
      accounts.push({
        trader,
        usdcMicro: DEPOSIT_MICRO - markets.length * SPLIT_ATOMIC,
        tokens: markets.map(() => [SPLIT_ATOMIC, SPLIT_ATOMIC]),
        conversion: null,
        massCancels: 0,
        claims: [],
        claiming: [],
        history: new AccountHistory(`account ${index}`),
      });
    }
    const clients = new WitnessClients(server, seed, markets, accounts, mayDiskFill);
    await makeClaims(server, accounts);
    return clients;
  }

  private constructor(
    server: TestServer,
    seed: number,
    markets: OrderMarket[],
    accounts: Account[],
    mayDiskFill: boolean,
  ) {
    this.server = server;
    this.#mayDiskFill = mayDiskFill;
    this.#random = seededRandom(seed);
    this.markets = markets;
    this.accounts = accounts;
  }

  async command(): Promise<Outcome> {
    const index = this.below(this.accounts.length);
    const die = this.below(100);
    if (die < 38) return this.#place(index);
    if (die < 44) return this.#placeBatch(index);
    if (die < 56) return this.#replace(index);
    if (die < 68) return this.#cancel(index);
    if (die < 71) return this.#cancelBatch(index);
    if (die < 79) return this.#convert(index);
    if (die < 81) return this.#deposit(index);
    if (die < 83) return this.#claim(index);
    if (die < 95) return this.#read(index);
    if (die < 97) return this.#cancelMany(index, null);
    return this.#cancelMany(index, this.below(this.markets.length));
  }

  async #place(index: number): Promise<Outcome> {
    const order = this.#newOrder(index, this.#intent(this.below(this.markets.length)));
    return this.#send(`placing ${order.hash}`, (key) => this.#client(index).placeOrder(order.body, key), {
      onDone: (answer) => this.#placed(order, answer),
      onRefused: (error) => refuse(order, error),
    });
  }

  #newOrder(index: number, intent: OrderIntent): Order {
    const { trader, massCancels, history } = this.accounts[index]!;
    const market = this.markets.indexOf(intent.market);
    const { body, orderHash: hash } = trader.signer.sign(draftOrder(intent));
    const order = newOrder(index, market, body, hash, massCancels > 0);
    this.orders.push(order);
    history.sent(hash, intent.side === 'BUY' ? 'usdc' : intent.outcomeIndex);
    return order;
  }

  #placed(order: Order, answer: PlacementResponse): void {
    assert.equal(answer.order_hash, order.hash);
    order.answer = answer;
    this.accounts[order.trader]!.history.acknowledged(order.hash, false);
  }

  /** Sends with a key or without one; with a key it repeats the request until there is an answer. */
  #send<T>(
    what: string,
    send: (options: { idempotencyKey?: string }) => Promise<T>,
    how: {
      readonly isKept?: boolean;
      readonly onDone: (answer: T) => void;
      readonly onRefused: (error: ApiError) => void;
    },
  ): Promise<Outcome> {
    const { onDone, onRefused } = how;
    if (this.below(2) === 0) return told(send({}), onDone, onRefused);
    const asked = { ...how, what, send: (key: string) => send({ idempotencyKey: key }) };
    return told(this.keyed.first(asked), onDone, onRefused);
  }

  /** A client at the present address of the exchange. */
  #client(index: number) {
    return this.accounts[index]!.trader.client;
  }

  async #placeBatch(index: number): Promise<Outcome> {
    const count = 2 + this.below(MOST_IN_BATCH - 1);
    const intents = Array.from({ length: count }, () => this.#intent(this.below(this.markets.length)));
    const orders = intents.map((intent) => this.#newOrder(index, intent));
    const bodies = orders.map(({ body }) => body);
    return this.#send(`placing ${count} orders`, (key) => this.#client(index).placeOrders(bodies, key), {
      onDone: ({ results }) => {
        for (const row of results) this.#placedRow(orders[row.index]!, row);
      },
      onRefused: (error) => {
        for (const order of orders) refuse(order, error);
      },
    });
  }

  #placedRow(order: Order, row: BatchPlaceResponse['results'][number]): void {
    if (row.status === 'success') {
      const { matches: fills, ...rest } = row.response;
      this.#placed(order, { ...rest, fills, matches: fills.length });
    } else if (row.code !== 'OUTCOME_UNKNOWN') order.answer = 'refused';
  }

  /** In one step: the old order goes, and the new one comes, or nothing happens (RULES.md 7.10). */
  async #replace(index: number): Promise<Outcome> {
    const old = this.#anyOpen(index);
    if (old === undefined) return this.#place(index);
    const isAmend = this.below(2) === 0;
    const intent = this.#intent(old.market);
    const { side, outcome_index: outcomeIndex } = old.body;
    const kept = { side, outcomeIndex, timeInForce: 'GTC', postOnly: false } as const;
    const order = this.#newOrder(index, isAmend ? { ...intent, ...kept } : intent);
    order.replaces = old;
    raise(old, CANCEL.ASKED);
    const send = async (key: { idempotencyKey?: string }) => {
      const client = this.#client(index);
      if (isAmend) return client.amendOrder(old.hash, order.body, key);
      const { cancelled_order_hash, order: answer } = await client.cancelReplace(old.hash, order.body, key);
      assert.equal(cancelled_order_hash, old.hash);
      return answer;
    };
    return this.#send(`replacing ${old.hash}`, send, {
      onDone: (answer) => {
        this.#placed(order, answer);
        order.replaces = null;
        this.#cancelled(old, CANCEL.CANCELLED);
      },
      onRefused: (error) => {
        refuse(order, error);
        order.replaces = null;
        if (error.code === 'ORDER_NOT_CANCELLABLE') this.#cancelled(old, CANCEL.CLOSED);
        else stays(old);
      },
    });
  }

  #cancelled(order: Order, how: typeof CANCEL.CLOSED | typeof CANCEL.CANCELLED): void {
    raise(order, how);
    this.accounts[order.trader]!.history.acknowledged(order.hash, true);
  }

  /** Returns an order that rests, as far as its owner knows. */
  #anyOpen(index: number): Order | undefined {
    const open = this.orders.filter((order) => order.trader === index && isAccepted(order) && order.cancel === 0);
    return open[this.below(open.length)];
  }

  /** Orders on both sides of both outcomes around the middle: about half of the matches mint or merge sets. */
  #intent(market: number): OrderIntent {
    const die = this.below(100);
    return {
      market: this.markets[market],
      outcomeIndex: this.below(2) === 0 ? 0 : 1,
      side: this.below(3) === 0 ? 'SELL' : 'BUY',
      price: `0.${45 + this.below(10)}`,
      size: String(1 + this.below(5)),
      feeRateBps: FEE_BPS,
      timeInForce: die < 80 ? 'GTC' : die < 95 ? 'FAK' : 'FOK',
      postOnly: die < 5,
    };
  }

  async #cancel(index: number): Promise<Outcome> {
    const order = this.#anyOpen(index);
    if (order === undefined) return this.#place(index);
    raise(order, CANCEL.ASKED);
    return told(
      this.#client(index).cancelOrder(order.hash),
      () => this.#cancelled(order, CANCEL.CANCELLED),
      (error) => {
        if (error.status === 503) return;
        assert.equal(error.code, 'ORDER_NOT_CANCELLABLE', 'an order that was acknowledged is known');
        this.#cancelled(order, CANCEL.CLOSED);
      },
    );
  }

  async #cancelBatch(index: number): Promise<Outcome> {
    const orders = [...new Set([this.#anyOpen(index), this.#anyOpen(index), this.#anyOpen(index)])];
    const known = orders.filter((order) => order !== undefined);
    if (known.length === 0) return this.#place(index);
    for (const order of known) raise(order, CANCEL.ASKED);
    const hashes = known.map(({ hash }) => hash);
    const send = ({ idempotencyKey }: { idempotencyKey?: string }) =>
      this.#client(index).cancelOrders(hashes, idempotencyKey);
    return this.#send(`cancelling ${hashes.length} orders`, send, {
      // On a full disk the answer of a cancel is not kept: sent again, it runs again (RULES.md 6.11).
      isKept: !this.#mayDiskFill,
      onDone: ({ results }) => {
        for (const [row, result] of results.entries()) {
          if (result.status === 'cancelled') this.#cancelled(known[row]!, CANCEL.CANCELLED);
          else if (result.code === 'ORDER_NOT_CANCELLABLE') this.#cancelled(known[row]!, CANCEL.CLOSED);
          else assert.notEqual(result.code, 'NOT_FOUND', 'an order that was acknowledged is known');
        }
      },
      onRefused: () => {},
    });
  }

  /** In one market, or everywhere with null. */
  async #cancelMany(index: number, market: number | null): Promise<Outcome> {
    const account = this.accounts[index];
    const { client } = account.trader;
    const touched = this.orders.filter(
      (order) => order.trader === index && (market === null || order.market === market),
    );
    const acknowledged = touched.filter(isAccepted);
    for (const order of touched) {
      raise(order, CANCEL.ASKED);
      order.isMassAsked = true;
    }
    account.massCancels++;
    const sending: Promise<unknown> =
      market === null ? client.cancelAll() : client.cancelMarket(this.markets[market].id);
    return told(
      sending,
      () => {
        for (const order of acknowledged) this.#cancelled(order, CANCEL.CLOSED);
        account.massCancels--;
      },
      () => {
        account.massCancels--;
      },
    );
  }

  async #convert(index: number): Promise<Outcome> {
    const account = this.accounts[index]!;
    const conversion: Conversion = {
      market: this.below(this.markets.length),
      sign: this.below(2) === 0 ? 1 : -1,
      amount: 1_000_000 * (1 + this.below(5)),
    };
    const { sign, amount } = conversion;
    const { id } = this.markets[conversion.market]!;
    const send = (key?: string) => {
      const client = this.#client(index);
      return sign > 0 ? client.split(id, amount, key) : client.merge(id, amount, key);
    };
    const onDone = (): void => convert(account, conversion);
    if (this.below(2) === 0) {
      const asked = { what: `converting ${amount}`, send, onDone, onRefused: () => {} };
      return told(this.keyed.first(asked), onDone, () => {});
    }
    if (account.conversion !== null) return this.#place(index);
    account.conversion = conversion;
    const end = (): void => {
      account.conversion = null;
    };
    return told(send(), () => [onDone(), end()], end);
  }

  /** A claim pays once, so a missed answer can be requested again (RULES.md 14.24). */
  async #claim(index: number): Promise<Outcome> {
    const account = this.accounts[index]!;
    const market = account.claims.find((id) => !account.claiming.includes(id));
    if (market === undefined) return this.#place(index);
    account.claiming = [...account.claiming, market];
    return told(
      account.trader.client.claim(market),
      () => claimed(account, market),
      (error) => assert.ok(error.status >= 500, `a claim that was not made is not refused: ${error.message}`),
    );
  }

  /** Reads the open orders of a market, the reserved balances, and one acknowledged order. */
  async #read(index: number): Promise<Outcome> {
    const account = this.accounts[index]!;
    const market = this.markets[this.below(this.markets.length)]!.id;
    const place = this.places[this.below(this.places.length)]!;
    await readOpenOrders(account, place, market);
    await readBalances(
      account,
      place,
      this.markets.map(({ id }) => id),
    );
    const known = this.orders.filter((order) => order.trader === index && isAccepted(order));
    if (known.length > 0) await readOrder(account, place, known[this.#orderReads++ % known.length]!.hash);
    return 'answered';
  }

  /** The private frames of every account, at every place. */
  async follow(): Promise<void> {
    for (const { trader, history } of this.accounts) {
      for (const place of this.places) await history.follow(place, () => streamHeaders(trader));
    }
  }

  async #deposit(index: number): Promise<Outcome> {
    const deposit = { account: index, reference: `witness-${++this.#references}`, amount: 1 + this.below(1_000_000) };
    this.deposits.push(deposit);
    return told(
      this.#sendDeposit(deposit),
      () => this.#deposited(deposit),
      // No error of a client; a full disk of the administrator may stop the request.
      (error) => assert.ok(error.status >= 500, `a deposit is never refused: ${error.message}`),
    );
  }

  #sendDeposit({ account, reference, amount }: Deposit): Promise<unknown> {
    const { userId } = this.accounts[account].trader;
    return this.server.admin.deposit(userId, { amount_usdc_micro: String(amount), reference });
  }

  #deposited(deposit: Deposit): void {
    this.accounts[deposit.account].usdcMicro += deposit.amount;
    this.deposits = this.deposits.filter((other) => other !== deposit);
  }

  /** A reference moves money once, so a missed answer can be requested again. */
  async repeatDeposits(): Promise<void> {
    for (const deposit of this.deposits) {
      await this.#sendDeposit(deposit);
      this.#deposited(deposit);
    }
  }

  below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }
}

function refuse(order: Order, error: ApiError): void {
  assert.notEqual(error.status, 500, error.message);
  order.answer = 'refused';
}

export function convert(account: Account, { market, sign, amount }: Conversion): void {
  account.usdcMicro -= sign * amount;
  account.tokens[market]![0] += sign * amount;
  account.tokens[market]![1] += sign * amount;
}
