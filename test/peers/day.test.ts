/**
 * A recorded day of the demo drives both official clients of Polymarket: what they believe is what the ledger has. In
 * an hour's soak the day takes an hour.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { NO_PEERS, startFacade } from '../support/polymarketRig.ts';
import { Random } from '../support/random.ts';
import { isLongSoak, seedOr, timesOf } from '../support/seeds.ts';
import { sharedServer } from '../support/server.ts';
import { assertBalanced } from '../support/traders.ts';
import { DayPlayer, readDay } from './day.ts';
import { DayBot } from './dayBot.ts';

const server = await sharedServer();
const facade = await startFacade({ after }, server);
const seed = seedOr(58);
/** 0: as fast as it goes. */
const DAY_MS = timesOf({ suite: 0, soak: isLongSoak ? 3_600_000 : 0 });
/** The bots act beside each of so many placements. */
const EVERY = timesOf({ suite: 4, soak: 1 });
const COMPARISONS = 3;

test(`in a recorded day neither client believes what the ledger does not have (seed ${seed})`, {
  skip: NO_PEERS,
}, async () => {
  const random = new Random(seed);
  const day = readDay();
  const player = await DayPlayer.enter(server, day);
  const place = { server, host: facade.host, markets: player.markets };
  const bots = [await DayBot.start(1, place, random), await DayBot.start(2, place, random)];
  const startMs = performance.now();
  let trades = 0;
  for (const [at, event] of day.events.entries()) {
    const waitMs = startMs + (DAY_MS * at) / day.events.length - performance.now();
    if (waitMs > 0) await sleep(waitMs);
    if (event.kind === 'place' && at % EVERY === 0) await Promise.all(bots.map((bot) => bot.act(event)));
    await player.play(event);
    if ((at + 1) % Math.ceil(day.events.length / COMPARISONS) !== 0 && at + 1 < day.events.length) continue;
    trades = 0;
    for (const bot of bots) trades += await bot.compare();
  }
  assert.ok(trades > 40, `${trades} trades`);
  for (const { counts } of bots) {
    assert.ok(counts.placed > 30 && counts.cancelled > 5, JSON.stringify(counts));
    assert.ok(counts.refused < counts.placed, JSON.stringify(counts));
  }
  assert.ok(player.refused < 20, `${player.refused} of the day were refused`);
  await assertBalanced(server);
  for (const bot of bots) bot.close();
  assert.deepEqual(facade.errors, []);
});
