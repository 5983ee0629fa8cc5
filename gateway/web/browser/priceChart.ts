/** The price of an outcome over a range of time: the last price and its change, a line or candles, and the volume. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { TradeFrame } from '../../../shared/client/stream/frames.ts';
import type { Candles as CandlePage, Market, PriceHistory } from '../../../shared/client/types.ts';
import { get, useLoaded } from './api.ts';
import {
  type Bar,
  barsOf,
  lineOf,
  MOST_CANDLES,
  type Plan,
  planOf,
  priceBefore,
  RANGES,
  type Range,
  rangeOf,
  withTrades,
} from './chartRanges.ts';
import { Choices } from './choices.ts';
import { changeInCents, dollars, inCents } from './format.ts';
import { Plot } from './plot.ts';
import { ToCome } from './toCome.ts';
import { When } from './when.ts';

type PriceChartProps = {
  readonly market: Market;
  readonly outcome: 0 | 1;
  /** Those since the view was opened, newest first. */
  readonly trades: readonly TradeFrame[];
};

type Loaded = { readonly plan: Plan; readonly bars: readonly Bar[]; readonly before: number | null };

const REFRESH_SECONDS = 30;
const SECOND_MS = 1000;
const MICRO = 1_000_000;
const LEAST_SPAN = 400;
export const ALL_PRICES = [0, 10_000] as const;
const PAST: Readonly<Record<Range, string>> = {
  '1H': 'in the past hour',
  '1D': 'in the past day',
  '1W': 'in the past week',
  '1M': 'in the past month',
  All: 'since it opened',
};

export function PriceChart({ market, outcome, trades }: PriceChartProps): VNode {
  const [range, setRange] = useState(() => rangeOf(Date.parse(market.created_at), Date.now()));
  const [isCandles, setCandles] = useState(false);
  const [moment, setMoment] = useState<number | null>(null);
  const key = `${market.id} ${outcome} ${range}`;
  const { value, error } = useLoaded(key, () => loadBars(market, outcome, range), REFRESH_SECONDS);
  const drawn = useMemo(() => (value === null ? null : drawnOf(value, trades, outcome)), [value, trades, outcome]);
  const name = market.outcomes[outcome];
  const styles = [
    [false, 'Line'],
    [true, 'Candles'],
  ] as const;
  return html`
    ${
      drawn === null
        ? html`<p class="headline"><strong>–</strong></p>`
        : html`<${Headline} drawn=${drawn} moment=${moment} range=${range} name=${name} />`
    }
    <div class="ends chart-choices"><${RangeChips} range=${range} onChange=${setRange} />
      <${Choices} look="small" label="Drawn as" chosen=${isCandles} choices=${styles} onChoose=${setCandles} /></div>
    ${
      drawn === null || drawn.ticks.length === 0
        ? html`<${ToCome} error=${error ?? (drawn === null ? null : 'No trades yet.')} isPlot />`
        : html`<${Plot} label=${labelOf(drawn, name)} times=${drawn.times}
            lines=${drawn.lines} volumes=${drawn.volumes} candles=${isCandles ? drawn.candles : undefined}
            candleSeconds=${drawn.plan.seconds}
            from=${drawn.plan.from} to=${drawn.plan.to} leastSpan=${LEAST_SPAN} bounds=${ALL_PRICES}
            unitOf=${inCents} onMoment=${setMoment} />`
    }`;
}

type RangeChipsProps = { readonly range: Range; readonly onChange: (range: Range) => void };

export function RangeChips({ range, onChange }: RangeChipsProps): VNode {
  const choices = RANGES.map((each) => [each, each] as const);
  return html`<${Choices} look="small" label="Range" chosen=${range} choices=${choices} onChoose=${onChange} />`;
}

/** @returns the candles of the range and the price before it */
export async function loadBars(market: Market, outcome: 0 | 1, range: Range): Promise<Loaded> {
  const endMs = market.resolved_at === undefined ? Date.now() : Date.parse(market.resolved_at);
  const plan = planOf(range, Date.parse(market.created_at), endMs);
  const path = `/v1/markets/${market.id}`;
  const query = new URLSearchParams({
    interval: plan.interval,
    outcome_index: String(outcome),
    limit: String(MOST_CANDLES),
    ...(range !== 'All' && { from: new Date(plan.from * SECOND_MS).toISOString() }),
  });
  const [{ candles }, history] = await Promise.all([
    get<CandlePage>(`${path}/candles?${query}`),
    plan.before === null ? null : get<PriceHistory>(`${path}/history?interval=${plan.before}`),
  ]);
  return { plan, bars: barsOf(candles), before: history === null ? null : priceBefore(history.history, plan, outcome) };
}

type Drawn = {
  readonly plan: Plan;
  readonly times: readonly number[];
  readonly ticks: readonly number[];
  readonly lines: readonly { readonly values: readonly number[]; readonly color: string }[];
  readonly volumes: readonly number[];
  readonly candles: Readonly<Record<'open' | 'high' | 'low' | 'close', (number | null)[]>>;
};

function drawnOf(
  { plan: loaded, bars: loadedBars, before }: Loaded,
  trades: readonly TradeFrame[],
  outcome: 0 | 1,
): Drawn {
  const bars = withTrades(loadedBars, trades, loaded, outcome);
  const newest = trades.at(0)?.timestamp ?? 0;
  const plan = { ...loaded, to: Math.max(loaded.to, Math.ceil(newest / SECOND_MS)) };
  const { times, ticks } = lineOf(bars, before, plan);
  const at = new Map(bars.map((bar) => [bar.start, bar]));
  const each = (of: 'open' | 'high' | 'low' | 'close'): (number | null)[] =>
    times.map((time) => at.get(time)?.[of] ?? null);
  return {
    plan,
    times,
    ticks,
    lines: [{ values: ticks, color: '--accent' }],
    volumes: times.map((time) => (at.get(time)?.volumeMicro ?? 0) / MICRO),
    candles: { open: each('open'), high: each('high'), low: each('low'), close: each('close') },
  };
}

type HeadlineProps = {
  readonly drawn: Drawn;
  readonly moment: number | null;
  readonly range: Range;
  readonly name: string;
};

/** The last price and its change; below the cross, the price and the volume of its moment. */
function Headline({ drawn: { times, ticks, volumes }, moment, range, name }: HeadlineProps): VNode {
  const index = moment ?? times.length - 1;
  const price = ticks[index];
  const of = html`<span class="quiet"><bdi>${name}</bdi></span>`;
  if (price === undefined) return html`<p class="headline"><strong>–</strong> ${of}</p>`;
  const change = price - ticks[0];
  return html`<p class="headline"><strong>${inCents(price)}</strong>${' '}${of}${' '}
    <span class=${change < 0 ? 'no' : 'yes'}>${changeInCents(change)}</span>${' '}
    ${
      moment === null
        ? html`<span class="quiet">${PAST[range]}</span>`
        : html`<span class="quiet"><${When} time=${times[index] * SECOND_MS} />${', '}
            ${dollars(volumes[index])} traded</span>`
    }</p>`;
}

function labelOf({ ticks }: Drawn, name: string): string {
  const [first, last] = [ticks[0], ticks.at(-1)!];
  return `The price of ${name} went from ${inCents(first)} to ${inCents(last)}, between ${inCents(Math.min(...ticks))} \
and ${inCents(Math.max(...ticks))}. Arrow keys show its moments.`;
}
