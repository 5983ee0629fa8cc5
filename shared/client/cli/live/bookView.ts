/**
 * The live book as lines of a terminal, of any size: the best prices are always there, and with less room there are
 * fewer levels and fewer columns.
 */

import type { Level } from '../../stream/bookReplica.ts';
import type { BookState, StaleCause } from '../../stream/bookStream.ts';
import type { Colour, Paint } from '../frame/terminal.ts';
import { decimal, printable } from '../frame/text.ts';

export type BookPicture = {
  readonly title: string;
  readonly outcome: string;
  readonly state: BookState;
  /** Of the last time that it was stale. */
  readonly cause: StaleCause | null;
  readonly sequence: number | null;
  readonly bids: readonly Level[];
  readonly asks: readonly Level[];
  readonly trades: readonly Trade[];
};
export type Trade = { readonly price: string; readonly tokens: string; readonly side: string; readonly time: string };
type Size = { readonly columns: number; readonly rows: number };

const SPREAD_LINES = 1;
/** On a low terminal the prices come first. */
const ROWS_FOR = { head: 12, title: 8, foot: 8 };
/** From here on there is room for the sum of the levels, then for a bar, then for the trades. */
const WIDTH_FOR = { total: 38, bar: 52, trades: 76 };
const BOOK_WIDTH = 48;
/** Prices are below 1: the point is their second sign. */
const DECIMALS_FROM = 2;
const BAR = '█';
const GAP = '  ';

/** No line is wider than the terminal, and there are no more of them than it has rows. */
export function drawBook(picture: BookPicture, { columns, rows }: Size, paint: Paint): string[] {
  const head = headLines(picture, columns, paint).slice(0, rows >= ROWS_FOR.head ? 3 : rows >= ROWS_FOR.title ? 1 : 0);
  const foot = footLines(picture, columns, paint).slice(0, rows >= ROWS_FOR.foot ? 2 : 1);
  const room = Math.max(2, rows - head.length - foot.length - SPREAD_LINES);
  const each = Math.max(1, Math.floor(room / 2));
  const width = columns >= WIDTH_FOR.trades ? BOOK_WIDTH : columns;
  const asks = levelLines(picture.asks.slice(0, each), width, 'red', paint).reverse();
  const bids = levelLines(picture.bids.slice(0, each), width, 'green', paint);
  const book = [
    ...Array.from({ length: Math.min(each, room - each) - asks.length }, () => ''),
    ...asks,
    paint('bold', cut(spreadText(picture), width)),
    ...bids,
  ];
  const body = columns >= WIDTH_FOR.trades ? beside(book, tradeLines(picture.trades, book.length, paint)) : book;
  return [...head, ...body, ...foot].slice(0, rows);
}

function headLines({ title, outcome }: BookPicture, columns: number, paint: Paint): string[] {
  const head = columns >= WIDTH_FOR.total ? '     PRICE        TOKENS         TOTAL' : '     PRICE        TOKENS';
  return [paint('bold', cut(printable(title), columns)), cut(outcome, columns), paint('dim', cut(head, columns))];
}

function footLines({ state, cause, sequence }: BookPicture, columns: number, paint: Paint): string[] {
  const words = {
    starting: 'waiting for the book',
    live: `live, checksum verified at ${sequence}`,
    stale: `STALE (${cause}): getting it again`,
    closed: 'closed',
  };
  const colour: Colour = state === 'live' ? 'green' : 'yellow';
  return [paint(colour, cut(words[state], columns)), paint('dim', cut('q quits', columns))];
}

function spreadText({ bids, asks }: BookPicture): string {
  if (bids.length === 0 && asks.length === 0) return '     no orders';
  if (bids.length === 0 || asks.length === 0) return '     one side only';
  const spread = scaled(asks[0].price) - scaled(bids[0].price);
  return `     spread ${decimal(spread)}`;
}

function levelLines(levels: readonly Level[], width: number, colour: Colour, paint: Paint): string[] {
  const largest = levels.reduce((most, { token_quantity_atomic }) => max(most, BigInt(token_quantity_atomic)), 1n);
  const decimals = Math.max(0, ...levels.map(({ price }) => price.length - DECIMALS_FROM));
  let total = 0n;
  return levels.map(({ price, token_quantity_atomic }) => {
    const atomic = BigInt(token_quantity_atomic);
    total += atomic;
    const cells = [price.padEnd(DECIMALS_FROM + decimals, '0').padStart(10), decimal(atomic).padStart(14)];
    if (width >= WIDTH_FOR.total) cells.push(decimal(total).padStart(14));
    const text = cut(cells.join(''), width);
    const barWidth = width >= WIDTH_FOR.bar ? Math.min(24, width - text.length - GAP.length) : 0;
    const bar = barWidth > 0 ? GAP + BAR.repeat(Number((atomic * BigInt(barWidth)) / largest)) : '';
    return paint(colour, text + bar);
  });
}

function tradeLines(trades: readonly Trade[], count: number, paint: Paint): string[] {
  return trades
    .slice(0, count)
    .map(({ time, price, tokens, side }) =>
      paint(side === 'BUY' ? 'green' : 'red', `${time} ${price.padStart(7)} ${tokens.padStart(10)}`),
    );
}

/** Colours take no room on the screen, so the width is that of the text without them. */
function beside(left: readonly string[], right: readonly string[]): string[] {
  return left.map((line, at) => line + ' '.repeat(Math.max(0, BOOK_WIDTH - visible(line))) + (right[at] ?? ''));
}

function visible(text: string): number {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the marks of colours begin with one
  return text.replace(/\x1b\[\d+m/g, '').length;
}

function cut(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`;
}

/** "0.65" in millionths. */
function scaled(price: string): bigint {
  const [whole, fraction = ''] = price.split('.');
  return BigInt(whole) * 1_000_000n + BigInt(fraction.padEnd(6, '0'));
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
