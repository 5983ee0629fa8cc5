/** Ages that threads of one process compare (shared/wire/ageClock.ts). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AgeClock } from '../../../../shared/wire/ageClock.ts';
import { Random } from '../../../support/random.ts';
import { seedOr } from '../../../support/seeds.ts';

const START_MS = 1_790_000_000_000;
const HOUR_MS = 3_600_000;
const SEED = seedOr(20_261_127);
/** Each reading is rounded to a millisecond. */
const ROUNDED_MS = 1;

class Machine {
  timeMs = START_MS;
  steadyMs = 12_345.6;
  readonly clocks: readonly AgeClock[];

  constructor() {
    const cell = new BigInt64Array(new SharedArrayBuffer(8));
    const times = { timeMs: () => this.timeMs, nowMs: () => this.steadyMs };
    this.clocks = [new AgeClock(cell, times), new AgeClock(cell, times)];
  }

  pass(ms: number): void {
    this.timeMs += ms;
    this.steadyMs += ms;
  }
}

test('AGECLOCK-2: an age is measured by the steady clock, and is longer if the machine stood still', () => {
  const machine = new Machine();
  const [clock] = machine.clocks;
  const bornMs = clock!.nowMs();
  assert.equal(bornMs, START_MS, 'it is that of the system at first');
  machine.timeMs -= HOUR_MS;
  machine.pass(3000);
  assert.equal(clock!.nowMs() - bornMs, 3000, 'the clock of the system was set back');
  // The machine stood still: the steady clock did as well.
  machine.timeMs += 2 * HOUR_MS;
  assert.equal(clock!.nowMs() - bornMs, HOUR_MS + 3000);
});

test(`AGECLOCK-1, AGECLOCK-2: no thread reads less than another has read before (SEED=${SEED})`, () => {
  const random = new Random(SEED);
  const machine = new Machine();
  let lastMs = 0;
  let steadyMs = machine.steadyMs;
  for (let step = 0; step < 20_000; step++) {
    machine.pass(random.below(100) / 7);
    if (random.chance(10)) machine.timeMs += random.between(-HOUR_MS, HOUR_MS);
    const nowMs = random.pick(machine.clocks).nowMs();
    assert.ok(nowMs >= machine.timeMs - ROUNDED_MS, `step ${step}: behind the clock of the system`);
    const leastMs = machine.steadyMs - steadyMs - ROUNDED_MS;
    assert.ok(nowMs - lastMs >= Math.max(0, leastMs), `step ${step}: ${nowMs - lastMs} ms, at least ${leastMs}`);
    [lastMs, steadyMs] = [nowMs, machine.steadyMs];
  }
});
