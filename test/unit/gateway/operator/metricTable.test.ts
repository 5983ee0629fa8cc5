/** The declarations of the metrics, which document, dashboards and alerts follow. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { METRICS } from '../../../../gateway/operator/metricTable.ts';
import { METRICS_PAGE, metricsPage } from '../../../records/metricsPage.ts';

test('the document of the metrics is what their declarations say (npm run records)', () => {
  assert.equal(readFileSync(METRICS_PAGE, 'utf8'), metricsPage());
});

test('every metric is named as its kind and its unit ask for', () => {
  for (const [name, { type, help }] of Object.entries(METRICS)) {
    assert.match(name, /^(exchange|process|nodejs)_[a-z0-9]+(_[a-z0-9]+)*$/);
    assert.equal(name.endsWith('_total'), type === 'counter', name);
    assert.doesNotMatch(name, /_(ms|milliseconds|us|kb|mb)\b/, 'base units only');
    assert.match(help, /^[^\n"\\]+\.$/, name);
  }
});
