/**
 * The clients of an exchange and all answers they received. A witness trades over several accounts, keeps every answer,
 * and after a restart compares the exchange with them: each acknowledged order, fill, cancel, conversion and deposit is
 * there once, each refused one is not, each unanswered one is there whole or not at all, and the money of every account
 * is what follows.
 *
 * The model is the clients' own: it knows fills from the trade history and computes fees and balances from the rules
 * (RULES.md 2.3, 3.1), in plain numbers and maps.
 */
import assert from 'node:assert/strict';
import { ApiError } from '../../shared/client/http.ts';
import { draftOrder, type OrderIntent, type OrderMarket } from '../../shared/client/order.ts';
import type { OrderRecord, PlacementBody, PlacementResponse, UserTrade } from '../../shared/client/types.ts';
import { seededRandom } from './random.ts';
import type { TestServer } from './server.ts';
import { assertBalanced, makeMarket, makeTrader, type Trader } from './traders.ts';

const TRADERS = 3;
const TICKS_PER_UNIT = [100, 1000, 100] as const;
const FEE_BPS = 50;
const DEPOSIT_MICRO = 20_000_000_000;
const SPLIT_ATOMIC = 200_000_000;
/** Trades are requested from a little before the last check started: one that is returned twice counts once. */
const OVERLAP_MS = 2000;
const PAGE = 100;
/** Placements of a round that are sent again although they were answered. */
const REPEATED = 5;

/** Progress of a cancel of the order; a later word includes the ones before. */
const CANCEL = { NONE: 0, ASKED: 1, CLOSED: 2, CANCELLED: 3 } as const;
type Cancel = (typeof CANCEL)[keyof typeof CANCEL];

type Order = {
  readonly trader: number;
  readonly market: number;
  readonly body: PlacementBody;
  readonly hash: string;
  /** The answer or the refusal; null while there is none. */
  answer: PlacementResponse | 'refused' | null;
  cancel: Cancel;
  /** Gross, from the trades. */
  tokens: number;
  notionalMicro: number;
};

type Conversion = { readonly market: number; readonly sign: 1 | -1; readonly amount: number };

/** One account as its owner knows it, orders that are still open left out. */
type Account = {
  trader: Trader;
  usdcMicro: number;
  /** By market and outcome. */
  readonly tokens: [number, number][];
  /**
   * The movement that was sent and not answered: at most one at a time, so that the balance shows whether it was
   * applied.
   */
  conversion: Conversion | null;
  /** Cancels of many orders that may still take effect. */
  massCancels: number;
};

