/**
 * The clients of an exchange and all answers they received. A witness trades over several accounts, keeps every answer,
 * and after a restart compares the exchange with them: each acknowledged order, fill, cancel, replacement, conversion,
 * claim and deposit is there once, each refused one is not, each unanswered one is there whole or not at all, and the
 * money of every account is what follows. What it read meanwhile is explained by the private frames, which are the same
 * everywhere (witnessHistory.ts), and a request with a key has the same answer again (keyedRequests.ts).
 *
 * The model is the clients' own: it knows fills from the trade history and computes fees and balances from the rules
 * (RULES.md 2.3, 3.1), in plain numbers and maps.
 */
import assert from 'node:assert/strict';
import { ApiError } from '../../shared/client/http.ts';
import type { OrderRecord, PlacementResponse, UserTrade } from '../../shared/client/types.ts';
import { eventually } from './eventually.ts';
import type { TestServer } from './server.ts';
import { assertBalanced, type Trader } from './traders.ts';
import { makeClaims, repeatClaims } from './witnessClaims.ts';
import { type Account, convert, WitnessClients } from './witnessClients.ts';
import {
  addFill,
  CANCEL,
  effectOf,
  isAccepted,
  isOpen,
  type Order,
  resolved,
  stays,
  tokensOf,
} from './witnessOrder.ts';
import { streamHeaders } from './witnessReads.ts';
import type { OpenOrders } from './witnessReserved.ts';

/** Trades are requested from a little before the start of the last check: a trade returned twice counts once. */
const OVERLAP_MS = 2000;
const PAGE = 100;
/** Placements of a round that are sent again although they were answered. */
const REPEATED = 5;

type Traffic = {
  commands: number;
  connections?: number;
  /** The exchange may be stopped for longer than a client waits. */
  mayHang?: boolean;
  /** After every answer, with how many there have been in this round. */
  onAnswer?: (answered: number) => void;
  /** For every command that got no answer at all. */
  onSilence?: () => void;
};

export class Witness {
  readonly #server: TestServer;
  readonly #clients: WitnessClients;
  readonly #tradeIds = new Set<string>();
  #checkedMs = Date.now();
  #reads = 0;
  #balanceReads = 0;
  #repeats = 0;

  static async create(server: TestServer, seed: number, how: { mayDiskFill?: boolean } = {}): Promise<Witness> {
    return new Witness(server, await WitnessClients.create(server, seed, how));
  }

  private constructor(server: TestServer, clients: WitnessClients) {
    this.#server = server;
    this.#clients = clients;
  }

