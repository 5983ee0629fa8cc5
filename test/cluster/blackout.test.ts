/**
 * Every member and every server of the log is killed within one second, under load and in any order, and all of them
 * come back; or all but the primary of the log, in whose place the standby that has received the most is promoted.
 * Nothing acknowledged is lost and nothing is there twice (RULES.md 18.1).
 *
 *     SOAK=on SEED=7 node shared/run.mjs --test test/cluster/blackout.test.ts
 */
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startCluster } from '../support/cluster.ts';
import { NO_POSTGRES, startPostgres } from '../support/postgres.ts';
import { seededRandom } from '../support/random.ts';
import { seedOr, timesOf } from '../support/seeds.ts';
import { Witness } from '../support/witness.ts';

const SEED = seedOr(20_261_128);
const ROUNDS = timesOf({ suite: 0, soak: 6 });
const COMMANDS = 120;
const FAULT_AFTER = 20;
const WITHIN_MS = 1000;
const skip = NO_POSTGRES || (ROUNDS === 0 && 'only with SOAK=on: each round takes a quarter of a minute');

type Postgres = Awaited<ReturnType<typeof startPostgres>>;
type Stoppable = { readonly name: string; stop(): Promise<unknown> };

const claim = `${ROUNDS} times all members and all servers of the log die within a second: nothing is lost`;

test(`${claim} (SEED=${SEED})`, { skip }, async (t) => {
  const random = seededRandom(SEED);
  const postgres = await startPostgres(t);
  const cluster = await startCluster(t, ['a', 'b', 'c'], { JOURNAL_URL: await postgres.database() });
  const witness = await Witness.create(cluster, SEED);
  for (let round = 1; round <= ROUNDS; round++) {
    const isPrimaryGone = round % 3 === 0;
    const all: Stoppable[] = [
      ...cluster.members.map(({ name, kill }, at) => ({ name, stop: () => kill.call(cluster.members[at]!) })),
      ...Object.values(postgres.nodes).map((node) => ({ name: node.name, stop: () => node.stop('SIGKILL') })),
    ];
    const dying = all.map((each) => ({ ...each, afterMs: WITHIN_MS * random() }));
    const order = dying.map(({ name, afterMs }) => `${name} after ${afterMs.toFixed()} ms`).join(', ');
    t.diagnostic(`SEED=${SEED}, round ${round}: ${order}${isPrimaryGone ? ', and the primary stays away' : ''}`);
    let ending: Promise<unknown> | undefined;
    await witness.trade({
      commands: COMMANDS,
      mayHang: true,
      onAnswer: (answered) => {
        if (answered === FAULT_AFTER) ending = Promise.all(dying.map(dieLater));
      },
    });
    await ending;
    await comeBack(postgres, isPrimaryGone);
    await cluster.recover();
    await witness.check();
    await witness.trade({ commands: COMMANDS });
    await witness.check();
  }
});

async function dieLater({ stop, afterMs }: Stoppable & { readonly afterMs: number }): Promise<void> {
  await sleep(afterMs);
  await stop();
}

async function comeBack(postgres: Postgres, isPrimaryGone: boolean): Promise<void> {
  const { primary } = postgres;
  const back = Object.values(postgres.nodes).filter((node) => !isPrimaryGone || node !== primary);
  await Promise.all(back.map((node) => node.start()));
  if (!isPrimaryGone) return;
  await postgres.promote();
  await postgres.rejoin(primary);
}