type Deposit = { readonly account: number; readonly reference: string; readonly amount: number };

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
  readonly #random: () => number;
  readonly #markets: OrderMarket[];
  readonly #accounts: Account[];
  /** Whatever is not known to be over. */
  #orders: Order[] = [];
  #deposits: Deposit[] = [];
  readonly #tradeIds = new Set<string>();
  #checkedMs = Date.now();
  #references = 0;

  static async create(server: TestServer, seed: number): Promise<Witness> {
    const markets: OrderMarket[] = [];
    for (const ticks_per_unit of TICKS_PER_UNIT) {
      markets.push(await makeMarket(server, { ticks_per_unit, fee_bps: FEE_BPS }));
    }
    const accounts: Account[] = [];
    for (let index = 0; index < TRADERS; index++) {
      const trader = await makeTrader(server, { depositMicro: DEPOSIT_MICRO });
      for (const market of markets) await trader.client.split(market.id, SPLIT_ATOMIC);
      accounts.push({
        trader,
        usdcMicro: DEPOSIT_MICRO - markets.length * SPLIT_ATOMIC,
        tokens: markets.map(() => [SPLIT_ATOMIC, SPLIT_ATOMIC]),
        conversion: null,
        massCancels: 0,
      });
    }
    return new Witness(server, seed, markets, accounts);
  }

  private constructor(server: TestServer, seed: number, markets: OrderMarket[], accounts: Account[]) {
    this.#server = server;
    this.#random = seededRandom(seed);
    this.#markets = markets;
    this.#accounts = accounts;
  }

  /** Sends commands on several connections at once, until all are sent or the server is gone. */
  async trade({ commands, connections = 8, mayHang = false, onAnswer, onSilence }: Traffic): Promise<void> {
    let sent = 0;
    let answered = 0;
    let isGone = false;
    const oneConnection = async (): Promise<void> => {
      while (!isGone && sent < commands) {
        sent++;
        const outcome = await this.#command();
        assert.ok(mayHang || outcome !== 'late', 'a request is answered or its connection broken');
        if (outcome === 'answered') onAnswer?.(++answered);
        if (outcome !== 'gone') continue;
        isGone = true;
        onSilence?.();
      }
    };
    await Promise.all(Array.from({ length: connections }, oneConnection));
  }

  /** After a restart: everything that was acknowledged is still so. */
  async check(): Promise<void> {
    const startMs = Date.now();
    for (const account of this.#accounts) account.trader = account.trader.reconnected();
    await this.#repeatDeposits();
    const records = await this.#records();
    await this.#readTrades(records);
    for (const [order, record] of records) this.#checkOrder(order, record);
    for (let account = 0; account < this.#accounts.length; account++) await this.#checkAccount(account, records);
    await assertBalanced(this.#server);
    await this.#repeatPlacements(records);
    this.#settleClosed(records);
    this.#checkedMs = startMs;
  }

  async #command(): Promise<Outcome> {
    const index = this.#below(this.#accounts.length);
    const die = this.#below(100);
    if (die < 62) return this.#place(index);
    if (die < 82) return this.#cancel(index);
    if (die < 92) return this.#convert(index);
    if (die < 94) return this.#deposit(index);
    if (die < 97) return this.#cancelMany(index, null);
    return this.#cancelMany(index, this.#below(this.#markets.length));
  }

  async #place(index: number): Promise<Outcome> {
    const { trader, massCancels } = this.#accounts[index];
    const market = this.#below(this.#markets.length);
    const { body, orderHash: hash } = trader.signer.sign(draftOrder(this.#intent(market)));
    const cancel = massCancels > 0 ? CANCEL.ASKED : CANCEL.NONE;
    const order: Order = { trader: index, market, body, hash, answer: null, cancel, tokens: 0, notionalMicro: 0 };
    this.#orders.push(order);
    return told(
      trader.client.placeOrder(body),
      (answer) => {
        assert.equal(answer.order_hash, hash);
        order.answer = answer;
      },
      (error) => {
        assert.notEqual(error.status, 500, error.message);
        order.answer = 'refused';
      },
    );
  }

  /** Both sides of both outcomes around the middle: about half of what meets mints or merges sets. */
  #intent(market: number): OrderIntent {
    const die = this.#below(100);
    return {
      market: this.#markets[market],
      outcomeIndex: this.#below(2) === 0 ? 0 : 1,
      side: this.#below(3) === 0 ? 'SELL' : 'BUY',
      price: `0.${45 + this.#below(10)}`,
      size: String(1 + this.#below(5)),
      feeRateBps: FEE_BPS,
      timeInForce: die < 80 ? 'GTC' : die < 95 ? 'FAK' : 'FOK',
      postOnly: die < 5,
    };
  }

  async #cancel(index: number): Promise<Outcome> {
    const open = this.#orders.filter((order) => order.trader === index && isAccepted(order) && order.cancel === 0);
    const order = open[this.#below(open.length)];
    if (order === undefined) return this.#place(index);
    raise(order, CANCEL.ASKED);
    return told(
      this.#accounts[index].trader.client.cancelOrder(order.hash),
      () => raise(order, CANCEL.CANCELLED),
      (error) => {
        if (error.status === 503) return;
        assert.equal(error.code, 'ORDER_NOT_CANCELLABLE', 'an order that was acknowledged is known');
        raise(order, CANCEL.CLOSED);
      },
    );
  }

  /** In one market, or everywhere with null. */
  async #cancelMany(index: number, market: number | null): Promise<Outcome> {
    const account = this.#accounts[index];
    const { client } = account.trader;
    const touched = this.#orders.filter(
      (order) => order.trader === index && (market === null || order.market === market),
    );
    const acknowledged = touched.filter(isAccepted);
    for (const order of touched) raise(order, CANCEL.ASKED);
    account.massCancels++;
    const sending: Promise<unknown> =
      market === null ? client.cancelAll() : client.cancelMarket(this.#markets[market].id);
    return told(
      sending,
      () => {
        for (const order of acknowledged) raise(order, CANCEL.CLOSED);
        account.massCancels--;
      },
      () => {
        account.massCancels--;
      },
    );
  }

  async #convert(index: number): Promise<Outcome> {
    const account = this.#accounts[index];
    if (account.conversion !== null) return this.#place(index);
    const market = this.#below(this.#markets.length);
    const conversion: Conversion = {
      market,
      sign: this.#below(2) === 0 ? 1 : -1,
      amount: 1_000_000 * (1 + this.#below(5)),
    };
    const { client } = account.trader;
    const { id } = this.#markets[market];
    account.conversion = conversion;
    return told(
      conversion.sign > 0 ? client.split(id, conversion.amount) : client.merge(id, conversion.amount),
      () => this.#converted(account),
      () => {
        account.conversion = null;
      },
    );
  }

  #converted(account: Account): void {
    const { market, sign, amount } = account.conversion!;
    account.usdcMicro -= sign * amount;
    account.tokens[market][0] += sign * amount;
    account.tokens[market][1] += sign * amount;
    account.conversion = null;
  }

  async #deposit(index: number): Promise<Outcome> {
    const deposit = { account: index, reference: `witness-${++this.#references}`, amount: 1 + this.#below(1_000_000) };
    this.#deposits.push(deposit);
    return told(
      this.#sendDeposit(deposit),
      () => this.#deposited(deposit),
      // Nothing that a client does wrong; what the administrator's own disk does may stop him.
      (error) => assert.ok(error.status >= 500, `a deposit is never refused: ${error.message}`),
    );
  }

  #sendDeposit({ account, reference, amount }: Deposit): Promise<unknown> {
    const { userId } = this.#accounts[account].trader;
    return this.#server.admin.deposit(userId, { amount_usdc_micro: String(amount), reference });
  }

  #deposited(deposit: Deposit): void {
    this.#accounts[deposit.account].usdcMicro += deposit.amount;
    this.#deposits = this.#deposits.filter((other) => other !== deposit);
  }

  /** A reference moves money once, so the answer that was missed can be asked for again. */
  async #repeatDeposits(): Promise<void> {
    for (const deposit of this.#deposits) {
      await this.#sendDeposit(deposit);
      this.#deposited(deposit);
    }
  }

  /** Null for an order the exchange does not know. */
  async #records(): Promise<Map<Order, OrderRecord | null>> {
    const records = new Map<Order, OrderRecord | null>();
    for (const order of this.#orders) {
      const { client } = this.#accounts[order.trader].trader;
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
    for (const { trader } of this.#accounts) {
      for (const trade of await this.#tradesOf(trader)) {
        if (trade.role !== 'taker' || this.#tradeIds.has(trade.id)) continue;
        this.#tradeIds.add(trade.id);
        const [taker, maker] = [orders.get(trade.taker_order_id), orders.get(trade.maker_order_id)];
        assert.ok(taker !== undefined && maker !== undefined, `trade ${trade.id} is between orders that were sent`);
        const tokens = Number(trade.token_quantity_atomic);
        const notionalMicro = Number(trade.notional_usdc_micro);
        addFill(taker, tokens, notionalMicro);
        // The other outcome costs what is left of a whole set.
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
    const account = this.#accounts[index];
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
      this.#converted(account);
    }
    account.conversion = null;
    account.massCancels = 0;
    assert.deepEqual(found, expected, `the balances of account ${index}`);
    for (const [market, { id }] of this.#markets.entries()) {
      const open = (await account.trader.client.openOrders(id)).map((record) => record.order_hash);
      const known = own.filter(([order, record]) => order.market === market && isOpen(record!));
      assert.deepEqual(open.sort(), known.map(([order]) => order.hash).sort(), `the open orders of account ${index}`);
    }
  }

  /** USDC in all and of it reserved; per market Yes and No in all, and of each reserved. */
  async #holdings({ trader }: Account): Promise<{ usdc: number; reserved: number; tokens: number[][] }> {
    const { usdc, tokens } = await trader.client.balances();
    const rows = this.#markets.map(({ id }) => {
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
    const unknown = this.#orders.filter(({ answer }) => answer === null);
    const known = this.#orders.filter(isAccepted).slice(-REPEATED);
    for (const order of [...unknown, ...known]) {
      const { status, body } = await this.#accounts[order.trader].trader.post(order.body);
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
    this.#orders = this.#orders.filter((order) => {
      const record = records.get(order);
      if (record === undefined) return true;
      if (record === null) return false;
      if (order.answer === null) order.answer = resolved(record);
      if (isOpen(record)) return true;
      const account = this.#accounts[order.trader];
      const { usdcMicro, tokens } = effectOf(order);
      account.usdcMicro += usdcMicro;
      account.tokens[order.market][order.body.outcome_index] += tokens;
      return false;
    });
  }

  #below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }
}

