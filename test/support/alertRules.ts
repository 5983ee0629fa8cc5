/** The alerts of data/deploy/prometheus/rules.yml, and the cases of their tests, as they are written. */
import { readFileSync } from 'node:fs';

const FOLDER = new URL('../../data/deploy/prometheus/', import.meta.url);
export const RULE_TESTS = ['rules.test.yml', 'rules.long.test.yml'] as const;

type AlertRule = {
  readonly name: string;
  readonly severity: string;
  /** Parties that can cause the alert. */
  readonly by: readonly string[];
  readonly expr: string;
  /** The condition has to hold for this long. */
  readonly forSec: number;
  /** The section of incidents.md. */
  readonly anchor: string;
};

type RuleCase = { readonly name: string; readonly series: string; readonly fires: string; readonly at: string };

const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600 };

function secondsOf(text: string): number {
  const [, count, unit] = /^(\d+)([smh])$/.exec(text) ?? ['', '0', 's'];
  return Number(count) * UNITS[unit!]!;
}

export function alertRules(): AlertRule[] {
  const text = readFileSync(new URL('rules.yml', FOLDER), 'utf8');
  return text
    .split(/^ {6}- alert: /m)
    .slice(1)
    .map((rule) => {
      const of = (pattern: RegExp): string => pattern.exec(rule)?.[1]?.trim() ?? '';
      return {
        name: of(/^(\w+)\n/),
        severity: of(/severity: (\w+)/),
        by: of(/# By: (.+)\.$/m).split(', '),
        expr: of(/expr: (?:>-\n)?([\s\S]*?)\n\s+(?:for|labels):/),
        forSec: secondsOf(of(/ for: (\w+)/)),
        anchor: of(/runbook: incidents\.md#([\w-]+)/),
      };
    });
}

/** The cases in which an alert fires, with the time at which it does. */
export function firingCases(file: (typeof RULE_TESTS)[number]): RuleCase[] {
  const text = readFileSync(new URL(file, FOLDER), 'utf8');
  return text
    .split(/^ {2}- interval: \w+\n {4}name: /m)
    .slice(1)
    .flatMap((each) => {
      const [, name, series] = /^(.+)\n {4}input_series:\n([\s\S]*?) {4}alert_rule_test:/.exec(each)!;
      const fired = /eval_time: (\w+)\n\s+alertname: (\w+)\n\s+exp_alerts:\n/.exec(each);
      return fired === null ? [] : [{ name: name!, series: series!, fires: fired[2]!, at: fired[1]! }];
    });
}
