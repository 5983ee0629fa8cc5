/**
 * Serves the page and one market whose book changes as often as requested. To a browser it looks like the exchange, but
 * it does none of the exchange's work, so that the browser is measured.
 */
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import { PageFiles } from '../gateway/web/pageFiles.ts';
import { tickToPrice } from '../shared/base/units.ts';
import { BookReplica } from '../shared/client/stream/bookReplica.ts';
import type { BboFrame, DeltaFrame, TradeFrame } from '../shared/client/stream/frames.ts';
import type { Candle, Market } from '../shared/client/types.ts';
import { Random } from '../test/support/random.ts';

export const MARKET_ID = '0192f1de-0000-7000-8000-000000000001';
const ACCOUNT_ID = '0192f1de-0000-7000-8000-000000000002';
const TICKS_PER_UNIT = 100;
const MIDDLE = 50;
/** Prices on each side of the book. */
const DEPTH = 40;
const TOKEN = 1_000_000;
const MOST_TOKENS = 500;
/** Every tenth change is a fill, with its trade before it. */
const TRADE_EVERY = 10;
const BEAT_MS = 4;
const HEARTBEAT_MS = 5000;
const SECOND_MS = 1000;
const HOUR_MS = 3600 * SECOND_MS;
const HISTORY_HOURS = 200;
/** The page shows so many levels of each side. */
const SHOWN = 12;
/** Runs in the page: its levels from the highest ask to the lowest bid, each as "49¢ 12", the price and the orders. */
export const SHOWN_LEVELS = `[...document.querySelectorAll('.ladder :is(.ask, .bid)')].map((row) =>
  row.querySelector('.price').textContent + ' ' + row.title.split(' ')[0])`;

type Kept = { quantity: number; orders: number };

export class FramesExchange {
  readonly #pages = new PageFiles({ isDemo: false, providers: [] });
  readonly #server: Server;
  readonly #sockets = new Set<WebSocket>();
  readonly #book = new BookReplica();
  readonly #levels = { BUY: new Map<number, Kept>(), SELL: new Map<number, Kept>() };
  readonly #random: Random;
  #sequence = 1;
  #best = '';
  #due = 0;
  #perSecond = 0;
  #timers: ReturnType<typeof setInterval>[] = [];