/**
 * `gone`: the connection was broken. `late`: there was no answer in time. `unknown`: the server says that it does not
 * know.
 */
type Outcome = 'answered' | 'unknown' | 'late' | 'gone';

async function told<T>(
  sending: Promise<T>,
  onDone: (answer: T) => void,
  onRefused: (error: ApiError) => void,
): Promise<Outcome> {
  let answer: T;
  try {
    answer = await sending;
  } catch (error) {
    if (!(error instanceof ApiError)) return (error as Error).name === 'TimeoutError' ? 'late' : 'gone';
    if (error.code === 'OUTCOME_UNKNOWN') return 'unknown';
    onRefused(error);
    return 'answered';
  }
  onDone(answer);
  return 'answered';
}

function raise(order: Order, cancel: Cancel): void {
  if (cancel > order.cancel) order.cancel = cancel;
}

function isAccepted({ answer }: Order): boolean {
  return answer !== null && answer !== 'refused';
}

function isOpen({ status }: OrderRecord): boolean {
  return status === 'open' || status === 'partially_filled';
}

/** An order whose answer was lost, as its record shows it. */
function resolved(record: OrderRecord): PlacementResponse {
  const { id, order_hash, status, remaining } = record;
  const remaining_status = isOpen(record) ? 'open' : status === 'filled' ? 'none' : 'cancelled';
  return { order_id: id, order_hash, status, matches: 0, fills: [], remaining, remaining_status };
}

function tokensOf({ side, maker_amount, taker_amount }: PlacementBody): number {
  return Number(side === 'BUY' ? taker_amount : maker_amount);
}

function addFill(order: Order, tokens: number, notionalMicro: number): void {
  order.tokens += tokens;
  order.notionalMicro += notionalMicro;
}

/** The effect of an order's fills on its account. The fee is deducted from what it received. */
function effectOf({ body, tokens, notionalMicro }: Order): { usdcMicro: number; tokens: number } {
  const fee = (received: number): number => Math.floor((FEE_BPS * received) / 10_000);
  return body.side === 'BUY'
    ? { usdcMicro: -notionalMicro, tokens: tokens - fee(tokens) }
    : { usdcMicro: notionalMicro - fee(notionalMicro), tokens: -tokens };
}
