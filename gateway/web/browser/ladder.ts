/**
 * The book as a ladder: asks above, bids below, the best prices in the middle. The Tab key reaches one price, the arrow
 * keys move to the others, and Enter takes a price into the ticket.
 */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { tryParsePriceTicks } from '../../../shared/base/units.ts';
import type { Level, Levels } from '../../../shared/client/stream/bookReplica.ts';
import { briefUnits, cents, difference, finestTicks } from './format.ts';
import type { ChosenPrice, Reach } from './ticket.ts';

const ROWS_A_SIDE = 12;

type Row = { readonly level: Level; readonly sumAtomic: bigint };

type LadderProps = {
  readonly levels: Levels;
  readonly outcome: string;
  /** The levels that the order in the ticket would take. */
  readonly reach: Reach;
  /** Prices of the account's own open orders here, in the finest ticks. */
  readonly ownPrices: ReadonlySet<number>;
  readonly onChoose: (chosen: ChosenPrice) => void;
};

export function Ladder({ levels, outcome, reach, ownPrices, onChoose }: LadderProps): VNode {
  const table = useRef<HTMLTableElement>(null);
  const [tabStop, setTabStop] = useState<string | null>(null);
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
        isTabStop=${row.level.price === stop} onChoose=${onChoose} onFocus=${setTabStop} />`,
    );
  return html`<table class="ladder" ref=${table} onKeyDown=${(event: KeyboardEvent) => moveFocus(event, table.current)}>
    <caption class="unseen">Bids and asks for ${outcome}, best ${ROWS_A_SIDE} of each</caption>
    <thead><tr><th scope="col">Side</th><th scope="col">Price</th><th scope="col">Tokens</th>
      <th scope="col">Sum</th></tr></thead>
    <tbody>${side([...asks].reverse(), 'ask')}</tbody>
    <tbody><tr class="spread"><td colspan="4">${spreadText(levels)}</td></tr></tbody>
    <tbody>${side(bids, 'bid')}</tbody>
  </table>`;
}

type LadderRowProps = {
  readonly row: Row;
  readonly side: 'ask' | 'bid';
  readonly deepest: bigint;
  readonly isReached: boolean;
  readonly isOwn: boolean;
  readonly isTabStop: boolean;
  readonly onFocus: (price: string) => void;
} & Pick<LadderProps, 'onChoose'>;

function LadderRow(props: LadderRowProps): VNode {
  const { level, sumAtomic } = props.row;
  const { side, deepest, isReached: isTaken, isOwn, isTabStop, onChoose, onFocus } = props;
  const share = Number((sumAtomic * 100n) / deepest);
  const price = cents(level.price);
  // A click by keyboard has a click count of zero.
  const onClick = ({ detail }: MouseEvent): void => onChoose({ cents: price.slice(0, -1), movesFocus: detail === 0 });
  const note = [isTaken && 'your ticket takes it', isOwn && 'you have orders here'].filter(Boolean).join(', ');
  return html`<tr class=${`${side}${isTaken ? ' taken' : ''}`} style=${{ '--share': `${share}%` }}
    title=${`${level.num_orders} orders, ${level.token_quantity_atomic} atomic tokens at ${level.price}`}>
    <td>${side === 'ask' ? 'Ask' : 'Bid'}${isOwn && html`<span class="own" aria-hidden="true"> ●</span>`}</td>
    <td><button type="button" class="price" tabindex=${isTabStop ? 0 : -1} onFocus=${() => onFocus(level.price)}
      aria-label=${`${price}, use for the order${note === '' ? '' : ` (${note})`}`}
      onClick=${onClick}>${price}</button></td>
    <td>${briefUnits(level.token_quantity_atomic)}</td>
    <td>${briefUnits(sumAtomic)}</td>
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
  return levels.slice(0, ROWS_A_SIDE).map((level) => {
    sumAtomic += BigInt(level.token_quantity_atomic);
    return { level, sumAtomic };
  });
}

function spreadText({ bids, asks }: Levels): string {
  if (bids.length === 0) return 'No bids';
  if (asks.length === 0) return 'No asks';
  return `Spread ${cents(difference(asks[0].price, bids[0].price))}`;
}
