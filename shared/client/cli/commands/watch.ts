/** Follows changes of markets, tickers and candles; prints a line of JSON for each. */
import { CANDLE_INTERVALS } from '../../../api/candles.ts';
import type { CandleEvent, MarketChangeEvent, TickerEvent } from '../../stream/channelStream.ts';
import { command } from '../frame/command.ts';
import { UsageError } from '../frame/errors.ts';
import { MARKET_WORDS } from '../frame/marketNames.ts';
import { numberOf } from '../frame/orderForm.ts';
import { OUTCOME_OPTION } from '../frame/outcomeNames.ts';
import { follow } from './tail.ts';

type Event = MarketChangeEvent | TickerEvent | CandleEvent;

const watch = command({
  name: 'watch',
  summary: 'Follow changes of markets, tickers or candles as lines of JSON',
  details:
    'Changes are those of status, stage, fee, times and decision, and new markets; `state` is a market as it is. ' +
    'Without markets and events, changes and tickers are those of all. It goes on over lost connections, and says ' +
    '`stale` and `live`, until Ctrl-C.',
  access: 'anyone',
  arguments: {
    what: { description: 'what to follow', choices: ['changes', 'tickers', 'candles'] },
    markets: { description: MARKET_WORDS, optional: true, many: true },
  },
  options: {
    event: { value: 'event', description: 'changes: of the markets of this event too, by slug or id', many: true },
    interval: { value: 'interval', description: 'candles: their length, 1m by default', choices: CANDLE_INTERVALS },
    outcome: { ...OUTCOME_OPTION, description: 'candles: of this token, yes by default; yes, no or its name' },
    count: { value: 'number', description: 'end after so many lines' },
  },
  examples: ['watch changes', 'watch tickers MARKET', 'watch candles MARKET --interval 5m --count 10'],
  json: 'the same: every line is a JSON value',
  run: async (context, given) => {
    const { what, markets: named, event, interval, outcome } = given;
    if (what === 'candles' && named.length === 0) throw new UsageError('watch candles needs markets');
    if (what !== 'changes' && event.length > 0) throw new UsageError('--event is for changes');
    if (what !== 'candles' && (interval ?? outcome) !== undefined) {
      throw new UsageError('--interval and --outcome are for candles');
    }
    const count = given.count === undefined ? Number.POSITIVE_INFINITY : numberOf('count', given.count);
    const markets = await Promise.all(named.map((market) => context.marketId(market)));
    const events = await Promise.all(event.map((slug) => context.eventId(slug)));
    const quoted = what === 'candles' ? markets : [];
    const indices = await Promise.all(quoted.map((market) => context.outcome(market, outcome ?? 'yes')));
    const [outcomeIndex = 0] = indices;
    if (indices.some((index) => index !== outcomeIndex))
      throw new UsageError('--outcome is another one in each market');
    const stream = await context.stream({ isPrivate: false });
    const all = markets.length === 0 && event.length === 0;
    const feeds: Record<string, () => AsyncIterable<Event>> = {
      changes: () => stream.openMarketChanges({ markets, events, all }),
      tickers: () => stream.openTickers({ markets, all }),
      candles: () =>
        stream.openCandles({
          markets,
          interval: interval ?? '1m',
          outcomeIndex,
        }),
    };
    await follow(context, stream, [feeds[what]()], { only: [], count });
    return null;
  },
});

export const WATCH = [watch];
