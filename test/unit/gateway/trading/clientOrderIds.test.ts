/** Names of orders on their way, also when a shard is lost (RULES.md 7.7). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ClientOrderIds } from '../../../../gateway/trading/clientOrderIds.ts';
import { E, OK } from '../../../../shared/base/errors.ts';

const [ANN, BOB] = [1, 2];

function rig() {
  const ready = new Set([0, 1]);
  const ids = new ClientOrderIds({ findByClientId: () => null }, { isReady: (shard) => ready.has(shard) });
  return { ids, ready };
}

test('a name on its way is its account’s and nobody else’s, until it is answered', () => {
  const { ids } = rig();
  assert.ok(ids.tryClaim(ANN, 'a', null));
  assert.ok(!ids.tryClaim(ANN, 'a', null));
  assert.ok(ids.tryClaim(ANN, 'b', null));
  assert.ok(ids.tryClaim(BOB, 'a', null));
  ids.release(ANN, 'a', E.INVALID_TICK, 0);
  assert.ok(ids.tryClaim(ANN, 'a', null));
  assert.equal(ids.stateOf(BOB, 'a'), 'onItsWay');
});

test('each waiter is called once, after the name is released', () => {
  const { ids } = rig();
  ids.tryClaim(ANN, 'a', null);
  const told: string[] = [];
  for (const who of ['first', 'second']) ids.whenAnswered(ANN, 'a', () => told.push(`${who} ${ids.stateOf(ANN, 'a')}`));
  ids.release(ANN, 'a', OK, 0);
  assert.deepEqual(told, ['first free', 'second free']);
  ids.tryClaim(ANN, 'a', null);
  ids.release(ANN, 'a', OK, 0);
  assert.equal(told.length, 2);
});

test('a name lost with its shard stays in use until that shard is back, whatever the others do', () => {
  const { ids, ready } = rig();
  ids.tryClaim(ANN, 'a', null);
  ready.delete(1);
  ids.release(ANN, 'a', E.OUTCOME_UNKNOWN, 1);
  assert.equal(ids.stateOf(ANN, 'a'), 'unknown');
  assert.ok(!ids.tryClaim(ANN, 'a', null));
  assert.ok(ids.tryClaim(BOB, 'a', null));
  ready.add(1);
  assert.equal(ids.stateOf(ANN, 'a'), 'free');
  assert.ok(ids.tryClaim(ANN, 'a', null));
});
