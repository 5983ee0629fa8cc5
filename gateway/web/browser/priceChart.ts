/** The price over time, drawn by uPlot, which is loaded with the first chart. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type UPlot from 'uplot';
import type { TradeFrame } from '../../../shared/client/stream/frames.ts';
import type { PriceHistory } from '../../../shared/client/types.ts';
import { get, useLoaded } from './api.ts';

type PriceChartProps = { readonly marketId: string; readonly outcome: 0 | 1; readonly trades: readonly TradeFrame[] };

const INTERVALS = ['1m', '5m', '1h', '1d'] as const;
type Interval = (typeof INTERVALS)[number];
type Shown = { readonly interval: Interval; readonly history: PriceHistory['history'] };
/** A market with fewer points than this is shown by a finer interval, unless the visitor has chosen one. */
const ENOUGH_POINTS = 12;
const HEIGHT = 220;
const SECOND_MS = 1000;
const REFRESH_SECONDS = 30;
const MINUTE = 60;
const MINUTE_MS = 60_000;

export function PriceChart({ marketId, outcome, trades }: PriceChartProps): VNode {
  const [chosen, choose] = useState<Interval | null>(null);
  const load = (): Promise<Shown> => (chosen === null ? loadFitting(marketId) : loadHistory(marketId, chosen));
  const { value, error } = useLoaded(`${marketId} ${chosen}`, load, REFRESH_SECONDS);
  const interval = chosen ?? value?.interval;
  const all: [number, number][] = (value?.history ?? []).map(({ timestamp, price }) => [timestamp, Number(price)]);
  const loadedUntil = all.at(-1)?.[0] ?? 0;
  all.push(
    ...trades
      .map(sold)
      .reverse()
      .filter(([time]) => time > loadedUntil),
  );
  // The last price holds until now.
  const newest = all.at(-1);
  if (newest !== undefined) all.push([Math.max(newest[0], Math.ceil(Date.now() / MINUTE_MS) * MINUTE), newest[1]]);
  return html`
    <div class="chips small" role="group" aria-label="Interval">
      ${INTERVALS.map(
        (name) => html`<button key=${name} type="button" aria-pressed=${interval === name}
          onClick=${() => choose(name)}>${name}</button>`,
      )}
    </div>
    ${
      all.length === 0
        ? html`<p class="quiet">${error ?? (value === null ? 'Loading …' : 'No trades yet.')}</p>`
        : html`<${Plot} times=${all.map(([time]) => time)}
            prices=${all.map(([, price]) => (outcome === 0 ? price : 1 - price) * 100)} />`
    }
  `;
}

async function loadHistory(marketId: string, interval: Interval): Promise<Shown> {
  const { history } = await get<PriceHistory>(`/v1/markets/${marketId}/history?interval=${interval}`);
  return { interval, history };
}

/** Hours are too coarse to show anything of a young market. */
async function loadFitting(marketId: string): Promise<Shown> {
  for (const interval of ['1h', '5m'] as const) {
    const shown = await loadHistory(marketId, interval);
    if (shown.history.length >= ENOUGH_POINTS) return shown;
  }
  return loadHistory(marketId, '1m');
}

/** Returns the time in seconds and the price in terms of Yes. */
function sold({ data, timestamp }: TradeFrame): [number, number] {
  return [timestamp / SECOND_MS, data.outcome_index === 0 ? Number(data.price) : 1 - Number(data.price)];
}

type PlotProps = { readonly times: readonly number[]; readonly prices: readonly number[] };

function Plot({ times, prices }: PlotProps): VNode {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot | null>(null);
  const data: UPlot.AlignedData = [[...times], [...prices]];
  const newest = useRef(data);
  newest.current = data;
  useEffect(() => {
    let isLeft = false;
    const resized = new ResizeObserver(([entry]) => {
      plot.current?.setSize({ width: entry.contentRect.width, height: HEIGHT });
    });
    const load = async (): Promise<void> => {
      const { default: Plotter } = await import('uplot');
      if (isLeft || place.current === null) return;
      plot.current = new Plotter(options(place.current), newest.current, place.current);
      resized.observe(place.current);
    };
    load().catch(() => {
      if (place.current !== null) place.current.textContent = 'The chart could not be loaded.';
    });
    return () => {
      isLeft = true;
      resized.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, []);
  useEffect(() => plot.current?.setData(data), [times.length, times.at(-1), prices.at(-1), prices.at(0)]);
  const label = `The last price is ${prices.at(-1)!.toFixed(1)} cents, of ${prices.length} points`;
  return html`<div class="plot" ref=${place} role="img" aria-label=${label}></div>`;
}

/** Colours come from the style sheet, which handles dark and light. */
function options(place: HTMLElement): UPlot.Options {
  const style = getComputedStyle(place);
  const line = style.getPropertyValue('--accent');
  const axis = { stroke: style.getPropertyValue('--quiet'), grid: { stroke: style.getPropertyValue('--line') } };
  return {
    width: place.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    scales: {
      y: { range: [0, 100] },
    },
    series: [{}, { stroke: line, width: 2 }],
    axes: [axis, { ...axis, values: (_, ticks) => ticks.map((tick) => `${tick}¢`), size: 44 }],
  };
}
