/** The tokens bid for and offered up to each price, as two staircases. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import type { Level, Levels } from '../../../shared/client/stream/bookReplica.ts';
import { units } from './format.ts';

const WIDTH = 400;
const HEIGHT = 140;

type Step = { readonly x: number; readonly sum: number };

export function DepthChart({ levels, outcome }: { readonly levels: Levels; readonly outcome: string }): VNode | null {
  const bids = staircase(levels.bids);
  const asks = staircase(levels.asks);
  const most = Math.max(bids.at(-1)?.sum ?? 0, asks.at(-1)?.sum ?? 0);
  if (most === 0) return html`<p class="quiet">There are no orders.</p>`;
  const total = (side: readonly Step[]): string => units(BigInt(Math.round(side.at(-1)?.sum ?? 0)));
  const label = `Depth of ${outcome}: ${total(bids)} tokens bid for, ${total(asks)} offered`;
  return html`<svg class="depth" viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img"
    aria-label=${label}>
    <path class="bid" d=${outline(bids, 0, most)} />
    <path class="ask" d=${outline(asks, WIDTH, most)} />
  </svg>
  <p key="axis" class="axis" aria-hidden="true"><span>0¢</span><span>50¢</span><span>100¢</span></p>`;
}

/** A drawing needs no exact sums. */
function staircase(levels: readonly Level[]): Step[] {
  let sum = 0;
  return levels.map(({ price, token_quantity_atomic }) => {
    sum += Number(token_quantity_atomic);
    return { x: Number(price) * WIDTH, sum };
  });
}

/** Draws from the best price outwards to the edge, then back along the bottom. */
function outline(steps: readonly Step[], edgeX: number, most: number): string {
  if (steps.length === 0) return '';
  const y = (sum: number): string => (HEIGHT - (sum / most) * (HEIGHT - 4)).toFixed(1);
  let path = `M${steps[0].x.toFixed(1)} ${HEIGHT}`;
  for (const [index, { x, sum }] of steps.entries()) {
    const nextX = steps[index + 1]?.x ?? edgeX;
    path += `L${x.toFixed(1)} ${y(sum)}L${nextX.toFixed(1)} ${y(sum)}`;
  }
  return `${path}L${edgeX} ${HEIGHT}Z`;
}
