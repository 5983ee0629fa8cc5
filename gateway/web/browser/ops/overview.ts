/** The first view: problems in words, the numbers that show whether the exchange works, and their last minutes. */
import { html } from 'htm/preact';
import type { TargetedEvent, VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { BackupReport, StageStep } from '../../../../shared/client/types.ts';
import { Action } from './action.ts';
import { ALERTS, type Alert } from './alerts.ts';
import { Chart } from './chart.ts';
import { ClusterPanel } from './clusterPanel.ts';
import { backingUp, keptByStep, pausing, resuming } from './consequences.ts';
import { earlier, rate, total } from './measure.ts';
import { age, bytes, count, perSecond, seconds, share } from './numbers.ts';
import type { Level, Problem } from './problem.ts';
import { byShard, levels, ofAllShards, ofRoute, p50p99, quantiles, rates, routeName, timesOf } from './series.ts';
import { StageSteps } from './stages.ts';
import { statesOf } from './states.ts';
import { FileTable, RefusalTable, RouteTable, ShardTable } from './tables.ts';
import { UNSEEN_ALERTS } from './unseenAlerts.ts';
import type { ViewProps } from './view.ts';

const ORDERS = 'POST /v1/orders';
const MINUTE_MS = 60_000;
const SECOND_MS = 1000;

export function Overview(props: ViewProps): VNode {
  const { samples } = props.reports;
  const { last } = props;
  const before = earlier(samples, samples.length - 1, MINUTE_MS);
  return html`
    <${Hand} ...${props} />
    <${Parts} ...${props} />
    <${Actions} ...${props} />
    <${Tiles} ...${props} />
    <${ClusterPanel} ...${props} />
    <${Charts} ...${props} />
    <${ShardTable} last=${last} before=${before} />
    <div class="two">
      <${RouteTable} last=${last} before=${before} />
      <div>
        <${RefusalTable} last=${last} before=${before} />
        <${FileTable} last=${last} />
      </div>
    </div>
    <${Soon} ...${props} />
  `;
}

const GROUPS: readonly (readonly [Level, string])[] = [
  ['bad', 'Needs a hand now'],
  ['warn', 'Within a working day'],
  ['note', 'Set by operators'],
];

/**
 * A person at three in the morning reads this first; it is red for what rings, and for nothing else. What may pass by
 * itself is a number here, and listed where nothing is below it: it must not move a button under a hand.
 */
function Hand({ problems }: ViewProps): VNode {
  const worst = problems[0]?.level;
  const groups = GROUPS.map(([level, title]) => ({
    level,
    title,
    found: problems.filter((each) => each.level === level),
  }));
  const soon = problems.filter(({ level }) => level === 'soon').length;
  return html`<section class=${`panel hand ${worst ?? ''}`} aria-label="What needs a hand">
    ${
      worst !== 'bad' &&
      html`<p class="fine" role="status"><strong>${
        worst === undefined ? 'Nothing needs a hand.' : 'Nothing needs a hand now.'
      }</strong></p>`
    }
    ${groups
      .filter(({ found }) => found.length > 0)
      .map(
        ({ level, title, found }) => html`<h2 key=${level}>${title}</h2>
          <${Problems} level=${level} found=${found} />`,
      )}
    <p class="quiet">Rings if it lasts: ${soon === 0 ? 'nothing' : `${count(soon)}, at the end of this page`}.</p>
    <details class="quiet"><summary>Alerts that cannot be seen here</summary>
      <ul>${unseen().map(({ name, severity, why }) => html`<li key=${name}>${name} (${severity}): ${why}.</li>`)}</ul>
    </details>
  </section>`;
}

function Soon({ problems }: ViewProps): VNode | null {
  const found = problems.filter(({ level }) => level === 'soon');
  if (found.length === 0) return null;
  return html`<section class="panel"><h2>Rings if it lasts</h2><${Problems} level="soon" found=${found} /></section>`;
}

function Problems({ level, found }: { readonly level: Level; readonly found: readonly Problem[] }): VNode {
  return html`<ul class=${`plain ${level}`} role=${level === 'bad' ? 'alert' : undefined}>${found.map(
    ({ text, runbook, leftMs }) => html`<li key=${text} class="ends"><span>${text}</span>
      ${leftMs !== undefined && html`<span class="quiet">rings in ${age(Math.ceil(leftMs / SECOND_MS))}</span>`}
      <a href=${`/docs/incidents#${runbook}`} target="_blank" rel="noreferrer"
        aria-label=${`What to do: ${text}`}>What to do</a></li>`,
  )}</ul>`;
}

function unseen(): { name: string; severity: string; why: string }[] {
  const alerts: Readonly<Record<string, Alert>> = ALERTS;
  return Object.entries(UNSEEN_ALERTS).map(([name, why]) => ({ name, severity: alerts[name].severity, why }));
}

const LEVEL_WORDS: Readonly<Record<Level, string>> = {
  bad: 'needs a hand',
  warn: 'within a working day',
  soon: 'rings if it lasts',
  note: 'set by operators',
};

function Parts({ last, backups, problems }: ViewProps): VNode {
  return html`<dl class="parts">${statesOf(last, backups, problems).map(
    ({ name, text, level }) => html`<div key=${name} class=${level ?? 'well'}>
      <dt><span class="dot" aria-hidden="true"></span>${name}
        <span class="quiet">${level === null ? 'well' : LEVEL_WORDS[level]}</span></dt>
      <dd>${text}</dd>
    </div>`,
  )}</dl>`;
}

function Actions({ last, backups, operator, client }: ViewProps): VNode {
  const action = { client, operator, needs: 'superuser', path: '/admin/platform/' } as const;
  return html`<section class="panel" aria-label="Actions"><div class="actions">
    <${Action} ...${action} label=${last.paused ? 'Resume placing' : 'Pause placing'} isDangerous=${!last.paused}
      confirm=${last.paused ? resuming(last) : pausing(last)}
      run=${() => (last.paused ? client.resume() : client.pause())} />
    ${
      last.paused &&
      html`<${Action} ...${action} label="Resume into cancel-only"
      confirm="The pause ends, and every market takes cancels alone until it is stepped on."
      run=${() => client.stepPlatform({ stage: 'cancel_only' }).then(() => client.resume())} />`
    }
    <${StageSteps} ...${action} what="Every market" stage=${last.stage} orders=${keptByStep(last)}
      run=${(step: StageStep) => client.stepPlatform(step)} />
    ${
      backups !== null &&
      html`<${Action} ...${action} label="Back up now" closed=${closedForBackup(backups)}
      confirm=${backingUp(backups, last)} run=${() => client.backUp()} />`
    }
  </div></section>`;
}

function closedForBackup({ folder, state }: BackupReport): string | null {
  if (folder === null) return 'No folder of backups is set: BACKUP_TARGET.';
  return state === 'running' ? 'One is under way.' : null;
}

function Tiles({ reports: { samples }, last }: ViewProps): VNode {
  const newest = (values: readonly (number | null)[]): number | null => values.at(-1) ?? null;
  // Only the end of each column is shown: the samples of the last minute are enough for it.
  const recent = samples.slice(-40);
  const before = earlier(recent, recent.length - 1, MINUTE_MS);
  const perSec = (read: Parameters<typeof rate>[2]): number | null =>
    before === null ? null : rate(before, last, read);
  const tiles: [string, string][] = [
    ['Requests', perSecond(perSec(requestsOf))],
    ['Orders, p99', seconds(newest(quantiles(recent, ofRoute(ORDERS), 0.99)))],
    [
      'Commits, p99',
      seconds(
        newest(
          quantiles(
            recent,
            ofAllShards(({ commit }) => commit),
            0.99,
          ),
        ),
      ),
    ],
    ['Open orders', count(sumOf(last.shards, ({ open_orders }) => open_orders))],
    ['History behind', seconds(Math.max(...last.shards.map((each) => each.projector_lag_seconds)))],
    ['Refusals', perSecond(perSec(refusalsOf))],
    ['Connections', count(last.connections.open)],
    ['Event loop busy', share(before === null ? null : busyShare(before, last))],
    ['Disk free', bytes(last.disk.free_bytes)],
    ['Memory', bytes(last.memory_bytes)],
  ];
  return html`<dl class="tiles">${tiles.map(
    ([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`,
  )}</dl>`;
}

function Charts({ reports: { samples }, last }: ViewProps): VNode {
  const [route, setRoute] = useState(ORDERS);
  const names = [...new Set([ORDERS, ...last.routes.map(routeName)])].sort();
  const times = timesOf(samples);
  const chart = { times };
  return html`<div class="charts">
    <${Chart} ...${chart} title="Requests" format=${perSecond} lines=${[
      { name: 'All', values: rates(samples, requestsOf) },
      { name: 'Refused', values: rates(samples, refusalsOf) },
    ]} />
    <${Chart} ...${chart} title="Latency of a route" format=${seconds} lines=${p50p99(samples, ofRoute(route))}>
      <label class="route">Route
        <select value=${route}
          onChange=${({ currentTarget }: TargetedEvent<HTMLSelectElement>) => setRoute(currentTarget.value)}>
          ${names.map((name) => html`<option key=${name} value=${name}>${name}</option>`)}
        </select>
      </label>
    </${Chart}>
    <${Chart} ...${chart} title="Orders, from the ring to the reply" format=${seconds}
      lines=${p50p99(
        samples,
        ofAllShards(({ place }) => place),
      )} />
    <${Chart} ...${chart} title="Commits" format=${seconds}
      lines=${p50p99(
        samples,
        ofAllShards(({ commit }) => commit),
      )} />
    <${Chart} ...${chart} title="Age of a command at its turn, in whole ms" format=${seconds}
      lines=${p50p99(
        samples,
        ofAllShards(({ queue }) => queue),
      )} />
    <${Chart} ...${chart} title="Command rings" format=${bytes}
      lines=${byShard(samples, (shard) => shard.command_ring_bytes)} />
    <${Chart} ...${chart} title="History behind the journals" format=${seconds}
      lines=${byShard(samples, (shard) => shard.projector_lag_seconds)} />
    <${Chart} ...${chart} title="Open orders" format=${count} lines=${byShard(samples, (shard) => shard.open_orders)} />
    <${Chart} ...${chart} title="Event loop late" format=${seconds}
      lines=${p50p99(samples, ({ event_loop }) => event_loop.delay)} />
    <${Chart} ...${chart} title="Connections" format=${count} lines=${[
      { name: 'All', values: levels(samples, ({ connections }) => connections.open) },
      { name: 'Streams', values: levels(samples, ({ connections }) => connections.stream) },
    ]} />
    <${Chart} ...${chart} title="Disk free" format=${bytes}
      lines=${[{ name: 'Free', values: levels(samples, ({ disk }) => disk.free_bytes) }]} />
    <${Chart} ...${chart} title="Queries of the past" format=${seconds}
      lines=${p50p99(samples, ({ queries }) => queries.run)} />
  </div>`;
}

type Report = ViewProps['last'];

function requestsOf({ routes }: Report): number {
  return sumOf(routes, ({ counts }) => total(counts));
}

function refusalsOf({ refusals }: Report): number {
  return sumOf(refusals, (each) => each.count);
}

function sumOf<T>(rows: readonly T[], read: (row: T) => number): number {
  return rows.reduce((sum, row) => sum + read(row), 0);
}

function busyShare(before: Report, { event_loop }: Report): number {
  const active = event_loop.active_seconds - before.event_loop.active_seconds;
  const idle = event_loop.idle_seconds - before.event_loop.idle_seconds;
  return active + idle === 0 ? 0 : active / (active + idle);
}
