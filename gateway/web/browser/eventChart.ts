/** The chances of several markets of an event in one chart: those that were traded most. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { Market } from '../../../shared/client/types.ts';
import { useLoaded } from './api.ts';
import { lineOf, type Range, rangeOf } from './chartRanges.ts';
import { chance, inCents } from './format.ts';
import { Plot } from './plot.ts';
import { ALL_PRICES, loadBars, RangeChips } from './priceChart.ts';
import { ToCome } from './toCome.ts';
import { When } from './when.ts';

/** The colours of the lines, in the style sheet. */
const COLORS = ['--series-1', '--series-2', '--series-3', '--series-4', '--series-5'] as const;
const REFRESH_SECONDS = 60;
const SECOND_MS = 1000;
const LEAST_SPAN = 1000;

/** Those of the markets that a chart shows, with the colour of each. */
export function charted(traded: readonly Market[]): ReadonlyMap<string, string> {
  const volume = ({ total_volume }: Market): number => Number(total_volume);
  const most = [...traded].sort((a, b) => volume(b) - volume(a)).slice(0, COLORS.length);
  return new Map(most.map(({ id }, index) => [id, COLORS[index]]));
}

type EventChartProps = { readonly markets: readonly Market[]; readonly marks: ReadonlyMap<string, string> };

type Series = { readonly market: Market; readonly times: readonly number[]; readonly ticks: readonly number[] };
type Loaded = { readonly from: number; readonly to: number; readonly series: readonly Series[] };

export function EventChart({ markets, marks }: EventChartProps): VNode | null {
  const shown = markets.filter(({ id }) => marks.has(id));
  const [range, setRange] = useState<Range>(() => rangeOf(openedMs(markets), Date.now()));
  const [moment, setMoment] = useState<number | null>(null);
  const key = `${[...marks.keys()].join()} ${range}`;
  const { value, error } = useLoaded(key, () => loadSeries(shown, range), REFRESH_SECONDS);
  const drawn = useMemo(() => (value === null ? null : drawnOf(value, marks)), [value]);
  if (shown.length === 0) return null;
  const at = moment ?? (drawn === null ? 0 : drawn.times.length - 1);
  return html`<section class="panel" aria-labelledby="chances"><h2 id="chances">Chances</h2>
    <ul class="legend">${shown.map((market) => {
      const ticks = drawn?.values.get(market.id)?.[at];
      return html`<li key=${market.id}>
        <span class="mark" style=${{ background: `var(${marks.get(market.id)})` }}></span>${' '}
        <bdi>${market.subtitle || market.title}</bdi>${' '}
        <strong>${ticks == null ? '–' : chance(String(ticks / ALL_PRICES[1]))}</strong></li>`;
    })}</ul>
    <p class="quiet moment">${
      drawn !== null && moment !== null ? html`<${When} time=${drawn.times[at] * SECOND_MS} />` : 'Now'
    }</p>
    <${RangeChips} range=${range} onChange=${setRange} />
    ${
      drawn === null
        ? html`<${ToCome} error=${error} isPlot />`
        : html`<${Plot} label=${labelOf(value!.series)} times=${drawn.times} lines=${drawn.lines} from=${value!.from}
            to=${value!.to} leastSpan=${LEAST_SPAN} bounds=${ALL_PRICES} unitOf=${inCents} onMoment=${setMoment} />`
    }</section>`;
}

/** All of them are read by the range of the oldest, so that their moments are the same. */
async function loadSeries(markets: readonly Market[], range: Range): Promise<Loaded> {
  const oldest = new Date(openedMs(markets)).toISOString();
  const loaded = await Promise.all(markets.map((market) => loadBars({ ...market, created_at: oldest }, 0, range)));
  const from = Math.min(...loaded.map(({ plan }) => plan.from));
  const to = Math.max(...loaded.map(({ plan }) => plan.to));
  const series = loaded.map(({ plan, bars, before }, index) => ({
    market: markets[index],
    ...lineOf(bars, before, plan),
  }));
  return { from, to, series };
}

/** Each line holds its last price at the moments of the others. */
function drawnOf({ series }: Loaded, marks: ReadonlyMap<string, string>) {
  const times = [...new Set(series.flatMap((each) => each.times))].sort((a, b) => a - b);
  const values = new Map(series.map((each) => [each.market.id, heldAt(each, times)]));
  const lines = series.map(({ market }) => ({ values: values.get(market.id)!, color: marks.get(market.id)! }));
  return { times, values, lines };
}

function heldAt({ times, ticks }: Series, moments: readonly number[]): (number | null)[] {
  let next = 0;
  return moments.map((moment) => {
    while (next < times.length && times[next] <= moment) next += 1;
    return next === 0 ? null : ticks[next - 1];
  });
}

function openedMs(markets: readonly Market[]): number {
  return Math.min(...markets.map(({ created_at }) => Date.parse(created_at)));
}

function labelOf(series: readonly Series[]): string {
  const ends = series.map(({ market, ticks }) => `${market.subtitle || market.title} ${inCents(ticks.at(-1) ?? 0)}`);
  return `The last prices: ${ends.join(', ')}. Arrow keys show earlier ones.`;
}
