/** Work that can wait lets orders go first, and goes on all the same. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { SpareTurns } from '../../../../gateway/base/spareTurns.ts';

test('turns follow each other at once, and come a millisecond later while orders are underway', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let turns = 0;
  let areOrdersUnderway = false;
  const spare = new SpareTurns(
    () => turns++,
    () => areOrdersUnderway,
  );
  spare.request();
  spare.request();
  assert.equal(turns, 0, 'never in the turn that asks');
  await nextTurn();
  assert.equal(turns, 1, 'asked for twice, due once');
  areOrdersUnderway = true;
  spare.request();
  areOrdersUnderway = false;
  spare.request();
  await nextTurn();
  assert.equal(turns, 1);
  t.mock.timers.tick(1);
  assert.equal(turns, 2);
  spare.request();
  await nextTurn();
  assert.equal(turns, 3);
});
