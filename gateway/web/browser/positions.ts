/** The positions of the account: their cost, their worth at present prices, and the gain. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import type { Market, Position } from '../../../shared/client/types.ts';
import { bestPrices, useLoaded } from './api.ts';
import { cents, gain, outcomeName, units } from './format.ts';
import { Link } from './router.ts';
import { type Value, worthOf } from './worth.ts';

const PRICES_SECONDS = 10;

type PositionsProps = {
  readonly positions: readonly Position[];
  readonly markets: ReadonlyMap<string, Market>;
};

export function Positions({ positions, markets }: PositionsProps): VNode {
  const held = positions.filter(({ quantity }) => quantity !== '0');
  const ids = [...new Set(held.map(({ market_id }) => market_id))];
  const { value: prices } = useLoaded(`worth ${ids.join()}`, () => bestPrices(ids), PRICES_SECONDS);
  if (held.length === 0) return html`<p class="quiet">You have no positions.</p>`;
  const values = held.map((position) => worthOf(position, prices?.get(position.market_id)));
  return html`<table><caption class="unseen">Your positions</caption>
    <thead><tr><th scope="col">Market</th><th scope="col">Tokens</th><th scope="col" class="wide">Bought at</th>
      <th scope="col">Worth now</th><th scope="col">Gain</th><th scope="col" class="wide">Realised</th></tr></thead>
    <tbody>${held.map(
      (position, index) => html`<${PositionRow} key=${position.id} position=${position} value=${values[index]}
        market=${markets.get(position.market_id)} />`,
    )}</tbody>
    ${held.length > 1 && html`<${Totals} values=${values} />`}</table>`;
}

type PositionRowProps = {
  readonly position: Position;
  readonly value: Value;
  readonly market: Market | undefined;
};

function PositionRow({ position, value: { worthMicro, gainMicro }, market }: PositionRowProps): VNode {
  const { market_id, outcome_index, quantity, average_entry_price: entry, realized_pnl: realized } = position;
  return html`<tr>
    <th scope="row"><${Link} to=${`/markets/${market_id}`}>${market?.title ?? 'Market'}</${Link}></th>
    <td>${units(quantity)} ${outcomeName(market, outcome_index)}</td>
    <td class="wide">${entry === null ? '–' : cents(entry)}</td>
    <td>${worthMicro === null ? '–' : `$${units(worthMicro)}`}</td>
    <td><${Gain} micro=${gainMicro} /></td>
    <td class="wide">${realized === null ? '–' : gain(BigInt(realized.replace('.', '')))}</td></tr>`;
}

/** Totals over the positions whose values are known. */
function Totals({ values }: { readonly values: readonly Value[] }): VNode {
  const sum = (of: (value: Value) => bigint | null): bigint =>
    values.reduce((total, value) => total + (of(value) ?? 0n), 0n);
  return html`<tfoot><tr><th scope="row">Together</th><td></td><td class="wide"></td>
    <td>$${units(sum(({ worthMicro }) => worthMicro))}</td>
    <td><${Gain} micro=${sum(({ gainMicro }) => gainMicro)} /></td><td class="wide"></td></tr></tfoot>`;
}

/** The sign says the same as the colour. */
function Gain({ micro }: { readonly micro: bigint | null }): VNode {
  if (micro === null) return html`–`;
  return html`<span class=${micro < 0n ? 'no' : 'yes'}>${gain(micro)}</span>`;
}
