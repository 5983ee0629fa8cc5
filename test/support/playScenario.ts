/** Plays a scenario of test/vectors with the client for TypeScript: what each step gives. */
import { AdminClient } from '../../shared/client/admin.ts';
import { isRefusal } from '../../shared/client/answers.ts';
import { ExchangeClient } from '../../shared/client/client.ts';
import type { Credentials } from '../../shared/client/credentials.ts';
import type { MarketBuy, MarketPreview, MarketSell } from '../../shared/client/marketOrder.ts';
import type { PlacedOrder } from '../../shared/client/placedOrder.ts';
import type { PlaceIntent } from '../../shared/client/placer.ts';
import { type Session, signInWithWallet } from '../../shared/client/session.ts';
import type { Level } from '../../shared/client/stream/bookReplica.ts';
import type { BookStream } from '../../shared/client/stream/bookStream.ts';
import type { ExchangeStream } from '../../shared/client/stream/exchangeStream.ts';
import type { UserEvent } from '../../shared/client/stream/userStream.ts';
import type { PlacementResponse, TimeInForceName } from '../../shared/client/types.ts';
import { eventually, within } from './eventually.ts';
import type { Json } from './server.ts';

export type ScenarioAccount = Credentials & { readonly privateKey: string };
type Given = {
  readonly baseUrl: string;
  readonly market: string;
  readonly adminToken: string;
  readonly accounts: Readonly<Record<string, ScenarioAccount>>;
};
export type ScenarioStep = { readonly do: string; readonly gives?: Json };
type Order = Pick<PlacedOrder, 'hash' | 'body' | 'answer'>;

export class ScenarioPlayer {
  readonly #given: Given;
  readonly #market: string;
  readonly #admin: AdminClient;
  #session: Session | undefined;
  readonly #clients = new Map<string, ExchangeClient>();
  readonly #orders = new Map<string, { order: Order; by: ExchangeClient }>();
  #isReplayed = false;
  #followed: { stream: ExchangeStream; book: BookStream; events: AsyncIterator<UserEvent> } | undefined;

  constructor(given: Given) {
    const { baseUrl, market, accounts, adminToken } = given;
    this.#given = given;
    this.#market = market;
    this.#admin = new AdminClient({ baseUrl, token: adminToken });
    const onAnswer = ({ isReplayed }: { isReplayed: boolean }): void => {
      this.#isReplayed = isReplayed;
    };
    for (const [name, { privateKey, ...credentials }] of Object.entries(accounts)) {
      this.#clients.set(name, new ExchangeClient({ baseUrl, credentials, wallet: privateKey, onAnswer }));
    }
  }

  async play(step: Json): Promise<unknown> {
    try {
      return await this.#do(step);
    } catch (error) {
      // An order that this machine refuses was not sent.
      if (error instanceof RangeError) return { refused: error.message };
      if (!isRefusal(error)) throw error;
      return { code: error.code, status: error.status };
    }
  }

