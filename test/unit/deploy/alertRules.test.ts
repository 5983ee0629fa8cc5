/** The alerts of data/deploy fire when they should: promtool plays hours of series for each, which takes long. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { RULE_TESTS } from '../../support/alertRules.ts';
import { NO_PROMTOOL } from '../../support/firingAlerts.ts';

const cwd = fileURLToPath(new URL('../../../data/deploy/prometheus', import.meta.url));

for (const name of RULE_TESTS) {
  test(`the alerts of ${name} fire when they should`, { skip: NO_PROMTOOL }, () => {
    const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', name], { cwd, encoding: 'utf8' });
    assert.equal(status, 0, stdout + stderr);
  });
}
