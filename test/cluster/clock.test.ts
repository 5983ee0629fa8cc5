/**
 * The clock of the machine of a member jumps by an hour while clients trade. No clock of a member ends a lease, and
 * nothing acknowledged is lost: a standby follows as before, and of a leader whose clock is wrong another one takes
 * over as from any other (RULES.md 4.3, 18.2).
 *
 *     SOAK=on SEED=7 node shared/run.mjs --test test/cluster/clock.test.ts
 */
import assert from 'node:assert/strict';
import { globSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startCluster } from '../support/cluster.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { NO_POSTGRES, sharedPostgres } from '../support/postgres.ts';
import { openLog } from '../support/replicatedLog.ts';
import { seedOr, timesOf } from '../support/seeds.ts';
import { Witness } from '../support/witness.ts';

const SEED = seedOr(20_261_129);
const COMMANDS = 80;
const JUMPS_AFTER = 20;
/** Debian's package `faketime`; the library for programs with threads. */
const [LIBRARY] = globSync('/usr/lib/*/faketime/libfaketimeMT.so.1');
const NO_LIBRARY = LIBRARY === undefined && 'libfaketime is not installed';
const IS_LONG = timesOf({ suite: 0, soak: 1 }) === 0 && 'only with SOAK=on: each takes half a minute';
const skip = NO_POSTGRES || NO_LIBRARY || IS_LONG;

const JUMPS = { forward: '+3600', back: '-3600' } as const;

/** The clock of a machine, for a process with these settings. */
class MachineClock {
  readonly #path = join(temporaryDirectory(), 'clock');

  constructor() {
    this.set('+0');
  }

  /** @param seconds that it is ahead of the right one */
  set(seconds: string): void {
    writeFileSync(`${this.#path}.next`, `${seconds}\n`);
    renameSync(`${this.#path}.next`, this.#path);
  }

  get env(): Record<string, string> {
    return {
      LD_PRELOAD: LIBRARY!,
      FAKETIME_TIMESTAMP_FILE: this.#path,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_RESET: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      NO_FAKE_STAT: '1',
    };
  }
}

/** Two members; the test sets the clock of one. */
async function start(t: Parameters<typeof startCluster>[0], whose: 'leader' | 'standby') {
  const url = await (await sharedPostgres()).database();
  const cluster = await startCluster(t, ['a', 'b'], { JOURNAL_URL: url });
  const [leader, standby] = [cluster.leader, cluster.standbys[0]!];
  const clock = new MachineClock();
  const member = standby;
  await member.stop();
  Object.assign(member.env, clock.env);
  await cluster.rejoin(member);
  if (whose === 'leader') {
    await leader.kill();
    await cluster.awaitLeader([member]);
    await cluster.rejoin(leader);
  }
  const log = await openLog(t, url, 'observer');
  return { cluster, clock, member, other: leader, log, witness: await Witness.create(cluster, SEED) };
}

async function isWrong(member: { readonly baseUrl: string }, seconds: string): Promise<void> {
  await eventually(`a clock that is ${seconds} s ahead`, async () => {
    const answer = await fetch(`${member.baseUrl}/v1/time`);
    const { time } = (await answer.json()) as { readonly time: number };
    return Math.abs(time - Date.now() / 1000 - Number(seconds)) < 60;
  });
}

/** True once the lease lasts longer than at the last look. */
function renewed(log: Awaited<ReturnType<typeof openLog>>): () => Promise<boolean> {
  let last = Number.POSITIVE_INFINITY;
  return async () => {
    const { expiresInMs } = await log.lease();
    const isRenewed = expiresInMs > last;
    last = expiresInMs;
    return isRenewed;
  };
}

for (const [way, seconds] of Object.entries(JUMPS)) {
  test(`the clock of a standby jumps an hour ${way}: it follows, and the leader leads (SEED=${SEED})`, {
    skip,
  }, async (t) => {
    const { cluster, clock, member, log, witness } = await start(t, 'standby');
    const { epoch } = await log.lease();
    await witness.trade({
      commands: COMMANDS,
      onAnswer: (answered) => {
        if (answered === JUMPS_AFTER) clock.set(seconds);
      },
    });
    await isWrong(member, seconds);
    await cluster.awaitStandby(member);
    assert.equal((await log.lease()).epoch, epoch, 'the same one leads');
    // Its own clients are refused, as by any clock that is wrong: an operator sets it and starts the member again.
    await member.kill();
    clock.set('+0');
    await cluster.rejoin(member);
    await witness.check();
    await witness.trade({ commands: COMMANDS });
    await cluster.leader.kill();
    await cluster.awaitLeader([member]);
    await witness.check();
    await witness.trade({ commands: COMMANDS });
    await witness.check();
  });

  test(`the clock of a leader jumps an hour ${way}: it leads until another takes over (SEED=${SEED})`, {
    skip,
  }, async (t) => {
    const { cluster, clock, member, other, log, witness } = await start(t, 'leader');
    const { epoch } = await log.lease();
    await witness.trade({ commands: COMMANDS });
    clock.set(seconds);
    await isWrong(member, seconds);
    // After this many checks nothing is left of a lease that no member renews.
    for (let looks = 0; looks < 4; looks++) await eventually('a lease that is renewed', renewed(log));
    assert.equal((await log.lease()).epoch, epoch, 'no clock of a member ends a lease');
    await member.kill();
    clock.set('+0');
    await cluster.awaitLeader([other]);
    await witness.check();
    await witness.trade({ commands: COMMANDS });
    await witness.check();
    await cluster.rejoin(member);
  });
}
