/**
 * The book as a ladder: asks above, bids below, the last price in the middle. A level below the pointer, or with the
 * focus, says what everything up to it costs. The Tab key reaches one price, the arrow keys move to the others, and
 * Enter takes a price into the ticket.
 */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { useMemo, useRef, useState } from 'preact/hooks';
import { tryParsePriceTicks } from '../../../shared/base/units.ts';
import type { Level, Levels } from '../../../shared/client/stream/bookReplica.ts';
import { briefUnits, cents, difference, FINEST, finestTicks, inCents, units } from './format.ts';
import type { ChosenPrice, Reach } from './ticket.ts';

const ROWS_A_SIDE = 12;

type Row = {
  readonly level: Level;
  readonly costMicro: bigint;
  /** With all better prices. */
  readonly sumAtomic: bigint;
  readonly sumMicro: bigint;
};

type LadderProps = {
  readonly levels: Levels;
  readonly outcome: string;
  /** Null before the first trade. */
  readonly lastPrice: string | null;
  /** The levels that the order in the ticket would take. */
  readonly reach: Reach;
  /** Prices of the account's own open orders here, in the finest ticks. */
  readonly ownPrices: ReadonlySet<number>;
  readonly onChoose: (chosen: ChosenPrice) => void;
};

export function Ladder({ levels, outcome, lastPrice, reach, ownPrices, onChoose }: LadderProps): VNode {
  const table = useRef<HTMLTableElement>(null);
  const [tabStop, setTabStop] = useState<string | null>(null);
  const [pointed, point] = useState<string | null>(null);
  const asks = withSums(levels.asks);
  const bids = withSums(levels.bids);
  if (asks.length + bids.length === 0) return html`<p class="quiet">There are no orders.</p>`;
  const deepest = [asks.at(-1)?.sumAtomic ?? 0n, bids.at(-1)?.sumAtomic ?? 0n].reduce((a, b) => (a > b ? a : b));
  const prices = [...asks, ...bids].map(({ level }) => level.price);
  const stop = tabStop !== null && prices.includes(tabStop) ? tabStop : prices[0];
  const side = (rows: readonly Row[], name: 'ask' | 'bid'): VNode[] =>
    rows.map(
      (row) => html`<${LadderRow} key=${name + row.level.price} row=${row} side=${name} deepest=${deepest}
        isReached=${isReached(row.level, name, reach)} isOwn=${ownPrices.has(finestTicks(row.level.price))}
        isTabStop=${row.level.price === stop} onChoose=${onChoose} onFocus=${setTabStop} onPoint=${point} />`,
    );
  const asked = asks.find(({ level }) => level.price === pointed);
  const bidFor = bids.find(({ level }) => level.price === pointed);
  return html`<table class="ladder" ref=${table} onPointerLeave=${() => point(null)}
    onKeyDown=${(event: KeyboardEvent) => moveFocus(event, table.current)}>
    <caption class="unseen">Bids and asks for ${outcome}, best ${ROWS_A_SIDE} of each</caption>
    <thead><tr><th scope="col">Side</th><th scope="col">Price</th><th scope="col">Tokens</th>
      <th scope="col">Dollars</th></tr></thead>
    <tbody>${side([...asks].reverse(), 'ask')}</tbody>
    <tbody><tr class="spread"><td colspan="4">${spreadOf(levels, lastPrice)}</td></tr></tbody>
    <tbody>${side(bids, 'bid')}</tbody>
  </table>
  <p class="quiet up-to">${
    upTo(asked, 'Buying') ?? upTo(bidFor, 'Selling') ?? 'Point at a price to see what all up to it costs.'
  }</p>`;
}

type LadderRowProps = {
  readonly row: Row;
  readonly side: 'ask' | 'bid';
  readonly deepest: bigint;
  readonly isReached: boolean;
  readonly isOwn: boolean;
  readonly isTabStop: boolean;
  readonly onFocus: (price: string) => void;
  readonly onPoint: (price: string | null) => void;
} & Pick<LadderProps, 'onChoose'>;

