/**
 * Line charts of the last fifteen minutes, drawn by uPlot; names, patterns and present values are beside them in words.
 */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import UPlot from 'uplot';

export type Line = {
  readonly name: string;
  /** One value per time; null leaves a gap. */
  readonly values: readonly (number | null)[];
};

type ChartProps = {
  readonly title: string;
  readonly times: readonly number[];
  readonly lines: readonly Line[];
  readonly format: (value: number | null) => string;
  readonly children?: unknown;
};

/** Colour and pattern of each line: no line is identified by its colour alone, and none is red, which needs a hand. */
const LOOKS = [
  { colour: '--series-1', dash: [] },
  { colour: '--series-5', dash: [6, 3] },
  { colour: '--series-3', dash: [2, 3] },
  { colour: '--quiet', dash: [10, 3, 2, 3] },
] as const;
const HEIGHT = 150;
/** The shortest time span drawn: right after the sign-in a line would otherwise be a dot at the edge. */
const LEAST_SPAN_SEC = 120;
const TIMES_HEIGHT = 26;
const AXIS_WIDTH = 62;

export function Chart({ title, times, lines, format, children }: ChartProps): VNode {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot | null>(null);
  const data = [times, ...lines.map(({ values }) => values)] as unknown as UPlot.AlignedData;
  const newest = useRef(data);
  newest.current = data;
  const spanOf = (): [number, number] => {
    const [drawn] = newest.current;
    const to = drawn.at(-1) ?? 0;
    return [Math.min(drawn[0] ?? to, to - LEAST_SPAN_SEC), to];
  };
  const shape = lines.map(({ name }) => name).join();
  useEffect(() => {
    const draw = (): void => {
      plot.current?.destroy();
      plot.current = new UPlot(optionsOf(place.current!, lines.length, format, spanOf), newest.current, place.current!);
    };
    const resized = new ResizeObserver(([entry]) => {
      plot.current?.setSize({ width: entry.contentRect.width, height: HEIGHT });
    });
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    draw();
    resized.observe(place.current!);
    scheme.addEventListener('change', draw);
    return () => {
      scheme.removeEventListener('change', draw);
      resized.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [shape]);
  useEffect(() => plot.current?.setData(data), [times]);
  const label = `${title}: ${lines.map(({ name, values }) => `${name} ${format(values.at(-1) ?? null)}`).join(', ')}`;
  return html`<section class="panel chart">
    <h2>${title}</h2>
    ${children}
    <ul class="legend">
      ${lines.map(
        ({ name, values }, index) => html`<li key=${name}>
          <span class=${`swatch look-${index % LOOKS.length}`} aria-hidden="true"></span>
          ${name} <strong>${format(values.at(-1) ?? null)}</strong>
        </li>`,
      )}
    </ul>
    <div class="lines" ref=${place} role="img" aria-label=${label}></div>
  </section>`;
}

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
const CLOCK_SECONDS = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium', hourCycle: 'h23' });

/** Full minutes are shown without seconds. */
function timeOf(tickSec: number): string {
  return (tickSec % 60 === 0 ? CLOCK : CLOCK_SECONDS).format(tickSec * 1000);
}

/**
 * Colours come from the style sheet, which handles dark and light.
 * @param spanOf returns the first and the last time of the axis; of a single report uPlot knows none
 */
function optionsOf(
  place: HTMLElement,
  lines: number,
  format: ChartProps['format'],
  spanOf: () => [number, number],
): UPlot.Options {
  const style = getComputedStyle(place);
  const colour = (name: string): string => style.getPropertyValue(name);
  const axis = { stroke: colour('--quiet'), grid: { stroke: colour('--line'), width: 1 }, ticks: { show: false } };
  return {
    width: Math.max(place.clientWidth, 100),
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: { range: spanOf },
      y: { range: (_, _from, to) => [0, to > 0 ? to * 1.1 : 1] },
    },
    series: [
      {},
      ...Array.from({ length: lines }, (_, index) => {
        const look = LOOKS[index % LOOKS.length];
        return { stroke: colour(look.colour), dash: [...look.dash], width: 2, points: { show: false } };
      }),
    ],
    axes: [
      { ...axis, size: TIMES_HEIGHT, values: (_, ticks) => ticks.map(timeOf) },
      { ...axis, size: AXIS_WIDTH, values: (_, ticks) => ticks.map((tick) => format(tick)) },
    ],
  };
}
