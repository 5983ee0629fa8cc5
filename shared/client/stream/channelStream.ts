/**
 * The channels `market`, `ticker` and `candle` of the stream for programs, over any number of lost connections: after a
 * loss, each is subscribed again after its last frame, and a gap is repaired in the same way.
 *
 * Invariants:
 *   CHANNELSTREAM-1  Every change of a followed market is emitted once and in order, or a `state` of each market stands
 *                    for changes that the server no longer keeps.
 *   CHANNELSTREAM-2  Every candle that closes is emitted once, and from the first `live` on none is left out unless a
 *                    thousand were missed: a stream is live once it has a candle of each market to continue after.
 *   CHANNELSTREAM-3  No ticker of a market is emitted after a later one.
 */
import { INSPECT, type Inspecting, shown } from '../shown.ts';
import type { Candle, Ticker, Tickers } from '../types.ts';
import { EventFeed, SlowReaderError } from './eventFeed.ts';
import type { AnswerFrame, CandleFrame, HeartbeatFrame, MarketChangeFrame, TickerFrame } from './frames.ts';

type Link = { readonly type: 'live' | 'stale' };
/** `state`: a market as it is, at the start or if its changes are no longer kept. */
export type MarketChangeEvent = { readonly type: 'change' | 'state'; readonly frame: MarketChangeFrame } | Link;
export type TickerEvent = { readonly type: 'ticker'; readonly ticker: Ticker } | Link;
export type CandleEvent = { readonly type: 'candle'; readonly frame: CandleFrame } | Link;

type Listening<E> = {
  readonly onEvent?: (event: E) => void;
  /** The number of events that may wait for the iterator; with more it throws SlowReaderError. */
  readonly limit?: number;
};
export type MarketChangesOptions = Listening<MarketChangeEvent> & {
  readonly markets?: readonly string[];
  readonly events?: readonly string[];
  readonly all?: boolean;
};
export type TickersOptions = Listening<TickerEvent> & {
  readonly markets?: readonly string[];
  readonly all?: boolean;
};
export type CandlesOptions = Listening<CandleEvent> & {
  readonly markets: readonly string[];
  readonly interval: CandleFrame['interval'];
  readonly outcomeIndex?: 0 | 1;
  /** By market: only candles after the one that starts at this time, in Unix seconds. */
  readonly after?: Readonly<Record<string, number>>;
};

export type ChannelHost = {
  subscribeChannel(stream: Channel): void;
  leaveChannel(stream: Channel): void;
  read<T>(path: string): Promise<T>;
};
type Frame = MarketChangeFrame | TickerFrame | CandleFrame;
type Answer = Extract<AnswerFrame, { channel: 'subscribed' }>['data'];

const DEFAULT_LIMIT = 10_000;

/** The lifecycle of one channel. */
abstract class ChannelStream<E> implements AsyncIterable<E | Link> {
  /** The member of `subscribe` and `unsubscribe`. */
  abstract readonly member: 'market' | 'ticker' | 'candle';
  protected readonly host: ChannelHost;
  readonly #feed: EventFeed<E | Link>;
  #isLive = false;
  #isClosed = false;

  constructor(host: ChannelHost, { onEvent, limit = DEFAULT_LIMIT }: Listening<E | Link>) {
    this.host = host;
    this.#feed = new EventFeed<E | Link>({
      ...{ limit, onEvent, keepsUnread: true },
      onFull: () => {
        this.fail(new SlowReaderError('events came faster than they were read'));
        return null;
      },
    });
  }

  get isLive(): boolean {
    return this.#isLive;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** The content of `subscribe`, which continues after the last frame. */
  abstract wanted(): object;
  /** The content of `unsubscribe`. */
  abstract named(): object;
  /** Ignores frames of other streams. */
  abstract received(frame: Frame): void;

  subscribed(_answer: Answer): void {}

  heartbeat(_frame: HeartbeatFrame): void {}

  caughtUp(): void {
    this.#setLive(true);
  }

  connectionLost(): void {
    this.#setLive(false);
  }

  [Symbol.asyncIterator](): AsyncIterator<E | Link> {
    return this.#feed[Symbol.asyncIterator]();
  }

  [INSPECT](...inspecting: Inspecting): string {
    return shown(
      'Channel',
      { of: this.member, isLive: this.#isLive, isClosed: this.#isClosed, ...this.named() },
      inspecting,
    );
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#feed.end();
    this.host.leaveChannel(this);
  }

  fail(error: Error): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#feed.fail(error);
    this.host.leaveChannel(this);
  }

  protected emit(event: E): void {
    this.#feed.push(event);
  }

  /** Called when frames are missing. */
  protected resync(): void {
    this.#setLive(false);
    this.host.subscribeChannel(this);
  }

  #setLive(isLive: boolean): void {
    if (this.#isLive === isLive || this.#isClosed) return;
    this.#isLive = isLive;
    this.#feed.push({ type: isLive ? 'live' : 'stale' });
  }
}

export class MarketChanges extends ChannelStream<MarketChangeEvent> {
  readonly member = 'market';
  /** The newest frame of each market, by id. */
  readonly states = new Map<string, MarketChangeFrame>();
  readonly #selection: object;
  readonly #isAll: boolean;
  #place: { run: string; sequence: number } | null = null;
  /** True while the answer of a subscription is on its way. */
  #isAsking = false;

  constructor(host: ChannelHost, { markets = [], events = [], all = false, ...rest }: MarketChangesOptions) {
    super(host, rest);
    this.#selection = { markets, events, all };
    this.#isAll = all;
  }