/** Most rows are as they were when others change: Preact does not draw the same element again. */
function LadderRow({ row, deepest, ...props }: LadderRowProps): VNode {
  const { level, costMicro, sumAtomic } = row;
  const { side, isReached: isTaken, isOwn, isTabStop, onChoose } = props;
  const share = Number((sumAtomic * 100n) / deepest);
  const { price, num_orders, token_quantity_atomic } = level;
  return useMemo(
    () => drawnRow({ level, costMicro, share, ...props }),
    [price, num_orders, token_quantity_atomic, share, side, isTaken, isOwn, isTabStop, onChoose],
  );
}

type DrawnRow = Omit<LadderRowProps, 'row' | 'deepest'> & Pick<Row, 'level' | 'costMicro'> & { readonly share: number };

function drawnRow(row: DrawnRow): VNode {
  const { level, costMicro, share, side, isReached: isTaken, isOwn, isTabStop, onChoose, onFocus, onPoint } = row;
  const price = cents(level.price);
  // A click by keyboard has a click count of zero.
  const onClick = ({ detail }: MouseEvent): void => onChoose({ cents: price.slice(0, -1), movesFocus: detail === 0 });
  const note = [isTaken && 'your ticket takes it', isOwn && 'you have orders here'].filter(Boolean).join(', ');
  return html`<tr class=${`${side}${isTaken ? ' taken' : ''}`} style=${{ '--share': `${share}%` }}
    onPointerEnter=${() => onPoint(level.price)}
    title=${`${level.num_orders} orders of ${units(level.token_quantity_atomic)} tokens`}>
    <td>${side === 'ask' ? 'Ask' : 'Bid'}${isOwn && html`<span class="own" aria-hidden="true"> ●</span>`}</td>
    <td><button type="button" class="price" tabindex=${isTabStop ? 0 : -1} onFocus=${() => {
      onFocus(level.price);
      onPoint(level.price);
    }} 
      onBlur=${() => onPoint(null)}
      aria-label=${`${price}, use for the order${note === '' ? '' : ` (${note})`}`}
      onClick=${onClick}>${price}</button></td>
    <td>${briefUnits(level.token_quantity_atomic)}</td>
    <td>$${briefUnits(costMicro)}</td>
  </tr>`;
}

function isReached({ price }: Level, side: 'ask' | 'bid', reach: Reach): boolean {
  if (reach === null || side !== (reach.side === 'BUY' ? 'ask' : 'bid')) return false;
  const ticks = tryParsePriceTicks(price, reach.ticksPerUnit);
  return reach.side === 'BUY' ? ticks <= reach.lastTicks : ticks >= reach.lastTicks;
}

/** Moves the focus from one price to the next on the screen. */
function moveFocus(event: KeyboardEvent, table: HTMLTableElement | null): void {
  const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
  if (by === undefined || table === null) return;
  const buttons = [...table.querySelectorAll<HTMLButtonElement>('button.price')];
  const { target } = event;
  if (!(target instanceof HTMLButtonElement)) return;
  const next = buttons[buttons.indexOf(target) + by];
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
}

function withSums(levels: readonly Level[]): Row[] {
  let sumAtomic = 0n;
  let sumMicro = 0n;
  return levels.slice(0, ROWS_A_SIDE).map((level) => {
    const atomic = BigInt(level.token_quantity_atomic);
    const costMicro = (atomic * BigInt(finestTicks(level.price))) / BigInt(FINEST);
    sumAtomic += atomic;
    sumMicro += costMicro;
    return { level, costMicro, sumAtomic, sumMicro };
  });
}

/** "Buying all up to 40¢: 27.00 tokens for $10.80, 39.87¢ on average." */
function upTo(row: Row | undefined, verb: string): string | null {
  if (row === undefined) return null;
  const { level, sumAtomic, sumMicro } = row;
  const average = inCents(Number((sumMicro * BigInt(FINEST)) / sumAtomic));
  return `${verb} all up to ${cents(level.price)}: ${briefUnits(sumAtomic)} tokens for $${briefUnits(sumMicro)}, \
${average} on average.`;
}

function spreadOf({ bids, asks }: Levels, lastPrice: string | null): VNode {
  const spread =
    bids.length === 0
      ? 'No bids'
      : asks.length === 0
        ? 'No asks'
        : `Spread ${cents(difference(asks[0].price, bids[0].price))}`;
  return html`${lastPrice !== null && html`<strong>Last ${cents(lastPrice)}</strong> · `}${spread}`;
}
