/** The gain of the account over a range of time, at the last prices of its markets. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { Market, Statement, UserTrades } from '../../../shared/client/types.ts';
import { get, useLoaded } from './api.ts';
import { lineOf, planOf, type Range } from './chartRanges.ts';
import { gainInDollars } from './format.ts';
import { gainsOf, marketsOf, type PriceAt } from './gains.ts';
import { Plot } from './plot.ts';
import { loadBars, RangeChips } from './priceChart.ts';
import { ask } from './session.ts';
import { ToCome } from './toCome.ts';
import { When } from './when.ts';

type Gains = { readonly from: number; readonly to: number; readonly times: number[]; readonly dollars: number[] };

const REFRESH_SECONDS = 60;
const SECOND_MS = 1000;
const MICRO = 1_000_000;
/** The chart of a program would ask for too much: it has the statement. */
const MOST_TRADES = 5000;
const MOST_MARKETS = 30;
const UNBOUNDED = [-Infinity, Infinity] as const;

export function GainChart({ round }: { readonly round: number }): VNode {
  const [range, setRange] = useState<Range>('All');
  const [moment, setMoment] = useState<number | null>(null);
  const { value, error } = useLoaded<Gains | null>(`gains ${range}`, () => loadGains(range), REFRESH_SECONDS, round);
  const lines = useMemo(() => [{ values: value?.dollars ?? [], color: '--accent' }], [value]);
  const at = moment ?? (value === null ? 0 : value.times.length - 1);
  const isKnown = value !== null && value.times.length > 0;
  return html`<section class="panel" aria-labelledby="gain"><h2 id="gain">Gain</h2>
    <p class="headline"><strong>${isKnown ? gainInDollars(value.dollars[at]) : '–'}</strong>${' '}
      ${
        isKnown && moment !== null
          ? html`<span class="quiet"><${When} time=${value.times[at] * SECOND_MS} /></span>`
          : html`<span class="quiet">at the last prices of your markets</span>`
      }</p>
    <${RangeChips} range=${range} onChange=${setRange} />
    ${
      isKnown
        ? html`<${Plot} label=${labelOf(value)}
            times=${value.times} lines=${lines} from=${value.from} to=${value.to} leastSpan=${1} bounds=${UNBOUNDED}
            unitOf=${gainInDollars} onMoment=${setMoment} />`
        : html`<${ToCome} error=${error} isPlot />`
    }</section>`;
}

function labelOf({ dollars }: Gains): string {
  return `The gain is now ${gainInDollars(dollars.at(-1)!)}. Arrow keys show earlier ones.`;
}

/** Throws where there is too much for a chart. */
async function loadGains(range: Range): Promise<Gains> {
  const { total } = await ask<UserTrades>('GET', '/v1/user/trades?limit=1');
  if (total > MOST_TRADES) throw new Error('There were too many trades for a chart: the statement has all of them.');
  const nowMs = Date.now();
  const since = planOf(range, nowMs, nowMs);
  const query = range === 'All' ? '' : `?from=${new Date(since.from * SECOND_MS).toISOString()}`;
  const statement = await ask<Statement>('GET', `/v1/user/statement${query}`);
  const firstMs = Date.parse(statement.entries.at(0)?.time ?? new Date(nowMs).toISOString());
  const { from, to, seconds } = range === 'All' ? planOf(range, firstMs, nowMs) : since;
  const ids = marketsOf(statement);
  if (ids.length > MOST_MARKETS) throw new Error('There were too many markets for a chart of this range.');
  const prices = new Map(await Promise.all(ids.map(async (id) => [id, await loadPrices(id, range)] as const)));
  const times: number[] = [];
  for (let time = from; time < to; time += seconds) times.push(time);
  times.push(to);
  return { from, to, times, dollars: gainsOf(statement, prices, times).map((micro) => Number(micro) / MICRO) };
}

/** The payout from the decision on, and the last price before. The moments that are asked for rise. */
async function loadPrices(marketId: string, range: Range): Promise<PriceAt> {
  const market = await get<Market>(`/v1/markets/${marketId}`);
  const { plan, bars, before } = await loadBars(market, 0, range);
  const { times, ticks } = lineOf(bars, before, plan);
  const decided = market.resolved_at === undefined ? Infinity : Date.parse(market.resolved_at) / SECOND_MS;
  let next = 0;
  return (time) => {
    if (time >= decided && market.payouts !== undefined) return Math.round(market.payouts[0] / 100);
    while (next < times.length && times[next] <= time) next += 1;
    return next === 0 ? (ticks[0] ?? 5000) : ticks[next - 1];
  };
}
