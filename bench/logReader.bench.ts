/**
 * What does a log reader that has stopped cost? A trader places one order after the other, in turns, while the exchange
 * writes 10 MiB of log lines as fast as it can:
 *
 *   read     the reader reads
 *   stopped  the reader is stopped (SIGSTOP)
 */
import { assert } from '../shared/base/assert.ts';
import { eventually } from '../test/support/eventually.ts';
import { ReadServer } from '../test/support/readServer.ts';
import { makeMarket, makeTrader } from '../test/support/traders.ts';
import { columnsOf, quantile, timesOf } from './oneAfterAnother.ts';
import { atMost, type Report, STOLEN, StealMeter } from './report.ts';

/** A line has about 700 bytes. */
const LINES = 15_000;
const ROUNDS = 6;
const ORDERS = 200;
const WARM_UP = 300;
const MOST_TIMES = 1.5;

export async function run(): Promise<Report> {
  const cleanUps: (() => void | Promise<void>)[] = [];
  try {
    const read = await ReadServer.start({ after: (cleanUp) => cleanUps.push(cleanUp) }, LINES);
    const market = await makeMarket(read.server);
    const trader = await makeTrader(read.server);
    const place = (orders: number): Promise<number[]> => timesOf(trader, market, orders);
    await place(WARM_UP);
    const steal = new StealMeter();
    const quiet: number[] = [];
    const whileRead: number[] = [];
    const whileStopped: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      quiet.push(...(await place(ORDERS)));
      // Each part has only the lines of its own flood.
      read.flood();
      whileRead.push(...(await place(ORDERS)));
      await eventually('the lines of a part', async () => read.accountedFor() >= (2 * round + 1) * LINES);
      read.signalReader('SIGSTOP');
      read.flood();
      whileStopped.push(...(await place(ORDERS)));
      read.signalReader('SIGCONT');
      await eventually('the lines of a part', async () => read.accountedFor() >= (2 * round + 2) * LINES);
    }
    const dropped = await read.dropped();
    assert(dropped > 0, 'bench: lines were dropped');
    const row = (reader: string, times: readonly number[]) => ({
      reader,
      ...columnsOf(times),
    });
    return {
      bench: 'logReader',
      settings: `one shard, ${LINES} lines a part, ${ROUNDS} rounds, ${dropped} lines dropped, synchronous FULL`,
      rows: [
        row('no lines', quiet),
        row('reads', whileRead),
        { ...row('stopped', whileStopped), [STOLEN]: steal.percent() },
      ],
      goals: [atMost('p99 stopped / reads', quantile(whileStopped, 0.99) / quantile(whileRead, 0.99), MOST_TIMES)],
    };
  } finally {
    for (const cleanUp of cleanUps) await cleanUp();
  }
}
