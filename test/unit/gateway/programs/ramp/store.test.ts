/** The file of the sandbox provider when it is opened (RAMPSTORE-1): damage and another wallet are refused. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openRampStore } from '../../../../../gateway/programs/ramp/store.ts';
import { temporaryDirectory } from '../../../../support/directory.ts';

const PAGE_BYTES = 4096;
const [WALLET, OTHER] = [`0x${'11'.repeat(20)}`, `0x${'22'.repeat(20)}`];

function open(path: string, wallet = WALLET): string[] {
  const lines: string[] = [];
  openRampStore(path, wallet, (line) => lines.push(line)).close();
  return lines;
}

test('the file of a provider belongs to one wallet; another wallet is refused with advice', () => {
  const path = join(temporaryDirectory(), 'ramp.db');
  assert.deepEqual([open(path), open(path)], [[], []]);
  assert.throws(() => open(path, OTHER), {
    message: new RegExp(`^${path} is of the wallet ${WALLET}, not of ${OTHER}: put its backup in its place, or move`),
  });
  assert.deepEqual(open(path), [], 'the refusal has changed nothing');
});

test('a damaged file of a provider is named, and an empty one begins anew with a line', () => {
  const path = join(temporaryDirectory(), 'ramp.db');
  open(path);
  const bytes = readFileSync(path);
  writeFileSync(path, bytes.fill(0, 2 * PAGE_BYTES, 3 * PAGE_BYTES));
  assert.throws(() => open(path), /ramp\.db is damaged \(.*\): put its backup in its place, or move it away/);
  writeFileSync(path, 'no database, but longer than a header of one would be, by some words'.repeat(99));
  assert.throws(() => open(path), /ramp\.db is damaged \(file is not a database\)/);
  writeFileSync(path, '');
  assert.match(open(path).join('\n'), /ramp\.db was empty: the provider begins anew/);
});
