/** Alerts that wake a person: who can bring them about, and that each is silent where another one is meant. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { METRICS } from '../../../gateway/operator/metricTable.ts';
import { alertRules, firingCases } from '../../support/alertRules.ts';
import { temporaryDirectory } from '../../support/directory.ts';
import { NO_PROMTOOL } from '../../support/firingAlerts.ts';

const RULES = fileURLToPath(new URL('../../../data/deploy/prometheus/rules.yml', import.meta.url));
const GUIDE = fileURLToPath(new URL('../../../data/docs/incidents.md', import.meta.url));
const MINUTE_SEC = 60;
/** Between two scrapes, between two evaluations, and Alertmanager's wait for others of a group. */
const DELAYS_SEC = 5 + 15 + 5;
const MAY_PAGE = ['exchange', 'machine', 'operator', 'chain', 'funded accounts'];
const MAY_BE_TICKETS = [...MAY_PAGE, 'accounts', 'anyone'];
/** Names of refusals and counters that a request without credentials, or of an empty account, changes. */
const OF_STRANGERS = /exchange_(requests_total|refusals_total|rate_limit_decisions|connections_refused|clock_trusted)/;
const rules = alertRules();
const pages = rules.filter(({ severity }) => severity === 'page');

test('each alert says who can bring it about, and no page rests on strangers or on empty accounts', () => {
  assert.ok(pages.length > 35, `${pages.length} pages`);
  for (const { name, severity, by, expr } of rules) {
    if (severity === 'none') continue;
    const may = severity === 'page' ? MAY_PAGE : MAY_BE_TICKETS;
    assert.deepEqual(
      by.filter((who) => !may.includes(who)),
      [],
      `${name}, a ${severity}`,
    );
    if (severity === 'page') assert.doesNotMatch(expr, OF_STRANGERS, name);
  }
});

test('each cause for which all orders are refused has a metric, and an alert that rings within a minute', () => {
  const guide = readFileSync(GUIDE, 'utf8');
  const [, section] = /\n## Trading has stopped\n([\s\S]*?)\n## /.exec(guide)!;
  const rows = [...section!.matchAll(/^\| (?!cause|---)(.+?) \| (.+?) \| (.+?) \|/gm)];
  assert.ok(rows.length >= 15, `${rows.length} causes`);
  for (const [, cause, says, alerts] of rows) {
    for (const [name] of says!.matchAll(/exchange_\w+/g)) assert.ok(name in METRICS, name);
    const named = rules.filter(({ name }) => new RegExp(`\\b${name}\\b`).test(alerts!));
    assert.ok(named.length > 0, `${cause}: ${alerts}`);
    const first = Math.min(...named.filter(({ severity }) => severity === 'page').map(({ forSec }) => forSec));
    if (/no incident|before/.test(section!.split('\n').find((line) => line.includes(`| ${cause} |`))!)) continue;
    assert.ok(first <= MINUTE_SEC - DELAYS_SEC, `${cause}: ${first} s`);
  }
});

/** Said in every other case: the exchange answers. */
const ANSWERS = `      - series: 'up{job="exchange-ready",instance="exchange:8080"}'
        values: '1x1000'
`;

test('each page fires where it is meant, and no other page does there', { skip: NO_PROMTOOL }, () => {
  const isPage = (alert: string): boolean => pages.some(({ name }) => name === alert);
  const cases = firingCases('rules.test.yml').filter(({ fires }) => isPage(fires));
  const meant = new Set([...cases, ...firingCases('rules.long.test.yml')].map(({ fires }) => fires));
  assert.deepEqual(
    pages.filter(({ name }) => !meant.has(name)),
    [],
  );
  const tests = cases.map(({ name, series, fires, at }) => {
    const others = pages.filter((page) => page.name !== fires);
    const quiet = others.map((other) => {
      return `      - eval_time: ${at}\n        alertname: ${other.name}\n        exp_alerts: []\n`;
    });
    const added = series.includes('up{job="exchange-ready"') || fires === 'ExchangeDown' ? '' : ANSWERS;
    const head = `  - interval: 15s\n    name: ${name}\n    input_series:\n`;
    return `${head}${series}${added}    alert_rule_test:\n${quiet.join('')}`;
  });
  const path = join(temporaryDirectory(), 'neighbours.yml');
  writeFileSync(path, `rule_files: [${RULES}]\nevaluation_interval: 15s\ntests:\n${tests.join('')}`);
  const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', path], { encoding: 'utf8' });
  assert.equal(status, 0, stdout + stderr);
});
