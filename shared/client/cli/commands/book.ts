/** The book of a market: once, or live, verified by its checksum with every change. */

import type { Outcome } from '../../../base/codes.ts';
import { deferred } from '../../../base/deferred.ts';
import type { BookEvent, BookStream, StaleCause } from '../../stream/bookStream.ts';
import type { BookLevel, BookSides } from '../../types.ts';
import { command } from '../frame/command.ts';
import type { Context } from '../frame/context.ts';
import { UsageError } from '../frame/errors.ts';
import { MARKET_WORDS } from '../frame/marketNames.ts';
import { numberOf, unitsOf } from '../frame/orderForm.ts';
import { OUTCOME_OPTION } from '../frame/outcomeNames.ts';
import { untilInterrupted, writeLine } from '../frame/terminal.ts';
import { columns, decimal, printable, shownPrice } from '../frame/text.ts';
import { type BookPicture, drawBook, type Trade } from '../live/bookView.ts';
import { Screen } from '../live/screen.ts';

const KEPT_TRADES = 50;
const MICRO = 1_000_000n;

const book = command({
  name: 'book',
  summary: 'Show the book of a market, once or live',
  details:
    'With --live it is drawn anew as it changes, from the verified stream: a gap, a lost connection or a wrong ' +
    'checksum shows as STALE until it is right again. Where the output is no terminal there is a line for each ' +
    'change of the best prices, and with --json a JSON value on each line.',
  access: 'anyone',
  arguments: { market: { description: MARKET_WORDS } },
  options: {
    live: { description: 'follow it until q or Ctrl-C' },
    outcome: { ...OUTCOME_OPTION, description: 'only this token, yes, no or its name (live: yes unless given)' },
    levels: { value: 'number', description: 'how many prices of each side', fallback: '10' },
  },
  examples: ['book MARKET', 'book MARKET --live', 'book MARKET --live --outcome no', 'book MARKET --levels 100 --json'],
  json:
    'the answer of GET /v1/orders/book/{market}?both=true, or with --outcome of one token; with --live ' +
    '`{market_id, outcome_index, state, sequence, bids, asks}` on each line',
  run: async (context, { market: named, live, outcome, levels: given }) => {
    const levels = numberOf('levels', given);
    if (levels < 1 || levels > 100) throw new UsageError('--levels is 1 to 100');
    const market = await context.marketId(named);
    const index = outcome === undefined ? undefined : await context.outcome(market, outcome);
    if (live) {
      await follow(context, market, index ?? 0, levels);
      return null;
    }
    const client = await context.reader();
    if (index !== undefined) {
      const [{ title, outcomes }, one] = await Promise.all([
        client.market(market),
        client.book(market, { outcome_index: index, levels }),
      ]);
      return { value: one, lines: [printable(title), ...bookLines(outcomes[index], one)] };
    }
    const [{ title, status, outcomes }, both] = await Promise.all([
      client.market(market),
      client.bothBooks(market, { levels }),
    ]);
    const lines = [
      `${printable(title)} (${status}), market ${market}`,
      ...bookLines(outcomes[0], both.outcome_0),
      ...bookLines(outcomes[1], both.outcome_1),
    ];
    return { value: both, lines };
  },
});

export const BOOK = [book];

function bookLines(name: string, { bids, asks }: BookSides): string[] {
  const row = (side: string) => (level: BookLevel) => [
    side,
    shownPrice(level.price),
    decimal(level.token_quantity_atomic),
    level.num_orders,
  ];
  const rows = [...asks.toReversed().map(row('ask')), ...bids.map(row('bid'))];
  return ['', printable(name), ...columns(['side', 'price', 'tokens', 'orders'], rows, 'no orders')];
}

/** The parts of a book other than its levels. */
class Followed {
  readonly trades: Trade[] = [];
  cause: StaleCause | null = null;
  readonly #outcome: Outcome;

  constructor(outcome: Outcome) {
    this.#outcome = outcome;
  }

  seen(event: BookEvent): void {
    if (event.type === 'stale') this.cause = event.cause;
    if (event.type !== 'trade') return;
    const { timestamp, data } = event.frame;
    const time = new Date(timestamp).toISOString().slice(11, 19);
    const tokens = decimal(data.token_quantity_atomic);
    // A purchase of No is a sale of Yes, at the remainder to one USDC.
    const isOwn = data.outcome_index === this.#outcome;
    const price = isOwn ? data.price : decimal(MICRO - BigInt(unitsOf('price', data.price)));
    const isBuy = (data.taker_side === 'BUY') === isOwn;
    this.trades.unshift({ price, tokens, side: isBuy ? 'BUY' : 'SELL', time });
    this.trades.length = Math.min(this.trades.length, KEPT_TRADES);
  }
}

async function follow(context: Context, market: string, outcome: Outcome, levels: number): Promise<void> {
  const { terminal, isJson } = context;
  const { title, outcomes } = await (await context.reader()).market(market);
  const stream = await context.stream({ isPrivate: false });
  const followed = new Followed(outcome);
  let changed = (): void => {};
  const book = stream.openBook(market, {
    verify: 'every',
    onEvent: (event) => {
      followed.seen(event);
      changed();
    },
  });
  const ended = deferred<void>();
  const failed = book.ready().then(() => ended.promise);
  void untilInterrupted(terminal).then(ended.resolve);
  const picture = (): BookPicture => {
    const { state, sequence } = book;
    const { cause, trades } = followed;
    return { title, outcome: printable(outcomes[outcome]), state, cause, sequence, trades, ...book.levels(outcome) };
  };
  const isScreen = terminal.out.isTTY === true && !isJson;
  const view = isScreen
    ? new Screen(terminal, (size) => drawBook(picture(), size, context.paint), ended.resolve)
    : new Lines(context, book, outcome, levels);
  changed = () => view.changed();
  view.changed();
  try {
    await Promise.race([failed, ended.promise]);
  } finally {
    view.close();
    stream.close();
  }
}

/** For a pipe: one line per change; while the reader has not read the last line, none is written. */
class Lines {
  readonly #context: Context;
  readonly #book: BookStream;
  readonly #outcome: Outcome;
  readonly #levels: number;
  #last = '';
  #isWriting = false;
  #isClosed = false;

  constructor(context: Context, book: BookStream, outcome: Outcome, levels: number) {
    this.#context = context;
    this.#book = book;
    this.#outcome = outcome;
    this.#levels = levels;
  }

  changed(): void {
    if (!this.#isWriting) void this.#write();
  }

  close(): void {
    this.#isClosed = true;
  }

  async #write(): Promise<void> {
    this.#isWriting = true;
    for (;;) {
      const line = this.#book.state === 'starting' ? '' : this.#line();
      if (line === '' || line === this.#last || this.#isClosed) break;
      this.#last = line;
      await writeLine(this.#context.terminal.out, line);
    }
    this.#isWriting = false;
  }

  #line(): string {
    const { state, sequence, marketId } = this.#book;
    if (this.#context.isJson) {
      const { bids, asks } = this.#book.levels(this.#outcome);
      const [own, other] = [bids.slice(0, this.#levels), asks.slice(0, this.#levels)];
      const value = { market_id: marketId, outcome_index: this.#outcome, state, sequence, bids: own, asks: other };
      return JSON.stringify(value);
    }
    const { bid, ask } = this.#book.best(this.#outcome);
    const side = (level: typeof bid): string =>
      level === null ? '-' : `${shownPrice(level.price)} x ${decimal(level.token_quantity_atomic)}`;
    return `${state}  bid ${side(bid)}  ask ${side(ask)}`;
  }
}
