/** The recorded day of the demo (test/peers/demoDay.csv) as the journal of a shard, with a record of the next day. */
import { OUTCOME, SIDE, TIME_IN_FORCE } from '../../shared/base/codes.ts';
import { readDay } from '../peers/day.ts';
import { JournaledShard } from './journaledShard.ts';

const DAY_MS = 86_400_000;
const START_MS = Date.UTC(2027, 5, 1);
const SEED = 1;
/** Markets and accounts of the shard that are not of the day. */
const OTHERS = 10;
const ROW_RECORDS = 24;
const FUNDS_MICRO = 500_000_000_000;
const FULL_SETS_ATOMIC = 20_000_000_000;
const ATOMIC = 1_000_000;

/** @param days the days on which it is played. @param times how often on each of them, one after the other */
export function recordedDays(days = 1, times = 1): JournaledShard {
  const shard = new JournaledShard(SEED, ROW_RECORDS);
  const { rig } = shard;
  const { ticks, events } = readDay();
  rig.nowMs = START_MS;
  for (const [index, ticksPerUnit] of ticks.entries()) {
    rig.market(OTHERS + index, { ticksPerUnit, endMs: START_MS + (days + 1) * DAY_MS });
  }
  const accounts = new Map<string, number>();
  const accountOf = (name: string): number => {
    const known = accounts.get(name);
    if (known !== undefined) return known;
    const account = OTHERS + accounts.size;
    accounts.set(name, account);
    rig.fund(account, FUNDS_MICRO);
    for (const market of ticks.keys()) rig.convert(account, OTHERS + market, FULL_SETS_ATOMIC);
    return account;
  };
  const spanMs = DAY_MS / times;
  for (let round = 0; round < days * times; round++) {
    const placed: { readonly account: number; readonly hash: Uint32Array }[] = [];
    for (const event of events) {
      rig.nowMs = Math.floor(START_MS + round * spanMs + Math.min(event.atMs, DAY_MS - 1) / times);
      if (event.kind === 'cancel') {
        const { account, hash } = placed[event.placement]!;
        rig.cancel(account, hash);
      } else {
        const ticksPerUnit = ticks[event.market]!;
        const account = accountOf(event.account);
        const { hash } = rig.place({
          account,
          market: OTHERS + event.market,
          side: event.side === 'BUY' ? SIDE.BUY : SIDE.SELL,
          outcome: event.outcome === 0 ? OUTCOME.YES : OUTCOME.NO,
          ticks: Math.round(Number(event.price) * ticksPerUnit),
          lots: Math.round((Number(event.size) * ATOMIC) / ticksPerUnit),
          timeInForce: event.timeInForce === 'FAK' ? TIME_IN_FORCE.FAK : TIME_IN_FORCE.GTC,
        });
        placed.push({ account, hash });
      }
    }
    shard.commit();
  }
  rig.nowMs = START_MS + days * DAY_MS;
  rig.fund(OTHERS, 1);
  shard.commit();
  return shard;
}
