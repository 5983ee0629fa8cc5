/**
 * Prices of home as they change, from the tickers of the stream (RULES.md 8.24): at most one a second for each market.
 * The code of the stream is loaded once the first view is there, which does not wait for it.
 */
import { useEffect, useState } from 'preact/hooks';
import type { TickersStream } from '../../../shared/client/stream/channelStream.ts';
import type { Ticker } from '../../../shared/client/types.ts';
import type { HomeEvent, Quote } from './cardFigures.ts';
import { part } from './parts.ts';
import { useVisitor } from './session.ts';

type Tickers = ReadonlyMap<string, Ticker>;

const NO_TICKERS: Tickers = new Map();
const AFTER_FIRST_VIEW_MS = 1500;
/** All changes of this time are drawn at once. */
const GATHERED_MS = 500;
/** A connection may name 500 (RULES.md 8.2). */
const MOST_MARKETS = 300;

/** @returns the events with the newest of the prices that were loaded and those that came since */
export function useFreshQuotes(events: readonly HomeEvent[]): readonly HomeEvent[] {
  const [tickers, setTickers] = useState(NO_TICKERS);
  const visitor = useVisitor();
  const owner = visitor.kind === 'user' ? visitor.user.id : '';
  const ids = events.flatMap(({ quotes }) => Object.keys(quotes ?? {})).slice(0, MOST_MARKETS);
  useEffect(() => {
    if (ids.length === 0 || visitor.kind === 'unknown') return;
    let isLeft = false;
    let stream: TickersStream | undefined;
    let drawing: ReturnType<typeof setTimeout> | undefined;
    const draw = (): void => {
      drawing = undefined;
      setTickers(new Map(stream?.tickers));
    };
    const begin = async (): Promise<void> => {
      const { streamOf } = await part(() => import('./stream.ts'));
      if (isLeft) return;
      const onEvent = (): void => {
        drawing ??= setTimeout(draw, GATHERED_MS);
      };
      stream = streamOf(owner).openTickers({ markets: ids, onEvent });
    };
    // Without the stream the list is loaded again as before.
    const beginning = setTimeout(() => void begin().catch(() => {}), AFTER_FIRST_VIEW_MS);
    return () => {
      isLeft = true;
      clearTimeout(beginning);
      stream?.close();
      clearTimeout(drawing);
    };
  }, [ids.join(), owner, visitor.kind]);
  return tickers.size === 0 ? events : events.map((event) => withTickers(event, tickers));
}

/** The later one counts: a ticker may be older than the list, once the connection was lost. */
function withTickers(event: HomeEvent, tickers: Tickers): HomeEvent {
  const quotes = Object.entries(event.quotes ?? {}).map(([id, quote]): [string, Quote] => {
    const ticker = tickers.get(id);
    if (ticker === undefined || ticker.timestamp <= Date.parse(quote.updated_at)) return [id, quote];
    const { midpoint, last_price, best_bid, best_ask, change } = ticker;
    return [id, { ...quote, midpoint, last_price, best_bid, best_ask, change }];
  });
  return { ...event, quotes: Object.fromEntries(quotes) };
}
