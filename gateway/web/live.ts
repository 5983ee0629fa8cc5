/**
 * The books that the page shows live. All of them share one stream, which reconnects and verifies every book by its
 * checksum (shared/client/stream). A view is drawn at most once in each frame of the screen, however much changes.
 */
import { useEffect, useState } from 'preact/hooks';

import type { Levels } from '../../shared/client/stream/bookReplica.ts';
import type { BookState, BookStream, StaleCause } from '../../shared/client/stream/bookStream.ts';
import { ExchangeStream } from '../../shared/client/stream/exchangeStream.ts';
import type { TradeFrame } from '../../shared/client/stream/frames.ts';

export type LiveBook = {
  readonly state: BookState;
  /** Why the book is stale. */
  readonly cause: StaleCause | null;
  readonly sequence: number | null;
  /** Time of the last change, in Unix milliseconds. */
  readonly changedMs: number;
  /** Of Yes and of No. */
  readonly levels: readonly [Levels, Levels];
  /** Trades since the view was opened, newest first. */
  readonly trades: readonly TradeFrame[];
};

const NO_LEVELS: Levels = { bids: [], asks: [] };
const STARTING: LiveBook = {
  state: 'starting',
  cause: null,
  sequence: null,
  changedMs: 0,
  levels: [NO_LEVELS, NO_LEVELS],
  trades: [],
};
const MOST_TRADES = 100;

let shared: ExchangeStream | null = null;

export function useBook(marketId: string): LiveBook {
  const [shown, show] = useState(STARTING);
  useEffect(() => {
    shared ??= new ExchangeStream({ baseUrl: location.origin });
    let trades: readonly TradeFrame[] = [];
    let cause: StaleCause | null = null;
    let frame = 0;
    const draw = (): void => {
      frame = 0;
      show(bookNow(book, cause, trades));
    };
    const drawSoon = (): void => {
      if (frame === 0) frame = requestAnimationFrame(draw);
    };
    const book = shared.openBook(marketId, {
      verify: 'every',
      onEvent: (event) => {
        if (event.type === 'trade') trades = [event.frame, ...trades].slice(0, MOST_TRADES);
        if (event.type === 'stale') cause = event.cause;
        if (event.type === 'live') cause = null;
        drawSoon();
      },
    });
    book.ready().catch(drawSoon);
    return () => {
      cancelAnimationFrame(frame);
      book.close();
    };
  }, [marketId]);
  return shown;
}

function bookNow(book: BookStream, cause: StaleCause | null, trades: readonly TradeFrame[]): LiveBook {
  const { state, sequence, timestamp } = book;
  return { state, cause, sequence, changedMs: timestamp, levels: [book.levels(0), book.levels(1)], trades };
}
