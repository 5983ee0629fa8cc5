/**
 * A drawing of values over time by uPlot, which is loaded with the first one: lines, bars of volume below them, or
 * candles. The pointer and the arrow keys move a cross over it, whose moment the view shows in words.
 */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type UPlot from 'uplot';
import { zoomed } from './chartRanges.ts';
import { part } from './parts.ts';
import { shortClock, shortDay } from './times.ts';

type Values = readonly (number | null)[];
type Candles = { readonly open: Values; readonly high: Values; readonly low: Values; readonly close: Values };

type PlotProps = {
  /** The words of the drawing, for those who do not see it. */
  readonly label: string;
  /** In Unix seconds, rising. */
  readonly times: readonly number[];
  /** Each with the name of its colour in the style sheet. */
  readonly lines: readonly { readonly values: Values; readonly color: string }[];
  readonly volumes?: Values;
  /** In place of the lines, each over so many seconds. */
  readonly candles?: Candles;
  readonly candleSeconds?: number;
  readonly from: number;
  readonly to: number;
  /** The narrowest part of the axis, and the values that it never passes. */
  readonly leastSpan: number;
  readonly bounds: readonly [number, number];
  readonly unitOf: (value: number) => string;
  /** The index of the moment below the cross; null when it has left. */
  readonly onMoment: (index: number | null) => void;
};

const HEIGHT = 240;
const SECOND_MS = 1000;
const DAY = 86_400;
const AXIS_WIDTH = 56;
const TIMES_HEIGHT = 32;
/** Volumes fill this part of the drawing at most. */
const VOLUME_PART = 5;
const CANDLE_PART = 0.6;
/** A body narrower or lower than this is not seen. */
const SEEN_PIXELS = 6;
const LEAST_BODY_PIXELS = 2;

