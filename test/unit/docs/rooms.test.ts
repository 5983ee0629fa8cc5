/** shared/ROOMS.md is made from the arrows of the rooms and the sentences of the READMEs (npm run docs). */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ROOMS_PAGE, roomsPage } from '../../docs/rooms.ts';

test('the drawing of the rooms is that of the imports', () => {
  assert.equal(readFileSync(ROOMS_PAGE, 'utf8'), roomsPage());
});

test('every room has a sentence in the README of its wing', () => {
  assert.deepEqual(
    [...roomsPage().matchAll(/^\| \*\*(\w+)\*\* \| {2}\|/gm)].map(([, room]) => room),
    [],
  );
});
