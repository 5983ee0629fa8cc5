/** A member leaves the lease to its holder while the database takes no rows, and a while more (RULES.md 18.21). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Confirmed } from '../../../../engine/replication/confirmed.ts';
import { TakesNoRowsError } from '../../../../engine/replication/log.ts';
import { ManualClock } from '../../../support/manualClock.ts';

const GRACE_MS = 1500;

/** A database that answers as the test says. */
function database() {
  const clock = new ManualClock(1000);
  const state: { error: Error | null } = { error: null };
  const confirm = async (): Promise<string> => {
    if (state.error !== null) throw state.error;
    return 'server';
  };
  return { clock, state, confirmed: new Confirmed({ confirm }, clock) };
}

test('the grace begins when the database takes rows again, not with its last refusal', async () => {
  const { clock, state, confirmed } = database();
  await confirmed.ask();
  assert.equal(confirmed.wasRefused(GRACE_MS), false);
  state.error = new TakesNoRowsError('server', 'read-only');
  await confirmed.ask();
  clock.advance(60_000);
  assert.equal(confirmed.wasRefused(GRACE_MS), true, 'nothing was confirmed since');
  state.error = new Error('no connection');
  await confirmed.ask();
  clock.advance(60_000);
  assert.equal(confirmed.wasRefused(GRACE_MS), true, 'what cannot be asked is not known to have ended');
  state.error = null;
  await confirmed.ask();
  clock.advance(GRACE_MS - 1);
  await confirmed.ask();
  assert.equal(confirmed.wasRefused(GRACE_MS), true);
  clock.advance(1);
  assert.equal(confirmed.wasRefused(GRACE_MS), false, 'a later commit does not begin it again');
});

test('a refused statement of another kind counts as well, and no other error does', async () => {
  const { clock, confirmed } = database();
  confirmed.note(new Error('no connection'));
  assert.equal(confirmed.wasRefused(GRACE_MS), false);
  confirmed.note(new TakesNoRowsError('server', 'read-only'));
  clock.advance(GRACE_MS);
  assert.equal(confirmed.wasRefused(GRACE_MS), true);
});