  constructor(seed: number) {
    this.#random = new Random(seed);
    for (let depth = 1; depth <= DEPTH; depth++) {
      this.#levels.BUY.set(MIDDLE - depth, { quantity: depth * TOKEN, orders: depth });
      this.#levels.SELL.set(MIDDLE + depth, { quantity: depth * TOKEN, orders: depth });
    }
    this.#load();
    this.#server = createServer((request, response) => void this.#answer(request, response));
    const sockets = new WebSocketServer({ server: this.#server });
    sockets.on('connection', (socket) => this.#connected(socket));
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    this.#timers = [setInterval(() => this.#beat(), BEAT_MS), setInterval(() => this.#heartbeat(), HEARTBEAT_MS)];
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Changes of the book per second, from now on. */
  set changesPerSecond(count: number) {
    this.#perSecond = count;
    this.#due = 0;
  }

  get sequence(): number {
    return this.#sequence;
  }

  /** The levels that the page shows once it has the last change. */
  shownLevels(): string[] {
    const side = (levels: Map<number, Kept>): string[] =>
      [...levels].slice(0, SHOWN).map(([ticks, { orders }]) => `${ticks}¢ ${orders}`);
    return [...side(this.#levels.SELL).reverse(), ...side(this.#levels.BUY)];
  }

  close(): void {
    for (const timer of this.#timers) clearInterval(timer);
    for (const socket of this.#sockets) socket.terminate();
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #connected(socket: WebSocket): void {
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket));
    socket.on('message', (text) => {
      const { channel, id, data } = JSON.parse(String(text));
      if (channel === 'ping') socket.send(JSON.stringify({ channel: 'pong', id, data: { time: Date.now() } }));
      if (channel !== 'subscribe') return;
      const markets = data.markets ?? [];
      const answer = { markets, user: data.user ?? false, ...(data.user ? { user_sequence: 0 } : {}) };
      socket.send(JSON.stringify({ channel: 'subscribed', id, data: answer }));
      if (markets.length > 0) socket.send(JSON.stringify(this.#book.toFrame(MARKET_ID, Date.now())));
    });
  }

  #beat(): void {
    this.#due += (this.#perSecond * BEAT_MS) / SECOND_MS;
    for (; this.#due >= 1; this.#due--) this.#change();
  }

  #heartbeat(): void {
    this.#send({ channel: 'heartbeat', data: { time: Date.now(), sequences: { [MARKET_ID]: this.#sequence } } });
  }

  /** Adds or removes an order at a random price, mostly near the best prices. */
  #change(): void {
    const side = this.#random.below(2) === 0 ? 'BUY' : 'SELL';
    const depth = 1 + Math.min(this.#random.below(DEPTH), this.#random.below(DEPTH));
    const ticks = side === 'BUY' ? MIDDLE - depth : MIDDLE + depth;
    const level = this.#levels[side].get(ticks)!;
    const isFill = this.#sequence % TRADE_EVERY === 0 && level.orders > 1;
    const isOpen = !isFill && (level.orders <= 1 || this.#random.below(2) === 0);
    const quantity = isOpen ? (1 + this.#random.below(MOST_TOKENS)) * TOKEN : Math.floor(level.quantity / level.orders);
    level.quantity += isOpen ? quantity : -quantity;
    level.orders += isOpen ? 1 : -1;
    const price = tickToPrice(ticks, TICKS_PER_UNIT);
    if (isFill) this.#trade(side, price, quantity);
    this.#sequence += 1;
    const frame: DeltaFrame = {
      channel: 'book_delta',
      market_id: MARKET_ID,
      sequence: this.#sequence,
      timestamp: Date.now(),
      data: {
        event: isFill ? 'fill' : isOpen ? 'open' : 'cancel',
        order_id: randomUUID(),
        outcome_index: 0,
        side,
        price,
        token_quantity_atomic: String(quantity),
        remaining_token_quantity_atomic: isOpen ? String(quantity) : '0',
        level: {
          outcome_index: 0,
          side,
          price,
          token_quantity_atomic: String(level.quantity),
          num_orders: level.orders,
        },
      },
    };
    this.#book.apply(frame);
    frame.data.checksum = this.#book.checksum();
    this.#send(frame);
    this.#bbo();
  }

  #trade(makerSide: 'BUY' | 'SELL', price: string, quantity: number): void {
    this.#sequence += 1;
    const frame: TradeFrame = {
      channel: 'trade',
      market_id: MARKET_ID,
      sequence: this.#sequence,
      timestamp: Date.now(),
      data: {
        trade_id: randomUUID(),
        filled_at: new Date().toISOString(),
        outcome_index: 0,
        taker_side: makerSide === 'BUY' ? 'SELL' : 'BUY',
        price,
        token_quantity_atomic: String(quantity),
        notional_usdc_micro: String(Math.floor(quantity * Number(price))),
        match_type: 'standard',
      },
    };
    this.#book.apply(frame);
    this.#send(frame);
  }

  /** For each outcome, the time at which the best price of either side last changed. */
  #bbo(): void {
    const frames = ([0, 1] as const).map((outcome): BboFrame => {
      const { bid, ask } = this.#book.best(outcome);
      return {
        channel: 'bbo',
        market_id: MARKET_ID,
        sequence: this.#sequence,
        timestamp: Date.now(),
        data: {
          outcome_index: outcome,
          best_bid: bid?.price ?? null,
          best_ask: ask?.price ?? null,
          best_bid_quantity_atomic: bid?.token_quantity_atomic ?? null,
          best_ask_quantity_atomic: ask?.token_quantity_atomic ?? null,
          spread: '0.02',
          midpoint: '0.5',
        },
      };
    });
    const best = JSON.stringify(frames[0].data);
    if (best === this.#best) return;
    this.#best = best;
    for (const frame of frames) this.#send(frame);
  }

  #send(frame: object): void {
    const text = JSON.stringify(frame);
    for (const socket of this.#sockets) socket.send(text);
  }

  #load(): void {
    const side = (levels: Map<number, Kept>) =>
      [...levels].map(([ticks, { quantity, orders }]) => ({
        price: tickToPrice(ticks, TICKS_PER_UNIT),
        num_orders: orders,
        token_quantity_atomic: String(quantity),
      }));
    const [bids, asks] = [side(this.#levels.BUY), side(this.#levels.SELL)];
    const none = { bids: [], asks: [] };
    const data = { outcome_0: { bids, asks }, outcome_1: none, checksum: 0 };
    const head = { channel: 'book', market_id: MARKET_ID, sequence: this.#sequence, timestamp: Date.now() } as const;
    // The first load finds the checksum; with it the second load is right.
    this.#book.apply({ ...head, data });
    this.#book.apply({ ...head, data: { ...data, checksum: this.#book.checksum() } });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url!, 'http://localhost').pathname;
    const file = path.startsWith('/assets/')
      ? await this.#pages.file(path.slice('/assets/'.length))
      : path.startsWith('/v1/')
        ? null
        : await this.#pages.document('trading');
    if (file) {
      response.writeHead(200, { 'content-type': file.contentType }).end(file.plain);
      return;
    }
    const body = JSON.stringify(answerTo(path));
    response.writeHead(200, { 'content-type': 'application/json' }).end(body);
  }
}

/** Answers every read of the market page for a signed-in visitor. */
function answerTo(path: string): unknown {
  if (path === '/v1/auth/refresh')
    return {
      access_token: 'token',
      token_type: 'Bearer',
      expires_in: 900,
      is_new: false,
      user: { id: ACCOUNT_ID, wallet_address: null, display_name: 'Ada' },
    };
  if (path === '/v1/auth/ws-ticket') return { ticket: 'ticket', expires_in: 30 };
  if (path.endsWith('/tick-size')) return { ticks_per_unit: TICKS_PER_UNIT, min_order_size_atomic: String(TOKEN) };
  if (path.endsWith('/trades')) return { trades: [] };
  if (path.endsWith('/candles')) return { market_id: MARKET_ID, interval: '1h', outcome_index: 0, candles: candles() };
  if (path.endsWith('/history')) return { market_id: MARKET_ID, history: [] };
  if (path.endsWith('/ticker')) return { last_price: '0.5' };
  if (path.startsWith('/v1/markets/')) return market();
  if (path === '/v1/user/balances') return { usdc: { available: '1000000000', reserved: '0' }, tokens: [] };
  if (path === '/v1/user/orders/v2') return { orders: [], next_cursor: null };
  return { unread_count: 0, reality_check_interval_minutes: null };
}

/** Typed, so that it has all that the page reads. */
function market(): Market {
  const openedMs = Date.now() - HISTORY_HOURS * HOUR_MS;
  return {
    id: MARKET_ID,
    title: 'Will it rain on Monday?',
    subtitle: '',
    description: 'Yes if a drop is measured.',
    outcomes: ['Yes', 'No'],
    category: 'Weather',
    external_source: 'native',
    resolution_type: 'binary',
    deploy_status: 'deployed',
    current_prices: { 0: 0.5, 1: 0.5 },
    updated_at: new Date(openedMs).toISOString(),
    status: 'active',
    stage: 'open',
    created_at: new Date(openedMs).toISOString(),
    trading_starts_at: new Date(openedMs).toISOString(),
    trading_ends_at: new Date(Date.now() + HOUR_MS).toISOString(),
    fee_bps: 50,
    total_volume: '1000',
    yes_token_id: '1',
    no_token_id: '2',
  };
}

function candles(): Candle[] {
  const hour = HOUR_MS / SECOND_MS;
  const first = Math.floor(Date.now() / HOUR_MS - HISTORY_HOURS + 1) * hour;
  return Array.from({ length: HISTORY_HOURS }, (_, index) => ({
    start: first + index * hour,
    open: '0.5',
    high: '0.52',
    low: '0.48',
    close: index % 2 === 0 ? '0.51' : '0.49',
    token_quantity_atomic: String(TOKEN),
    notional_usdc_micro: String(TOKEN / 2),
    volume_usdc_micro: String(TOKEN / 2),
    trades: 2,
    is_open: index === HISTORY_HOURS - 1,
  }));
}