  async #do(step: Json): Promise<unknown> {
    const client = this.#clients.get(step.as ?? 'maker')!;
    switch (step.do) {
      case 'place': {
        const order = await client.place(this.#intent(step.intent));
        this.#orders.set(step.order, { order, by: client });
        return placed(order.answer!);
      }
      case 'amend':
        return this.#amend(step);
      case 'record': {
        const { order, by } = this.#orders.get(step.order)!;
        const { status, remaining, filled_token_quantity_atomic, average_fill_price } = await by.getOrder(order.hash);
        return { status, remaining, filled: filled_token_quantity_atomic, average: average_fill_price };
      }
      case 'cancel': {
        const { order, by } = this.#orders.get(step.order)!;
        await by.cancelOrder(order.hash);
        return { status: (await by.getOrder(order.hash)).status };
      }
      case 'book': {
        const { bids, asks } = await client.book(this.#market);
        return { bids: bids.map(levelRow), asks: asks.map(levelRow) };
      }
      case 'follow':
        return this.#follow(client);
      case 'events':
        return this.#eventRows(step.gives.length);
      case 'followed book':
        return this.#followedBook(client);
      case 'again': {
        const { order, by } = this.#orders.get(step.order)!;
        const answer = await by.placeOrder(order.body);
        return { same: JSON.stringify(answer) === JSON.stringify(order.answer), replayed: this.#isReplayed };
      }
      case 'orders':
        return (await client.userOrders()).orders.map(({ status }) => status);
      case 'trades': {
        const { trades } = await client.userTrades({ market_id: this.#market });
        return trades.map(({ role, party_side, token_quantity_atomic }) => [role, party_side, token_quantity_atomic]);
      }
      case 'cancelled all':
        return (await client.cancelAll()).cancelled;
      case 'balances': {
        const { usdc, tokens } = await client.balances();
        const held = tokens.filter(({ market_id }) => market_id === this.#market);
        const rows = held.map(({ outcome_index, available }) => [String(outcome_index), available]);
        return { available: usdc.available, reserved: usdc.reserved, tokens: rows };
      }
      case 'socket':
        this.#clients.set(step.as, await client.overSocket());
        return 'open';
      case 'preview':
        return previewed(await client.previewMarket(step.side, this.#market, orderAt(step.at)));
      case 'buy': {
        const order = await client.buy(this.#market, orderAt(step.at));
        this.#orders.set(step.order, { order, by: client });
        return placed(order.answer!);
      }
      case 'cash':
        return (await client.fiat.list()).sessions.length;
      case 'sign in':
        return this.#signIn(step.as, client);
      case 'sign out':
        await this.#session!.signOut();
        return client.userOrders();
      default:
        return this.#operate(step);
    }
  }

  /** The steps of the operator. */
  async #operate(step: Json): Promise<unknown> {
    const admin = this.#admin;
    switch (step.do) {
      case 'deposit': {
        const { id } = await this.#clients.get(step.to)!.account.profile();
        const before = BigInt((await admin.user(id)).usdc.available);
        const { amount_usdc_micro } = await admin.deposit(id, { amount_usdc_micro: step.amount });
        const after = BigInt((await admin.user(id)).usdc.available);
        return { amount: amount_usdc_micro, user: String(after - before) };
      }
      case 'admin':
        return admin.user(NO_ONE);
      case 'rebate':
        return (await admin.setRebate(this.#market, step.bps)).rebate_bps;
      case 'catalogue': {
        const lines = await new Response(await admin.exportCatalogue()).text();
        const { created, unchanged } = await admin.importCatalogue(lines);
        return { created, unchanged: unchanged > 0 };
      }
      default:
        throw new Error(`a scenario has no step ${step.do}`);
    }
  }

  /** From now on the client uses a session. */
  async #signIn(name: string, client: ExchangeClient): Promise<unknown> {
    const { baseUrl, accounts } = this.#given;
    const { privateKey } = accounts[name]!;
    const { id } = await client.account.profile();
    const session = await signInWithWallet({ baseUrl, wallet: privateKey });
    const signedIn = new ExchangeClient({ baseUrl, session, wallet: privateKey });
    this.#session = session;
    this.#clients.set(name, signedIn);
    return { same: session.user.id === id, sessions: (await signedIn.sessions.list()).sessions.length };
  }

  async #follow(client: ExchangeClient): Promise<string> {
    const stream = await client.openStream();
    const book = stream.openBook(this.#market, { verify: 'every' });
    const user = stream.openUser();
    await Promise.all([book.ready(), user.ready()]);
    this.#followed = { stream, book, events: user[Symbol.asyncIterator]() };
    return book.state;
  }

  async #eventRows(count: number): Promise<unknown[]> {
    const rows: unknown[] = [];
    while (rows.length < count) {
      const { value: event } = await within('a private event', this.#followed!.events.next());
      if (event.type === 'gap') rows.push(['gap', event.cause]);
      if (event.type === 'order_status') {
        const { status, reason, remaining } = event.frame.data;
        rows.push(['order_status', status, reason, remaining]);
      } else if (event.type === 'fill') {
        const { status, price, token_quantity_atomic, remaining, role } = event.frame.data;
        rows.push(['fill', status, price, token_quantity_atomic, remaining, role]);
      }
    }
    return rows;
  }

  /** Returns the stream's book once it is as new as the one that was read. */
  async #followedBook(client: ExchangeClient): Promise<unknown> {
    const { book } = this.#followed!;
    const { sequence } = await client.book(this.#market);
    await eventually('the book of the stream', async () => book.state === 'live' && book.sequence! >= sequence);
    const { bids, asks } = book.levels(0);
    return { bids: bids.map(levelRow), asks: asks.map(levelRow) };
  }

  close(): void {
    this.#followed?.stream.close();
    for (const client of this.#clients.values()) client.close();
  }

  async #amend(step: Json): Promise<unknown> {
    const { order, by } = this.#orders.get(step.order)!;
    const { side, outcome_index } = order.body;
    const { body, orderHash } = await by.signOrder(this.#intent({ side, outcome_index, ...step.to }));
    const answer = await by.amendOrder(order.hash, body);
    this.#orders.set(step.order, { order: { hash: orderHash, body, answer }, by });
    return placed(answer);
  }

  #intent(fields: Json): PlaceIntent {
    const { outcome_index, side, price, size, time_in_force, client_order_id } = fields;
    const names = { timeInForce: time_in_force as TimeInForceName, clientOrderId: client_order_id as string };
    return { marketId: this.#market, outcomeIndex: outcome_index, side, price, size, ...names };
  }
}

/** A market's id that none has. */
const NO_ONE = '0190a0b0-c0d0-7000-8000-0000000000af';

function orderAt({ max_slippage: maxSlippage, ...amount }: Json): MarketBuy & MarketSell {
  return { maxSlippage, ...amount };
}

function previewed(preview: MarketPreview): unknown {
  return {
    limit: preview.limitPrice,
    size: String(preview.sizeAtomic),
    most: String(preview.limitMicro),
    filled: String(preview.filledAtomic),
    notional: String(preview.notionalMicro),
    fee: String(preview.feeAtomic),
    received: String(preview.receivedAtomic),
    average: preview.averagePrice,
  };
}

function levelRow({ price, token_quantity_atomic, num_orders }: Level): unknown {
  return [price, token_quantity_atomic, num_orders];
}

function placed({ status, remaining, fills }: Pick<PlacementResponse, 'status' | 'remaining' | 'fills'>): unknown {
  const rows = fills.map((fill) => [fill.price, fill.token_quantity_atomic, fill.notional_usdc_micro]);
  return { status, remaining, fills: rows };
}