  /** Sends commands on several connections at once, until all are sent or the server is gone. */
  async trade({ commands, connections = 8, mayHang = false, onAnswer, onSilence }: Traffic): Promise<void> {
    let sent = 0;
    let answered = 0;
    let isGone = false;
    this.#clients.places = await this.#server.places();
    await this.#clients.follow();
    const oneConnection = async (): Promise<void> => {
      while (!isGone && sent < commands) {
        sent++;
        const outcome = await this.#clients.command();
        assert.ok(mayHang || outcome !== 'late', 'a request is answered or its connection broken');
        if (outcome === 'answered') onAnswer?.(++answered);
        if (outcome !== 'gone') continue;
        isGone = true;
        onSilence?.();
      }
    };
    await Promise.all(Array.from({ length: connections }, oneConnection));
    for (const { history } of this.#clients.accounts) history.unfollow();
  }

  /** Reads that were explained, and requests with a key that were sent again, over all checks. */
  get checked(): { readonly reads: number; readonly balanceReads: number; readonly repeats: number } {
    return { reads: this.#reads, balanceReads: this.#balanceReads, repeats: this.#repeats };
  }

  /** After a restart: everything that was acknowledged is still so. */
  async check(): Promise<void> {
    const startMs = Date.now();
    for (const account of this.#clients.accounts) account.trader = account.trader.reconnected();
    this.#repeats += await this.#clients.keyed.repeat();
    await repeatClaims(this.#clients.accounts);
    await this.#clients.repeatDeposits();
    const records = await this.#records();
    this.#settleReplacements(records);
    await this.#readTrades(records);
    for (const [order, record] of records) this.#checkOrder(order, record);
    this.#clients.places = await this.#server.places();
    for (let account = 0; account < this.#clients.accounts.length; account++) {
      await this.#checkAccount(account, records);
      await this.#checkHistory(account, records);
    }
    await assertBalanced(this.#server);
    await this.#repeatPlacements(records);
    this.#settleClosed(records);
    if (this.#clients.accounts.every(({ claims }) => claims.length === 0))
      await makeClaims(this.#clients.server, this.#clients.accounts);
    this.#checkedMs = startMs;
  }

  /** A replacement that was not answered has taken place whole or not at all. */
  #settleReplacements(records: ReadonlyMap<Order, OrderRecord | null>): void {
    for (const [order, record] of records) {
      const old = order.replaces;
      if (old === null) continue;
      order.replaces = null;
      if (record === null) stays(old);
      else assert.ok(!isOpen(records.get(old)!), `order ${old.hash} was replaced by ${order.hash} and is open`);
    }
  }

  /** Null for an order that the exchange does not know. */
  async #records(): Promise<Map<Order, OrderRecord | null>> {
    const records = new Map<Order, OrderRecord | null>();
    for (const order of this.#clients.orders) {
      const { client } = this.#clients.accounts[order.trader].trader;
      try {
        records.set(order, await client.getOrder(order.hash));
      } catch (error) {
        if (!(error instanceof ApiError && error.status === 404)) throw error;
        records.set(order, null);
      }
    }
    return records;
  }

  /** Every trade has one taker, so the takers' histories hold each trade once. */
  async #readTrades(records: ReadonlyMap<Order, OrderRecord | null>): Promise<void> {
    const orders = new Map<string, Order>();
    for (const [order, record] of records) if (record !== null) orders.set(record.id, order);
    for (const { trader } of this.#clients.accounts) {
      for (const trade of await this.#tradesOf(trader)) {
        if (trade.role !== 'taker' || this.#tradeIds.has(trade.id)) continue;
        this.#tradeIds.add(trade.id);
        const [taker, maker] = [orders.get(trade.taker_order_id), orders.get(trade.maker_order_id)];
        assert.ok(taker !== undefined && maker !== undefined, `trade ${trade.id} is between orders that were sent`);
        const tokens = Number(trade.token_quantity_atomic);
        const notionalMicro = Number(trade.notional_usdc_micro);
        addFill(taker, tokens, notionalMicro);
        // The other outcome costs one minus the price.
        const isSameOutcome = taker.body.outcome_index === maker.body.outcome_index;
        addFill(maker, tokens, isSameOutcome ? notionalMicro : tokens - notionalMicro);
      }
    }
  }

  async #tradesOf(trader: Trader): Promise<UserTrade[]> {
    const since = new Date(this.#checkedMs - OVERLAP_MS).toISOString();
    const trades: UserTrade[] = [];
    for (let cursor: string | undefined; ; ) {
      const page = await trader.client.userTrades({ since, limit: PAGE, cursor });
      trades.push(...page.trades);
      if (page.next_cursor === null) return trades;
      cursor = page.next_cursor;
    }
  }

  #checkOrder(order: Order, record: OrderRecord | null): void {
    const { answer, body, cancel } = order;
    const title = `order ${order.hash}`;
    if (record === null) {
      assert.ok(answer === null || answer === 'refused', `${title} was acknowledged and is gone`);
      return;
    }
    assert.notEqual(answer, 'refused', `${title} was refused and is there`);
    assert.equal(record.order_hash, order.hash);
    assert.equal(Number(record.filled_token_quantity_atomic), order.tokens, `${title}: fills are the trades`);
    const isImmediate = body.time_in_force === 'FAK' || body.time_in_force === 'FOK';
    const isKilled = isImmediate && record.status === 'cancelled';
    const rest = isKilled ? 0 : Number(body.maker_amount) - Number(record.filled_amount);
    assert.equal(Number(record.remaining), rest, `${title}: what is not filled remains`);
    assert.equal(record.status === 'filled', order.tokens === tokensOf(body), `${title}: filled when nothing is left`);

    if (cancel === CANCEL.CANCELLED) assert.equal(record.status, 'cancelled', `${title}: its cancel was acknowledged`);
    if (cancel === CANCEL.CLOSED) assert.ok(!isOpen(record), `${title} was closed and is ${record.status}`);
    if (cancel === CANCEL.NONE && !isImmediate) assert.notEqual(record.status, 'cancelled', `${title}: nobody asked`);
    if (isImmediate) assert.ok(!isOpen(record), `${title}: it never rests`);
    if (answer !== null && answer !== 'refused') this.#checkAnswer(order, answer, record);
  }

  #checkAnswer(order: Order, answer: PlacementResponse, record: OrderRecord): void {
    assert.equal(record.id, answer.order_id);
    if (answer.status === 'filled') assert.equal(record.status, 'filled');
    let tokens = 0;
    for (const fill of answer.fills) {
      assert.ok(this.#tradeIds.has(fill.trade_id), `trade ${fill.trade_id} was acknowledged and is gone`);
      tokens += Number(fill.token_quantity_atomic);
    }
    assert.ok(tokens <= order.tokens, `order ${order.hash}: more was acknowledged than is there`);
  }

  async #checkAccount(index: number, records: ReadonlyMap<Order, OrderRecord | null>): Promise<void> {
    const account = this.#clients.accounts[index];
    const own = [...records].filter(([order, record]) => order.trader === index && record !== null);
    const expected = {
      usdc: account.usdcMicro,
      reserved: 0,
      tokens: account.tokens.map(([yes, no]) => [yes, no, 0, 0]),
    };
    for (const [order, record] of own) {
      const row = expected.tokens[order.market];
      const { usdcMicro, tokens } = effectOf(order);
      const outcome = order.body.outcome_index;
      expected.usdc += usdcMicro;
      row[outcome] += tokens;
      if (!isOpen(record!)) continue;
      if (order.body.side === 'BUY') expected.reserved += Number(record!.remaining);
      else row[2 + outcome] += Number(record!.remaining);
    }
    const found = await this.#holdings(account);
    // An unanswered conversion has happened or not; if the one balance says so, all others have to agree.
    if (account.conversion !== null && found.usdc !== expected.usdc) {
      const { market, sign, amount } = account.conversion;
      expected.usdc -= sign * amount;
      expected.tokens[market][0] += sign * amount;
      expected.tokens[market][1] += sign * amount;
      convert(account, account.conversion);
    }
    account.conversion = null;
    account.massCancels = 0;
    assert.deepEqual(found, expected, `the balances of account ${index}`);
    for (const [market, { id }] of this.#clients.markets.entries()) {
      const open = (await account.trader.client.openOrders(id)).map((record) => record.order_hash);
      const known = own.filter(([order, record]) => order.market === market && isOpen(record!));
      assert.deepEqual(open.sort(), known.map(([order]) => order.hash).sort(), `the open orders of account ${index}`);
    }
  }

  /** Its private frames are the same at every place, end with the orders open now, and explain its reads. */
  async #checkHistory(index: number, records: ReadonlyMap<Order, OrderRecord | null>): Promise<void> {
    const { trader, history } = this.#clients.accounts[index]!;
    const open = new Map<string, OpenOrders>(this.#clients.markets.map(({ id }) => [id, new Map()]));
    const filled = new Map<string, number>();
    for (const [order, record] of records) {
      if (order.trader !== index || record === null) continue;
      filled.set(order.hash, order.tokens);
      if (isOpen(record)) open.get(this.#clients.markets[order.market]!.id)!.set(order.hash, record.remaining);
    }
    for (const place of this.#clients.places) {
      await history.compare(place, () => streamHeaders(trader), { open, filled });
    }
    const { reads, balanceReads } = history.check();
    this.#reads += reads;
    this.#balanceReads += balanceReads;
    for (const [hash, tokens] of filled) {
      assert.equal(history.filledOf(hash), tokens, `order ${hash}: its private fills are its trades`);
    }
  }

  /** USDC in total and reserved; per market Yes and No in total, and of each the reserved part. */
  async #holdings({ trader }: Account): Promise<{ usdc: number; reserved: number; tokens: number[][] }> {
    const { usdc, tokens } = await trader.client.balances();
    const rows = this.#clients.markets.map(({ id }) => {
      const row = [0, 0, 0, 0];
      for (const held of tokens.filter(({ market_id }) => market_id === id)) {
        row[held.outcome_index] = Number(held.available) + Number(held.reserved);
        row[2 + held.outcome_index] = Number(held.reserved);
      }
      return row;
    });
    return { usdc: Number(usdc.available) + Number(usdc.reserved), reserved: Number(usdc.reserved), tokens: rows };
  }

  /**
   * The signed order itself resolves an unknown outcome: it is a duplicate when it was placed, else it is placed now.
   */
  async #repeatPlacements(records: Map<Order, OrderRecord | null>): Promise<void> {
    const unknown = this.#clients.orders.filter(({ answer }) => answer === null);
    const known = this.#clients.orders.filter(isAccepted).slice(-REPEATED);
    for (const order of [...unknown, ...known]) {
      // A log that is slow for a moment: the refusal says that nothing was done (RULES.md 18.6).
      const { status, body } = await eventually('an engine that is not busy', async () => {
        const answer = await this.#clients.accounts[order.trader].trader.post(order.body);
        return answer.body?.code !== 'ENGINE_BUSY' && answer;
      });
      if (records.get(order) !== null) {
        assert.equal(status, 409, `an order that was placed is a duplicate: ${JSON.stringify(body)}`);
        assert.equal(body.error, 'duplicate order');
        continue;
      }
      assert.notEqual(status, 409, `an order that was not placed is no duplicate: ${JSON.stringify(body)}`);
      // From here on it is an order like any other, and the next round's check looks at it.
      order.answer = status === 200 ? body : 'refused';
      order.cancel = CANCEL.NONE;
      if (status === 200) records.delete(order);
    }
  }

  /** Orders that are over become part of the account, so that a long run asks only for what can still change. */
  #settleClosed(records: ReadonlyMap<Order, OrderRecord | null>): void {
    this.#clients.orders = this.#clients.orders.filter((order) => {
      const record = records.get(order);
      if (record === undefined) return true;
      if (record === null) return false;
      if (order.answer === null) order.answer = resolved(record);
      if (isOpen(record)) return true;
      const account = this.#clients.accounts[order.trader];
      const { usdcMicro, tokens } = effectOf(order);
      account.usdcMicro += usdcMicro;
      account.tokens[order.market][order.body.outcome_index] += tokens;
      return false;
    });
  }
}
