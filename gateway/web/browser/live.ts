/**
 * The books that the page shows live. All of them share the socket of the tab, which reconnects and verifies every book
 * by its checksum (shared/client/stream). A view is drawn in a frame of the screen and then not for `PACE_MS`, however
 * much changes: more cannot be read, and the time between belongs to keys, clicks and the other drawings.
 */
import { useEffect, useRef, useState } from 'preact/hooks';

import type { Levels } from '../../../shared/client/stream/bookReplica.ts';
import type { BookState, BookStream, StaleCause } from '../../../shared/client/stream/bookStream.ts';
import type { TradeFrame } from '../../../shared/client/stream/frames.ts';
import { streamOf, useStreamOwner } from './stream.ts';
import { useComing } from './whole.ts';

export type LiveBook = {
  readonly state: BookState;
  /** Why the book is stale. */
  readonly cause: StaleCause | null;
  /** Time of the last change, in Unix milliseconds. */
  readonly changedMs: number;
  /** Levels of Yes and of No. */
  readonly levels: readonly [Levels, Levels];
  /** Trades since the view was opened, newest first. */
  readonly trades: readonly TradeFrame[];
};

const NO_LEVELS: Levels = { bids: [], asks: [] };
const STARTING: LiveBook = {
  state: 'starting',
  cause: null,
  changedMs: 0,
  levels: [NO_LEVELS, NO_LEVELS],
  trades: [],
};
const MOST_TRADES = 100;
const PACE_MS = 50;

export function useBook(marketId: string): LiveBook {
  const [shown, show] = useState(STARTING);
  const owner = useStreamOwner();
  const kept = useRef<{ readonly marketId: string; trades: readonly TradeFrame[] }>({ marketId, trades: [] });
  useEffect(() => {
    if (owner === null) return;
    // Trades already seen stay when the visitor signs in or out.
    if (kept.current.marketId !== marketId) kept.current = { marketId, trades: [] };
    const seen = kept.current;
    let cause: StaleCause | null = null;
    let isDue = false;
    let frame = 0;
    let pause: ReturnType<typeof setTimeout> | undefined;
    const draw = (): void => {
      frame = 0;
      isDue = false;
      show(bookNow(book, cause, seen.trades));
      pause = setTimeout(() => {
        pause = undefined;
        if (isDue) drawSoon();
      }, PACE_MS);
    };
    const drawSoon = (): void => {
      isDue = true;
      if (frame === 0 && pause === undefined) frame = requestAnimationFrame(draw);
    };
    const book = streamOf(owner).openBook(marketId, {
      verify: 'every',
      onEvent: (event) => {
        if (event.type === 'trade') seen.trades = [event.frame, ...seen.trades].slice(0, MOST_TRADES);
        if (event.type === 'stale') cause = event.cause;
        if (event.type === 'live') cause = null;
        drawSoon();
      },
    });
    book.ready().catch(drawSoon);
    return () => {
      cancelAnimationFrame(frame);
      clearTimeout(pause);
      book.close();
    };
  }, [marketId, owner]);
  useComing(shown.state === 'starting');
  return shown;
}

function bookNow(book: BookStream, cause: StaleCause | null, trades: readonly TradeFrame[]): LiveBook {
  const { state, timestamp } = book;
  return { state, cause, changedMs: timestamp, levels: [book.levels(0), book.levels(1)], trades };
}
