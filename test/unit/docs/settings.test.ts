import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { SETTINGS_PAGE, withSettings } from '../../docs/settings.ts';

// config.test.ts compares .env.example with what the code reads.
test('settings.md has every setting of .env.example with its default (npm run docs)', () => {
  const page = readFileSync(SETTINGS_PAGE, 'utf8');
  assert.equal(withSettings(page), page);
  assert.match(page, /^\| `DISK_RESERVE_MB` \| `64` \| With less free space/m);
});
