/**
 * Finds out which alerts fire for the metrics of a real exchange. One scrape before the cause and two during it become
 * series: five minutes with the values of before, then with those during it, with counters that keep growing as between
 * the two. Promtool evaluates the rules over them, so no test waits for a minute to pass.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { alertRules } from './alertRules.ts';
import { temporaryDirectory } from './directory.ts';
import type { TestServer } from './server.ts';

export const NO_PROMTOOL =
  spawnSync('promtool', ['--version']).error !== undefined &&
  'promtool is not installed (Debian: the package prometheus)';

const RULES = fileURLToPath(new URL('../../data/deploy/prometheus/rules.yml', import.meta.url));
const STEP_SEC = 15;
/** Steps before the cause, and steps of it. */
const BEFORE = 20;
const DURING = 40;
const INSTANCE = 'exchange:8080';
const COUNTER = /_(total|count|sum|bucket)$/;
/** A clock goes on as time does. */
const CLOCK = 'exchange_clock_seconds';

/** Values by name and labels, as they are written. */
export type Scrape = { readonly atSec: number; readonly samples: ReadonlyMap<string, number> };

/** Both jobs of prometheus.yml at once. @param instanceName members of a cluster have one each */
export async function scrape(server: TestServer, token = server.adminToken, instanceName = INSTANCE): Promise<Scrape> {
  const instance = `instance="${instanceName}"`;
  const atSec = Date.now() / 1000;
  const headers = { authorization: `Bearer ${token}`, 'x-forwarded-for': '192.0.2.1' };
  const samples = new Map<string, number>();
  for (const [job, path] of [
    ['exchange', '/metrics'],
    ['exchange-ready', '/ready/metrics'],
  ] as const) {
    const answer = await fetch(`${server.adminUrl}${path}`, { headers }).catch(() => null);
    samples.set(`up{job="${job}",${instance}}`, Number(answer?.status === 200));
    for (const line of answer?.status === 200 ? (await answer.text()).split('\n') : []) {
      const [, metric, labels, value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
      if (metric === undefined) continue;
      samples.set(`${metric}{${labels === undefined ? '' : `${labels},`}job="${job}",${instance}}`, Number(value));
    }
  }
  return { atSec, samples };
}

/** Every member of a cluster, as one Prometheus sees them. */
export async function scrapeAll(members: readonly (TestServer & { readonly name: string })[]): Promise<Scrape> {
  const scrapes = await Promise.all(members.map((member) => scrape(member, member.adminToken, member.name)));
  return { atSec: scrapes[0]!.atSec, samples: new Map(scrapes.flatMap(({ samples }) => [...samples])) };
}

/** @param afterSec how long the cause has lasted. @returns names of the alerts for a person, in their order. */
export function firing(before: Scrape, during: readonly [Scrape, Scrape], afterSec: number): string[] {
  const used = alertRules()
    .map(({ expr }) => expr)
    .join();
  const names = new Set([...before.samples.keys(), ...during[1].samples.keys()]);
  const series = [...names].filter((name) => used.includes(name.slice(0, name.indexOf('{'))));
  const tests = series.map((name) => {
    return `      - series: '${name}'\n        values: '${valuesOf(name, before, during).join(' ')}'\n`;
  });
  const path = join(temporaryDirectory(), 'firing.yml');
  const expression = 'count by (alertname) (ALERTS{alertstate="firing",severity!="none"})';
  writeFileSync(
    path,
    `rule_files: [${RULES}]
evaluation_interval: ${STEP_SEC}s
tests:
  - interval: ${STEP_SEC}s
    input_series:
${tests.join('')}    promql_expr_test:
      - expr: '${expression}'
        eval_time: ${BEFORE * STEP_SEC + afterSec}s
        exp_samples: [{ labels: '{alertname="the test expects none"}', value: 1 }]
`,
  );
  const { stdout, stderr } = spawnSync('promtool', ['test', 'rules', path], { encoding: 'utf8' });
  const said = stdout + stderr;
  const [, got] = /\bgot:([^\n]*)/.exec(said) ?? [];
  assert.ok(got !== undefined, said);
  return [...got.matchAll(/alertname=\\?"(\w+)/g)].map(([, name]) => name!).sort();
}

/** The paging alerts among those that fire: on a busy machine a ticket for slowness fires as well. */
export function firingPages(before: Scrape, during: readonly [Scrape, Scrape], afterSec: number): string[] {
  const pages = new Set(alertRules().flatMap(({ name, severity }) => (severity === 'page' ? [name] : [])));
  return firing(before, during, afterSec).filter((name) => pages.has(name));
}

/** A value that is missing is none; a series that ends is marked as Prometheus marks it after a scrape without it. */
function valuesOf(name: string, before: Scrape, [first, second]: readonly [Scrape, Scrape]): string[] {
  const isClock = name.startsWith(CLOCK);
  const isCounter = COUNTER.test(name.slice(0, name.indexOf('{')));
  const at = ({ samples, atSec }: Scrape, step: number): number | undefined => {
    const value = samples.get(name);
    return isClock && value !== undefined ? value - atSec + step * STEP_SEC : value;
  };
  const values: (number | undefined)[] = [];
  for (let step = 0; step < BEFORE; step++) values.push(at(before, step));
  for (let step = BEFORE; step < BEFORE + DURING; step++) {
    const last = at(second, step);
    const grown = (last ?? 0) - (first.samples.get(name) ?? 0);
    values.push(isCounter && last !== undefined ? last + grown * (step - BEFORE) : last);
  }
  const isThere = (value: number | undefined): boolean => value !== undefined && !Number.isNaN(value);
  return values.map((value, step) => {
    if (isThere(value)) return String(value);
    return isThere(values[step - 1]) ? 'stale' : '_';
  });
}