  wanted(): object {
    this.#isAsking = true;
    return { ...this.#selection, ...(this.#place === null ? { snapshot: true } : { after: this.#place }) };
  }

  named(): object {
    return this.#selection;
  }

  override subscribed({ market }: Answer): void {
    this.#isAsking = false;
    if (market === undefined || this.#place?.run === market.run) return;
    this.#place = { run: market.run, sequence: market.sequence };
  }

  received(frame: Frame): void {
    if (frame.channel !== 'market') return;
    const { market_id, sequence, previous_sequence, data } = frame;
    const known = this.states.get(market_id);
    if (data.changed.length === 0) {
      this.states.set(market_id, frame);
      this.emit({ type: 'state', frame });
      return;
    }
    const place = this.#place;
    if (place === null || this.#isAsking) return;
    if (sequence <= place.sequence) return;
    const isGap = this.#isAll
      ? sequence !== place.sequence + 1
      : known !== undefined && known.sequence < previous_sequence && place.sequence < previous_sequence;
    if (isGap) {
      this.resync();
      return;
    }
    this.#place = { ...place, sequence };
    this.states.set(market_id, frame);
    this.emit({ type: 'change', frame });
  }

  /** For a selection of markets, the missing numbers belong to other markets. */
  override heartbeat({ data }: HeartbeatFrame): void {
    const sent = data.market_sequence;
    const place = this.#place;
    if (sent === undefined || place === null || this.#isAsking || sent === place.sequence) return;
    if (this.#isAll || sent < place.sequence) this.resync();
    else this.#place = { ...place, sequence: sent };
  }
}

export class TickersStream extends ChannelStream<TickerEvent> {
  readonly member = 'ticker';
  /** By market. */
  readonly tickers = new Map<string, Ticker>();
  readonly #selection: { readonly markets: readonly string[]; readonly all: boolean };

  constructor(host: ChannelHost, { markets = [], all = false, ...rest }: TickersOptions) {
    super(host, rest);
    this.#selection = { markets: markets.map((id) => id.toLowerCase()), all };
  }

  wanted(): object {
    return this.#selection;
  }

  named(): object {
    return this.#selection;
  }

  /** When following all markets, the document has the tickers that have not changed since. */
  override subscribed(): void {
    if (!this.#selection.all) return;
    this.host.read<Tickers>('/v1/tickers').then(
      ({ tickers }) => {
        for (const ticker of tickers) this.#take(ticker);
      },
      () => this.isClosed || setTimeout(() => this.isClosed || this.subscribed(), RETRY_MS),
    );
  }

  received(frame: Frame): void {
    if (frame.channel !== 'ticker') return;
    const { markets, all } = this.#selection;
    if (all || markets.includes(frame.data.market_id)) this.#take(frame.data);
  }

  /** CHANNELSTREAM-3. */
  #take(ticker: Ticker): void {
    const before = this.tickers.get(ticker.market_id);
    if (before !== undefined && !isLater(ticker, before)) return;
    this.tickers.set(ticker.market_id, ticker);
    this.emit({ type: 'ticker', ticker });
  }
}

const RETRY_MS = 1000;

/** A restarted server may send the same ticker with a different time. */
function isLater(ticker: Ticker, before: Ticker): boolean {
  if (ticker.timestamp <= before.timestamp) return false;
  return JSON.stringify({ ...ticker, timestamp: 0 }) !== JSON.stringify({ ...before, timestamp: 0 });
}

export class CandlesStream extends ChannelStream<CandleEvent> {
  readonly member = 'candle';
  /** By market: the newest candle. */
  readonly candles = new Map<string, Candle>();
  readonly #selection: Pick<CandleFrame, 'interval' | 'outcome_index'> & { readonly markets: readonly string[] };
  /** By market: the start of the last closed candle, or of the candle before the first. */
  readonly #after: Map<string, number>;
  #isCaughtUp = false;

  constructor(host: ChannelHost, { markets, interval, outcomeIndex = 0, after = {}, ...rest }: CandlesOptions) {
    super(host, rest);
    this.#selection = { markets: markets.map((id) => id.toLowerCase()), interval, outcome_index: outcomeIndex };
    this.#after = new Map(Object.entries(after).map(([id, start]) => [id.toLowerCase(), start]));
  }

  wanted(): object {
    return { ...this.#selection, after: Object.fromEntries(this.#after) };
  }

  named(): object {
    return this.#selection;
  }

  override caughtUp(): void {
    this.#isCaughtUp = true;
    if (this.#selection.markets.every((id) => this.#after.has(id))) super.caughtUp();
  }

  override connectionLost(): void {
    this.#isCaughtUp = false;
    super.connectionLost();
  }

  /** CHANNELSTREAM-2. */
  received(frame: Frame): void {
    const { interval, outcome_index, markets } = this.#selection;
    if (frame.channel !== 'candle' || frame.interval !== interval || frame.outcome_index !== outcome_index) return;
    const { market_id, data } = frame;
    if (!markets.includes(market_id) || data.start <= (this.#after.get(market_id) ?? -1)) return;
    if (!data.is_open) this.#after.set(market_id, data.start);
    else if (!this.#after.has(market_id)) this.#after.set(market_id, data.start - 1);
    this.candles.set(market_id, data);
    this.emit({ type: 'candle', frame });
    if (this.#isCaughtUp) this.caughtUp();
  }
}

/** A stream of any channel, without its events. */
export type Channel = Omit<ChannelStream<unknown>, typeof Symbol.asyncIterator>;
