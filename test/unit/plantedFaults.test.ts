/** The planted faults (npm run planted) follow the sources: a fault with no place, or with two, would plant nothing. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { FAULTS } from '../planted/faults.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

test('every planted fault has exactly one place in the sources, and a test that is to notice it', () => {
  for (const { name, file, search, replace, caughtBy } of FAULTS) {
    const places = readFileSync(join(ROOT, file), 'utf8').split(search).length - 1;
    assert.equal(places, 1, `'${name}' finds ${places} places in ${file}`);
    assert.notEqual(search, replace, `'${name}' changes something`);
    assert.ok(existsSync(join(ROOT, caughtBy)), `'${name}' is caught by a test that is there: ${caughtBy}`);
  }
});
