/**
 * The tokens bid for and offered up to each price, as two staircases around the middle of the book. Under the pointer
 * stands what an order up to that price would buy or sell at once, and for how much.
 */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { Levels } from '../../../shared/client/stream/bookReplica.ts';
import { type Range, rangeOf, reached, type Step, sentenceAt, staircase } from './depth.ts';
import { inCents, units } from './format.ts';

const WIDTH = 400;
const HEIGHT = 140;

type Props = { readonly levels: Levels; readonly outcome: string };

export function DepthChart({ levels, outcome }: Props): VNode | null {
  const [pointed, setPointed] = useState<number | null>(null);
  const bids = staircase(levels.bids);
  const asks = staircase(levels.asks);
  if (bids.length + asks.length === 0) return html`<p class="quiet">There are no orders.</p>`;
  const range = rangeOf(bids, asks);
  const most = Math.max(reached(bids, range), reached(asks, range));
  const total = (side: readonly Step[]): string => units(BigInt(Math.round(side.at(-1)?.atomic ?? 0)));
  const label = `Depth of ${outcome}: ${total(bids)} tokens bid for, ${total(asks)} offered`;
  const point = ({ currentTarget, clientX }: { currentTarget: Element; clientX: number }): void => {
    const { left, width } = currentTarget.getBoundingClientRect();
    setPointed(Math.round(range.from + ((clientX - left) / width) * (range.to - range.from)));
  };
  return html`<svg class="depth" viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img"
    aria-label=${label} onPointerMove=${point} onPointerLeave=${() => setPointed(null)}>
    <path class="bid" d=${outline(bids, range.from, most, range)} />
    <path class="ask" d=${outline(asks, range.to, most, range)} />
  </svg>
  <p key="axis" class="axis" aria-hidden="true">${
    (pointed === null ? null : sentenceAt(pointed, bids, asks)) ??
    html`<span>${inCents(range.from)}</span><span>${inCents(Math.round((range.from + range.to) / 2))}</span>
      <span>${inCents(range.to)}</span>`
  }</p>`;
}

/** Draws from the best price outwards to the edge, then back along the bottom. */
function outline(steps: readonly Step[], edge: number, most: number, { from, to }: Range): string {
  const inside = steps.filter(({ ticks }) => ticks >= from && ticks <= to);
  if (inside.length === 0) return '';
  const x = (ticks: number): string => (((ticks - from) / (to - from)) * WIDTH).toFixed(1);
  const y = (atomic: number): string => (HEIGHT - (atomic / most) * (HEIGHT - 4)).toFixed(1);
  let path = `M${x(inside[0].ticks)} ${HEIGHT}`;
  for (const [index, { ticks, atomic }] of inside.entries()) {
    path += `L${x(ticks)} ${y(atomic)}L${x(inside[index + 1]?.ticks ?? edge)} ${y(atomic)}`;
  }
  return `${path}L${x(edge)} ${HEIGHT}Z`;
}