export function Plot(props: PlotProps): VNode {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot | null>(null);
  const newest = useRef(props);
  newest.current = props;
  useEffect(() => {
    let isLeft = false;
    const resized = new ResizeObserver(([entry]) => {
      plot.current?.setSize({ width: entry.contentRect.width, height: HEIGHT });
    });
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    const redraw = (): void => plot.current?.redraw();
    scheme.addEventListener('change', redraw);
    const load = async (): Promise<void> => {
      const { default: Plotter } = await part(() => import('uplot'));
      if (isLeft || place.current === null) return;
      const options = optionsOf(Plotter, place.current, newest);
      plot.current = new Plotter(options, dataOf(newest.current), place.current);
      resized.observe(place.current);
    };
    load().catch(() => {
      if (place.current !== null) place.current.textContent = 'The chart could not be loaded.';
    });
    return () => {
      isLeft = true;
      scheme.removeEventListener('change', redraw);
      resized.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [props.lines.length, props.candles === undefined]);
  useEffect(() => plot.current?.setData(dataOf(props)), [props.times, props.lines, props.volumes, props.candles]);
  return html`<div class="plot" ref=${place} role="img" aria-label=${props.label} tabindex="0"
    onKeyDown=${(event: KeyboardEvent) => moveCross(event, plot.current)}
    onBlur=${() => plot.current?.setCursor({ left: -1, top: -1 })}></div>`;
}

function dataOf({ times, lines, volumes, candles }: PlotProps): UPlot.AlignedData {
  const values = candles === undefined ? lines.map((line) => line.values) : [candles.close];
  const drawn = volumes === undefined ? values : [...values, volumes];
  return [[...times], ...drawn.map((each) => [...each])];
}

type Newest = { readonly current: PlotProps };

/** Colours come from the style sheet, which handles dark and light, whenever something is drawn. */
function optionsOf(Plotter: typeof UPlot, place: HTMLElement, newest: Newest): UPlot.Options {
  const color = (name: string): string => getComputedStyle(place).getPropertyValue(name);
  const { lines, candles, volumes } = newest.current;
  const axis = {
    stroke: () => color('--quiet'),
    grid: { stroke: () => color('--line'), width: 1 },
    ticks: { show: false },
  };
  const drawn = candles === undefined ? lines : [{ color: '--quiet' }];
  const steps = Plotter.paths.stepped!({ align: 1 });
  const bars = Plotter.paths.bars!({ size: [CANDLE_PART, 12, 1] });
  return {
    width: place.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { drag: { x: false, y: false } },
    scales: {
      x: { range: () => [newest.current.from, newest.current.to] },
      y: { range: () => rangeOf(newest.current) },
      volume: { range: (_, _least, most) => [0, Math.max(1, most) * VOLUME_PART] },
    },
    series: [
      {},
      ...drawn.map((line) => ({
        stroke: () => color(line.color),
        width: candles === undefined ? 2 : 0,
        points: { show: false },
        paths: candles === undefined ? steps : () => null,
      })),
      ...(volumes === undefined
        ? []
        : [{ scale: 'volume', paths: bars, fill: () => color('--volume'), width: 0, points: { show: false } }]),
    ],
    axes: [
      {
        ...axis,
        size: TIMES_HEIGHT,
        values: (_, splits, _axis, _space, step) => splits.map((each, at) => momentOf(each, splits[at - 1], step)),
      },
      { ...axis, size: AXIS_WIDTH, values: (_, splits) => splits.map((each) => newest.current.unitOf(each)) },
    ],
    hooks: {
      draw: [(self) => drawCandles(self, newest.current, color)],
      setCursor: [
        ({ cursor: { idx, left } }) => newest.current.onMoment(left === undefined || left < 0 ? null : (idx ?? null)),
      ],
    },
  };
}

function rangeOf({ lines, candles, leastSpan, bounds }: PlotProps): UPlot.Range.MinMax {
  const values = candles === undefined ? lines.map((line) => line.values) : [candles.high, candles.low];
  return zoomed(values.flat(), leastSpan, bounds);
}

/** The day where it begins, otherwise the time of day. */
function momentOf(time: number, before: number | undefined, step: number): string {
  const day = shortDay(time * SECOND_MS);
  const isNewDay = before !== undefined && shortDay(before * SECOND_MS) !== day;
  return step >= DAY || isNewDay ? day : shortClock(time * SECOND_MS);
}

function drawCandles(
  self: UPlot,
  { times, candles, candleSeconds = 1, from }: PlotProps,
  color: (name: string) => string,
): void {
  if (candles === undefined) return;
  const { ctx, bbox } = self;
  const whole = self.valToPos(from + candleSeconds, 'x', true) - self.valToPos(from, 'x', true);
  const most = Math.max(1, candles.close.filter((each) => each !== null).length);
  // Few trades over a long range have candles that can be seen, as long as they do not cover each other.
  const width = Math.max(1, whole * CANDLE_PART, Math.min(SEEN_PIXELS, (bbox.width / most) * CANDLE_PART));
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  for (const [index, time] of times.entries()) {
    const [open, high, low, close] = [candles.open, candles.high, candles.low, candles.close].map(
      (each) => each[index],
    );
    if (open == null || high == null || low == null || close == null) continue;
    const y = (value: number): number => self.valToPos(value, 'y', true);
    const x = self.valToPos(time, 'x', true);
    ctx.fillStyle = color(close < open ? '--ask' : '--bid');
    ctx.fillRect(Math.round(x), y(high), 1, Math.max(1, y(low) - y(high)));
    const top = y(Math.max(open, close));
    ctx.fillRect(x - width / 2, top, width, Math.max(LEAST_BODY_PIXELS, y(Math.min(open, close)) - top));
  }
  ctx.restore();
}

/** Moves the cross to the moment beside it, or to an end. */
function moveCross(event: KeyboardEvent, plot: UPlot | null): void {
  if (plot === null) return;
  const times = plot.data[0];
  const at = plot.cursor.idx ?? times.length;
  const next = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: times.length - 1 }[event.key];
  if (next === undefined) return;
  event.preventDefault();
  const index = Math.max(0, Math.min(times.length - 1, next));
  const value = plot.data[1][index];
  plot.setCursor({ left: plot.valToPos(times[index], 'x'), top: value == null ? 0 : plot.valToPos(value, 'y') });
}
