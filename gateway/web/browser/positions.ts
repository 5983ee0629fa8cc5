/** The positions of the account: their cost, their worth at present prices, the gain, and a way to sell them. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { sumToDecimal } from '../../../shared/base/units.ts';
import type { Market, Position, Redeemable, Ticker } from '../../../shared/client/types.ts';
import { bestPrices, get, useLoaded } from './api.ts';
import { cents, gain, outcomeName, units } from './format.ts';
import { Link } from './router.ts';
import { type Value, worthOf } from './worth.ts';

const PRICES_SECONDS = 10;
const HALF = '0.5';
/** Markets without a middle of the book, whose last price is asked for one by one. */
const MOST_TICKERS = 20;

/** The worth of each position, at the prices of RULES.md 14.25. */
export function useWorths(held: readonly Position[], markets: ReadonlyMap<string, Market>): readonly Value[] {
  const ids = [...new Set(held.map(({ market_id }) => market_id))];
  const open = ids.filter((id) => markets.get(id)?.payouts === undefined);
  const { value: marks } = useLoaded(`worth ${open.join()}`, () => loadMarks(open), PRICES_SECONDS);
  return held.map((position) => {
    const payouts = markets.get(position.market_id)?.payouts;
    const mark = payouts === undefined ? marks?.get(position.market_id) : sumToDecimal(BigInt(payouts[0]));
    const worth = worthOf(position, mark === undefined ? undefined : { midpoint: mark });
    // The decision has realized it (RULES.md 13.11).
    return payouts === undefined ? worth : { ...worth, gainMicro: 0n };
  });
}

/** The middle of the book of Yes, or without one the last price, or before any trade half a USDC. */
async function loadMarks(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const best = await bestPrices(ids);
  const marks = new Map<string, string>();
  let asked = 0;
  for (const id of ids) {
    let mark = best.get(id)?.midpoint ?? null;
    if (mark === null && asked < MOST_TICKERS) {
      asked += 1;
      mark = (await get<Ticker>(`/v1/markets/${id}/ticker`)).last_price ?? HALF;
    }
    if (mark !== null) marks.set(id, mark);
  }
  return marks;
}

type PositionsProps = {
  /** Those with tokens. */
  readonly positions: readonly Position[];
  readonly worths: readonly Value[];
  readonly markets: ReadonlyMap<string, Market>;
  readonly redeemable: readonly Redeemable[];
  readonly onClaim: (marketId: string) => void;
};

export function Positions({ positions, worths, markets, redeemable, onClaim }: PositionsProps): VNode {
  if (positions.length === 0) return html`<p class="quiet">You have no positions.</p>`;
  return html`<table><caption class="unseen">Your positions</caption>
    <thead><tr><th scope="col">Market</th><th scope="col">Tokens</th><th scope="col" class="wide">Bought at</th>
      <th scope="col">Worth now</th><th scope="col">Gain</th><th scope="col" class="wide">Realised</th></tr></thead>
    <tbody>${positions.map(
      (position, index) => html`<${PositionRow} key=${position.id} position=${position} value=${worths[index]}
        market=${markets.get(position.market_id)} onClaim=${onClaim}
        payout=${redeemable.find((row) => isOf(row, position))?.payout} />`,
    )}</tbody>
    ${positions.length > 1 && html`<${Totals} values=${worths} />`}</table>`;
}

function isOf(row: Redeemable, { market_id, outcome_index }: Position): boolean {
  return row.market_id === market_id && row.outcome_index === outcome_index;
}

type PositionRowProps = {
  readonly position: Position;
  readonly value: Value;
  readonly market: Market | undefined;
  /** Micro-USDC that its claim pays; undefined if there is nothing to claim. */
  readonly payout: string | undefined;
  readonly onClaim: (marketId: string) => void;
};

function PositionRow(props: PositionRowProps): VNode {
  const { position, market, payout, onClaim } = props;
  const { worthMicro, gainMicro } = props.value;
  const { market_id, outcome_index, quantity, average_entry_price: entry, realized_pnl: realized } = position;
  const place = `/markets/${market_id}`;
  const held = sumToDecimal(BigInt(quantity));
  const title = market?.title ?? 'Market';
  return html`<tr>
    <th scope="row"><${Link} to=${place}><bdi>${title}</bdi></${Link}>${' '}
      ${
        market?.status === 'active'
          ? html`<${Link} to=${`${place}?outcome=${outcome_index}&side=sell&size=${held}`} class="button small"
              aria-label=${`Sell ${outcomeName(market, outcome_index)} of ${title}`}>Sell</${Link}>`
          : market !== undefined && html`<span class="tag">${market.status}</span>`
      }${
        payout !== undefined &&
        html`${' '}<button type="button" class="small primary" onClick=${() => onClaim(market_id)}
          aria-label=${`Claim $${units(payout)} of ${title}`}>Claim $${units(payout)}</button>`
      }</th>
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
