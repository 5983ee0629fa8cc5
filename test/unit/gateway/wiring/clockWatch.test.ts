/** The watch over the clock of the machine (RULES.md 4.3, 7.8), on a clock of the test. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLogger } from '../../../../gateway/base/log.ts';
import { ClockWatch } from '../../../../gateway/wiring/clockWatch.ts';
import { ManualClock } from '../../../support/manualClock.ts';

const START_SEC = 1_790_000_000;
const LOOK_MS = 250;
/** An account without funds. */
const EMPTY = 9;

function scene() {
  const clock = new ManualClock((START_SEC + 1) * 1000);
  const nonces = { floorSec: START_SEC };
  const state = { isServing: true, monotonicMs: 5000 };
  const lines: string[] = [];
  const watch = new ClockWatch({
    ...{ nonces, clock, log: createLogger('info', { write: (line: string) => void lines.push(line) }) },
    isServing: () => state.isServing,
    hasFunds: (account) => account !== EMPTY,
    monotonicMs: () => state.monotonicMs,
  });
  const pass = (ms: number): void => {
    for (let leftMs = ms; leftMs > 0; leftMs -= LOOK_MS) {
      clock.advance(LOOK_MS);
      state.monotonicMs += LOOK_MS;
      watch.tick();
    }
  };
  return { clock, nonces, state, watch, pass, lines };
}

test('after a start the clock is trusted, even while signatures of slow clocks are still too early', () => {
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
  watch.noteRefused(7);
  pass(14_750);
  assert.equal(watch.isAccepting, false);
  watch.noteRefused(7);
  pass(14_750);
  assert.equal(watch.isAccepting, false);
  pass(LOOK_MS);
  assert.ok(watch.isAccepting);
  watch.noteRefused(7);
  watch.noteAccepted(7, 0);
  assert.ok(watch.isAccepting);
});

test('accounts without funds are not counted for the person on call, and an accepted request clears the rest', () => {
  const { watch, pass } = scene();
  for (const account of [EMPTY, 1, 1, 2]) watch.noteRefused(account);
  assert.equal(watch.refusedAccounts, 2);
  watch.noteAccepted(3, 0);
  assert.equal(watch.refusedAccounts, 0);
  watch.noteRefused(EMPTY);
  assert.deepEqual([watch.refusedAccounts, watch.isAccepting], [0, false]);
  watch.noteRefused(1);
  pass(15_500);
  assert.equal(watch.refusedAccounts, 0, 'nobody was refused for 15 seconds');
});

test('a shift of more than five seconds is logged with its size, and one that is slewed is not', () => {
  const { clock, watch, pass, lines } = scene();
  const moved = () => lines.map((line) => JSON.parse(line)).filter(({ msg }) => /was moved/.test(msg));
  pass(1000);
  for (const [byMs, count] of [
    [4000, 0],
    [60_000, 1],
    [-60_000, 2],
  ] as const) {
    clock.advance(byMs);
    pass(61_000);
    assert.equal(watch.shifts, count, `${byMs} ms`);
  }
  assert.deepEqual(
    moved().map(({ by_ms }) => Math.round(by_ms / 10_000)),
    [6, -6],
  );
  for (let minute = 0; minute < 10; minute++) {
    clock.advance(30);
    pass(60_000);
  }
  assert.equal(watch.shifts, 2, '500 ppm for ten minutes');
});

test('the clocks of clients are the median over their accounts, whichever sends most', () => {
  const { watch, pass } = scene();
  assert.equal(watch.offsets.middleSec, null);
  pass(LOOK_MS);
  for (let index = 0; index < 100; index++) watch.noteAccepted(1, 29);
  watch.noteAccepted(2, -0.5);
  watch.noteAccepted(3, -0.7);
  assert.deepEqual([watch.offsets.accounts, watch.offsets.middleSec], [3, 0]);
  pass(130_000);
  assert.deepEqual([watch.offsets.accounts, watch.offsets.middleSec], [0, null]);
});

test('a shift before the first look is noticed', () => {
  const { clock, watch, lines } = scene();
  clock.advance(-300_000);
  watch.tick();
  assert.equal(watch.shifts, 1);
  assert.ok(lines.some((line) => line.includes('the clock of this machine was moved')));
});
