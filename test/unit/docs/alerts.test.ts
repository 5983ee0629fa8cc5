/** The operations page knows the alerts as data/deploy declares them (npm run docs). */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ALERTS } from '../../../gateway/web/browser/ops/alerts.ts';
import { ALERTS_FILE, alertsFile } from '../../docs/alerts.ts';

test('the operations page has the urgency, the runbook and the bound of each alert', () => {
  assert.equal(readFileSync(ALERTS_FILE, 'utf8'), alertsFile());
});

test('a bound is the number that the alert compares with, whatever it is multiplied with', () => {
  const { BackupLate, BackupOld, TableFilling, LogGrows, DiskFilling } = ALERTS;
  assert.deepEqual(
    [BackupLate, BackupOld, TableFilling, LogGrows, DiskFilling].map(({ bound }) => bound),
    [10_800, 86_400, 0.7, 10e9, null],
  );
});
