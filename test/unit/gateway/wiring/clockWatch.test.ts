/** The watch over the clock of the machine (RULES.md 4.3, 7.8), on a clock of the test. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLogger } from '../../../../gateway/process/log.ts';
import { ClockWatch } from '../../../../gateway/wiring/clockWatch.ts';
import { ManualClock } from '../../../support/manualClock.ts';

const START_SEC = 1_790_000_000;
const LOOK_MS = 250;

function scene() {
  const clock = new ManualClock((START_SEC + 1) * 1000);
  const nonces = { floorSec: START_SEC };
  const state = { isServing: true };
  const log = createLogger('silent');
  const watch = new ClockWatch({ nonces, clock, log, isServing: () => state.isServing });
  const pass = (ms: number): void => {
    for (let leftMs = ms; leftMs > 0; leftMs -= LOOK_MS) {
      clock.advance(LOOK_MS);
      watch.tick();
    }
  };
  return { clock, nonces, state, watch, pass };
}

test('after a start the clock is trusted, also while signatures of slow clocks are still too early', () => {
  const { watch, pass } = scene();
  assert.ok(watch.isAccepting);
  pass(60_000);
  assert.ok(watch.isAccepting);
  assert.equal(watch.problem, null);
});

test('a clock that was set back is a problem until it is past the floor, and refuses the slowest for 30 s more', () => {
  const { clock, watch, pass } = scene();
  clock.advance(-11_000);
  assert.deepEqual([watch.isSetBack, watch.isAccepting], [true, false], 'at once');
  assert.match(watch.problem!, /the clock was set back: .* after 2026-/);
  watch.tick();
  pass(10_000);
  assert.deepEqual([watch.isSetBack, watch.isAccepting], [true, false], 'what is signed in this second was, perhaps');
  pass(1000);
  assert.deepEqual([watch.isSetBack, watch.isAccepting], [false, false]);
  assert.equal(watch.problem, null);
  pass(29_750);
  assert.equal(watch.isAccepting, false);
  pass(LOOK_MS);
  assert.ok(watch.isAccepting);
});

test('a clock that goes back by less than the floor is old changes nothing', () => {
  const { clock, nonces, watch } = scene();
  clock.advance(600_000);
  nonces.floorSec = START_SEC + 500;
  clock.advance(-60_000);
  watch.tick();
  assert.ok(watch.isAccepting);
});

test('before requests are carried out there is no problem', () => {
  const { clock, state, watch } = scene();
  state.isServing = false;
  clock.advance(-60_000);
  watch.tick();
  assert.deepEqual([watch.isSetBack, watch.problem], [false, null]);
});

test('a refusal for the time counts for 15 seconds, or until a signed request is accepted', () => {
  const { watch, pass } = scene();
  watch.noteRefused();
  pass(14_750);
  assert.equal(watch.isAccepting, false);
  watch.noteRefused();
  pass(14_750);
  assert.equal(watch.isAccepting, false);
  pass(LOOK_MS);
  assert.ok(watch.isAccepting);
  watch.noteRefused();
  watch.noteAccepted();
  assert.ok(watch.isAccepting);
});
