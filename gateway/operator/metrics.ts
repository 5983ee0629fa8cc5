/**
 * The metrics as Prometheus text (RULES.md 10.9). The text is written piece by piece, so that no scrape blocks the
 * gateway thread, however many series there are.
 * Owner: the gateway thread.
 */

import { namesOf } from '../../shared/base/namesOf.ts';
import { READERS } from './metricReaders.ts';
import type { HistogramValue, MetricsSources } from './metricSources.ts';
import { METRICS, type MetricName } from './metricTable.ts';

type Labels = Readonly<Record<string, string | number>>;
type Sample = readonly [labels: Labels, value: number | HistogramValue];
type AnyReader = (from: MetricsSources, observe: (labels: Labels, value: number | HistogramValue) => void) => void;

export class Metrics {
  readonly contentType = 'text/plain; version=0.0.4; charset=utf-8';
  readonly #sources: MetricsSources;

  constructor(sources: MetricsSources) {
    this.#sources = sources;
  }

  /**
   * Returns the text in pieces: one for each metric, and for histograms one for each set of labels. The first piece is
   * a promise, so that the answer is written in turns from its start.
   */
  *rows(): Generator<string | Promise<unknown>> {
    // A scrape must not wait for a hanging file system: it shows the sizes of the scrape before.
    const { files, memory, process, refresh } = this.#sources;
    void files.refresh();
    yield Promise.all([process.sample(), refresh(), memory.refresh()]);
    for (const name of namesOf(METRICS)) yield* rowsOf(name, this.#sources);
  }
}

/** Metrics without labels, as they are, for a route that shows no others. */
export function metricsText(values: Partial<Record<MetricName, number>>): string {
  return namesOf(values)
    .map((name) => headOf(name) + sample(name, {}, values[name] ?? 0))
    .join('');
}

function headOf(name: MetricName): string {
  const { type, help } = METRICS[name];
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
}

function* rowsOf(name: MetricName, sources: MetricsSources): Generator<string> {
  const samples: Sample[] = [];
  (READERS[name] as AnyReader)(sources, (labels, value) => samples.push([labels, value]));
  let text = headOf(name);
  for (const [labels, value] of samples) {
    if (typeof value === 'number') text += sample(name, labels, value);
    else {
      yield text + histogram(name, labels, value);
      text = '';
    }
  }
  yield `${text}\n`;
}

/** A bucket counts the values up to its bound. */
function histogram(name: string, labels: Labels, { bounds, counts, sum }: HistogramValue): string {
  let text = '';
  let total = 0;
  for (const [bucket, count] of counts.entries()) {
    total += count;
    const le = bucket < bounds.length ? String(bounds[bucket]) : '+Inf';
    text += sample(`${name}_bucket`, { ...labels, le }, total);
  }
  return text + sample(`${name}_sum`, labels, sum) + sample(`${name}_count`, labels, total);
}

function sample(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(String(text))}"`);
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}\n`;
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
