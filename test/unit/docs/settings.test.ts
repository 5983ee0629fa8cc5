import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { readSettings, SETTINGS_PAGE, withSettings } from '../../docs/settings.ts';

const FOR_BEGINNERS = 20;

// config.test.ts compares .env.example with what the code reads.
test('settings.md has every setting of .env.example with its default (npm run docs)', () => {
  const page = readFileSync(SETTINGS_PAGE, 'utf8');
  assert.equal(withSettings(page), page);
  assert.match(page, /^\| `DISK_RESERVE_MB` \| `64` \| With less free space/m);
});

test('every setting of .env.example says when one would change it', () => {
  const says = /(?:^|\. |; )(?:Change|Set|Raise|Lower) [^.]*?\b(?:when|where|if|to|for|before|as soon as|with)\b/;
  const silent = readSettings().filter(({ about }) => !says.test(about));
  assert.deepEqual(
    silent.map(({ name }) => name),
    [],
  );
});

test('the twenty settings that a beginner needs come first, and every other one has a group of its subject', () => {
  const settings = readSettings();
  const [{ group: first }] = settings;
  assert.match(first, /^Begin here/);
  assert.equal(settings.filter(({ group }) => group === first).length, FOR_BEGINNERS);
  for (const needed of ['HOST', 'PORT', 'DATA_DIR', 'ADMIN_TOKEN', 'MASTER_KEY', 'PUBLIC_URL', 'BACKUP_TARGET']) {
    assert.equal(settings.find(({ name }) => name === needed)!.group, first, needed);
  }
  const groups = settings.map(({ group }) => group).filter((group, at, all) => group !== all[at - 1]);
  assert.deepEqual(groups, [...new Set(groups)], 'the settings of a group stand together');
});
