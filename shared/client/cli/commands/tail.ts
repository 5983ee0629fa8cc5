/** Following streams, a line of JSON for each event. */
import type { BookEvent } from '../../stream/bookStream.ts';
import type { ExchangeStream } from '../../stream/exchangeStream.ts';
import type { UserEvent } from '../../stream/userStream.ts';
import { command } from '../frame/command.ts';
import type { Context } from '../frame/context.ts';
import { UsageError } from '../frame/errors.ts';
import { numberOf } from '../frame/orderForm.ts';
import { untilInterrupted, writeLine } from '../frame/terminal.ts';
import { printableJson } from '../frame/text.ts';

type Event = BookEvent | UserEvent;

const EVENT_TYPES = ['book', 'delta', 'trade', 'bbo', 'fill', 'order_status', 'gap', 'live', 'stale'];

const tail = command({
  name: 'tail',
  summary: 'Follow books and trades, or your own fills and orders, as lines of JSON',
  details:
    'Markets are public; --user follows the events of your account, each exactly once over lost connections. A line ' +
    'has the `type` of the event and the `frame` as the exchange has sent it. `stale` and `live` say how the ' +
    'connection is. It goes on until Ctrl-C.',
  access: 'anyone',
  arguments: {
    markets: {
      description: 'markets: words of the question, the slug of the event, or the id of each',
      optional: true,
      many: true,
    },
  },
  options: {
    user: { description: 'the private events of your account' },
    since: { value: 'number', description: 'with --user: after this user_sequence, which an earlier run has seen' },
    only: { value: 'types', description: 'only these types', choices: EVENT_TYPES, many: true },
    count: { value: 'number', description: 'end after so many lines' },
    'cancel-on-disconnect': { description: 'with --user: cancel all orders when this program ends' },
  },
  examples: [
    'tail MARKET --only trade',
    'tail MARKET MARKET | jq .frame.sequence',
    'tail --user --since 1041',
    'tail --user --only fill --count 1',
  ],
  json: 'the same: every line is a JSON value',
  run: async (context, given) => {
    const { user } = given;
    if (given.markets.length === 0 && !user) throw new UsageError('tail needs markets, or --user');
    if (given.since !== undefined && !user) throw new UsageError('--since is for --user');
    const since = given.since === undefined ? undefined : numberOf('since', given.since);
    const count = given.count === undefined ? Number.POSITIVE_INFINITY : numberOf('count', given.count);
    const markets = await Promise.all(given.markets.map((named) => context.marketId(named)));
    if (new Set(markets).size < markets.length) throw new UsageError('a market is given twice');
    const stream = await context.stream({ isPrivate: user });
    const cancelOnDisconnect = given['cancel-on-disconnect'];
    const feeds: AsyncIterable<Event>[] = markets.map((id) => stream.openBook(id));
    if (user) feeds.push(stream.openUser({ since, cancelOnDisconnect }));
    await follow(context, stream, feeds, { only: given.only, count });
    return null;
  },
});

export const TAIL = [tail];

type Choice = { readonly only: readonly string[]; readonly count: number };

/** Prints the events of all feeds, until Ctrl-C or until the number of lines is reached. */
export async function follow(
  { terminal }: Context,
  stream: ExchangeStream,
  feeds: readonly AsyncIterable<{ readonly type: string }>[],
  { only, count }: Choice,
): Promise<void> {
  let left = count;
  void untilInterrupted(terminal).then(() => stream.close());
  const print = async (feed: AsyncIterable<{ readonly type: string }>): Promise<void> => {
    for await (const event of feed) {
      if (only.length > 0 && !only.includes(event.type)) continue;
      if (left-- <= 0) break;
      await writeLine(terminal.out, printableJson(event));
      if (left === 0) stream.close();
    }
  };
  try {
    await Promise.all(feeds.map(print));
  } finally {
    stream.close();
  }
}
