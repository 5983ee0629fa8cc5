/** The latest trades: those before the view was opened, and later ones as they come. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import type { TradeFrame } from '../../../shared/client/stream/frames.ts';
import type { MarketTrades } from '../../../shared/client/types.ts';
import { get, useLoaded } from './api.ts';
import { cents, complement, units } from './format.ts';
import { zoneName } from './times.ts';
import { When } from './when.ts';

const MOST_ROWS = 16;
const SECOND_MS = 1000;

type Row = { id: string; price: string; amountAtomic: string; isBuy: boolean; timeMs: number };

type TapeProps = {
  readonly marketId: string;
  /** The name of the first outcome, whose prices are shown. */
  readonly outcome: string;
  readonly trades: readonly TradeFrame[];
};

export function Tape({ marketId, outcome, trades }: TapeProps): VNode {
  const past = useLoaded<MarketTrades>(marketId, () => get(`/v1/markets/${marketId}/trades`));
  const rows = trades.slice(0, MOST_ROWS).map(rowOf);
  const isShown = new Set(rows.map(({ id }) => id));
  for (const { id, price, amount, side, timestamp } of past.value?.trades ?? []) {
    if (rows.length === MOST_ROWS) break;
    if (isShown.has(id)) continue;
    rows.push({ id, price, amountAtomic: amount, isBuy: side === 'BUY', timeMs: timestamp * SECOND_MS });
  }
  if (rows.length === 0) return html`<p class="quiet">${past.error ?? 'No trades yet.'}</p>`;
  return html`<table class="tape">
    <caption class="unseen">Latest trades, newest first, as prices of ${outcome}</caption>
    <thead><tr><th scope="col">Time <small>${zoneName()}</small></th>
      <th scope="col">Taker</th><th scope="col">Price</th>
      <th scope="col">Tokens</th></tr></thead>
    <tbody>${rows.map((row) => html`<${TapeRow} key=${row.id} ...${row} />`)}</tbody>
  </table>`;
}

/** A trade does not change: its row is drawn once. */
function TapeRow({ id, price, amountAtomic, isBuy, timeMs }: Row): VNode {
  return useMemo(
    () => html`<tr class=${isBuy ? 'bid' : 'ask'}>
      <td><${When} time=${timeMs} isClock /></td><td>${isBuy ? 'bought' : 'sold'}</td><td>${cents(price)}</td>
      <td>${units(amountAtomic)}</td></tr>`,
    [id],
  );
}

/** In terms of Yes: buying No is selling Yes at one minus the price. */
function rowOf({ data, timestamp }: TradeFrame): Row {
  const isYes = data.outcome_index === 0;
  return {
    id: data.trade_id,
    price: isYes ? data.price : complement(data.price),
    amountAtomic: data.token_quantity_atomic,
    isBuy: (data.taker_side === 'BUY') === isYes,
    timeMs: timestamp,
  };
}
