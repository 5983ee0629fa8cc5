/**
 * The tables of the overview: one by one, the values that the graphs add up. Rates and percentiles are those of the
 * last minute.
 */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import type { Operations } from '../../../../shared/client/types.ts';
import { countsBetween, type Pick, quantile, total } from './measure.ts';
import { bytes, count, perSecond, seconds, share } from './numbers.ts';
import { Scrolling } from './scrolling.ts';
import { ofRoute, routeName } from './series.ts';

type TableProps = { readonly last: Operations; readonly before: Operations | null };

const MOST_ROUTES = 15;
const MOST_FILES = 10;

export function ShardTable({ last, before }: TableProps): VNode {
  return html`<section class="panel">
    <h2>Shards</h2>
    <${Scrolling} label="Shards"><table>
      <thead><tr>
        <th scope="col">Shard</th><th scope="col">State</th><th scope="col">Open orders</th><th scope="col">Records</th>
        <th scope="col">Unanswered</th><th scope="col">Ring full</th><th scope="col">Commit p99</th>
        <th scope="col">Commands a commit</th><th scope="col">Views behind</th><th scope="col">History behind</th>
        <th scope="col">Verifier</th>
      </tr></thead>
      <tbody>${last.shards.map(
        (shard) => html`<${ShardRow} key=${shard.shard} shard=${shard} last=${last} before=${before} />`,
      )}
      </tbody>
    </table></${Scrolling}>
  </section>`;
}

type ShardRowProps = TableProps & { readonly shard: Operations['shards'][number] };

function ShardRow({ shard, last, before }: ShardRowProps): VNode {
  const commit = p99(last, before, ({ shards }) => shards[shard.shard].commit);
  const { command_ring_bytes: used, command_ring_capacity_bytes: capacity } = shard;
  return html`<tr>
    <th scope="row">${shard.shard}</th>
    <td class=${shard.ready ? '' : 'bad'}>${shard.ready ? 'ready' : 'away'}</td>
    <td>${count(shard.open_orders)}</td>
    <td>${count(shard.journal_sequence)}</td>
    <td>${count(shard.unanswered_commands)}</td>
    <td>${share(capacity === 0 ? null : used / capacity)}</td>
    <td>${seconds(commit)}</td>
    <td>${batchMean(last, before, shard.shard)}</td>
    <td>${count(shard.views_lag_records)}</td>
    <td>${count(shard.projector_lag_records)}, ${seconds(shard.projector_lag_seconds)}</td>
    <td>${shard.verifier ?? '–'}</td>
  </tr>`;
}

export function RouteTable({ last, before }: TableProps): VNode {
  const rows = last.routes
    .map((route) => {
      const counts = before === null ? route.counts : countsBetween(before, last, ofRoute(routeName(route)))!;
      const spanSec = before === null ? 0 : (last.time - before.time) / 1000;
      return {
        name: routeName(route),
        rate: spanSec === 0 ? null : total(counts) / spanSec,
        p50: quantile(counts, last.bounds_seconds, 0.5),
        p99: quantile(counts, last.bounds_seconds, 0.99),
      };
    })
    .filter(({ rate }) => rate !== 0)
    .sort((a, b) => (b.rate ?? 0) - (a.rate ?? 0))
    .slice(0, MOST_ROUTES);
  return html`<section class="panel">
    <h2>Busiest routes of the last minute</h2>
    <${Scrolling} label="Busiest routes"><table>
      <thead><tr><th scope="col">Route</th><th scope="col">Rate</th><th scope="col">p50</th>
        <th scope="col">p99</th></tr></thead>
      <tbody>${rows.map(
        ({ name, rate, p50, p99: tail }) => html`<tr key=${name}>
          <th scope="row">${name}</th><td>${perSecond(rate)}</td><td>${seconds(p50)}</td><td>${seconds(tail)}</td>
        </tr>`,
      )}</tbody>
    </table></${Scrolling}>
  </section>`;
}

export function RefusalTable({ last, before }: TableProps): VNode {
  const known = new Map(before?.refusals.map(({ code, count: times }) => [code, times]));
  const rows = last.refusals.toSorted((a, b) => b.count - a.count);
  return html`<section class="panel">
    <h2>Refusals by code</h2>
    ${
      rows.length === 0
        ? html`<p class="quiet">None since the start.</p>`
        : html`<${Scrolling} label="Refusals"><table>
      <thead><tr><th scope="col">Code</th><th scope="col">Last minute</th>
        <th scope="col">Since the start</th></tr></thead>
      <tbody>${rows.map(
        ({ code, count: times }) => html`<tr key=${code}>
          <th scope="row">${code}</th>
          <td>${before === null ? '–' : count(times - (known.get(code) ?? 0))}</td><td>${count(times)}</td>
        </tr>`,
      )}</tbody>
    </table></${Scrolling}>`
    }
    <p class="quiet">${limitsOf(last)}</p>
  </section>`;
}

function limitsOf({ rate_limit, connections }: Operations): string {
  const { allowed, quota_denied, dependency_unavailable: undecided } = rate_limit;
  const decided = `${count(allowed)} allowed, ${count(quota_denied)} denied, ${count(undecided)} undecided`;
  return `Rate limits: ${decided}. Connections refused: ${count(connections.refused)}.`;
}

export function FileTable({ last: { disk } }: { readonly last: Operations }): VNode {
  return html`<section class="panel">
    <h2>Files</h2>
    <p class="quiet">${bytes(disk.free_bytes)} free; below ${bytes(disk.reserve_bytes)} orders are refused.</p>
    <${Scrolling} label="Files"><table>
      <thead><tr><th scope="col">File</th><th scope="col">Size</th></tr></thead>
      <tbody>${databases(disk.files).map(
        ([name, size]) => html`<tr key=${name}><th scope="row">${name}</th><td>${bytes(size)}</td></tr>`,
      )}</tbody>
    </table></${Scrolling}>
  </section>`;
}

/** The largest first; a database is added up with its write-ahead log and its index. */
function databases(files: Operations['disk']['files']): [string, number][] {
  const sizes = new Map<string, number>();
  for (const { name, bytes: size } of files) {
    const database = name.replace(/-(?:wal|shm)$/, '');
    sizes.set(database, (sizes.get(database) ?? 0) + size);
  }
  return [...sizes].sort(([, a], [, b]) => b - a).slice(0, MOST_FILES);
}

function p99(last: Operations, before: Operations | null, pick: Pick): number | null {
  const counts = before === null ? null : countsBetween(before, last, pick);
  return counts === null ? null : quantile(counts, last.bounds_seconds, 0.99);
}

/** The average number of commands that shared a commit in the last minute. */
function batchMean(last: Operations, before: Operations | null, shard: number): string {
  if (before === null) return '–';
  const commits = total(last.shards[shard].batch.counts) - total(before.shards[shard].batch.counts);
  const commands = last.shards[shard].batch.sum - before.shards[shard].batch.sum;
  return commits === 0 ? '–' : String(Math.round((commands / commits) * 10) / 10);
}
