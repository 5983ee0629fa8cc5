/** The keys of the demo's provider: they exist nowhere else, so a damaged file is named and not replaced. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Config } from '../../../../gateway/base/config.ts';
import { openDemoRamp } from '../../../../gateway/wiring/demoRamp.ts';
import { temporaryDirectory } from '../../../support/directory.ts';

test('damaged keys of the provider are refused in one line, and stay as they are', async () => {
  const dataDir = temporaryDirectory();
  const path = join(dataDir, 'ramp.json');
  const config = { dataDir, demo: true, demoRamp: true, fiat: { providers: [] } } as unknown as Config;
  for (const text of [
    '',
    '{"private_key": "0x',
    'null',
    '{}',
    '{"private_key":1,"api_key":"a","webhook_secret":"b"}',
  ]) {
    writeFileSync(path, text);
    await assert.rejects(openDemoRamp(config), {
      name: 'StartError',
      message: /ramp\.json is damaged: put its backup in its place, or move it and ramp\.db away/,
    });
    assert.equal(readFileSync(path, 'utf8'), text);
  }
});
