/**
 * How many trades settle on a chain, and what does each cost? Signed fills of a real engine are followed from its
 * journal and settled on a local chain with blocks every two seconds, as large as those of Polygon. The chain limits
 * the rate: a block carries no more trades than its gas allows. So the table also has figures that do not depend on it:
 * processor time, calls of the node, gas, and bytes that stay in settlement.db.
 */
import { readFileSync } from 'node:fs';
import { NO_ANVIL } from '../test/chain/anvil.ts';
import { atLeast, atMost, type Report, type Row, STOLEN, StealMeter } from './report.ts';
import { SettlementExchange } from './settlementExchange.ts';

const TRADERS = 200;
const TRADES = 3000;
const WARM_UP = 400;
const BLOCK_SECONDS = 2;
const BLOCK_GAS = 60_000_000;
/** The pause of the settlement thread. */
const PAUSE_MS = 1000;
const GAS_FILE = new URL('../data/contracts/gas.json', import.meta.url);
const TABLE_ROW = 'settleBatch, each of 50 standard';

const LEAST_A_MINUTE = 6000;
const MOST_GAS_RATIO = 1.1;
const MOST_CALLS = 0.1;
const MOST_FOLLOW_US = 100;

type Measured = { readonly seconds: number; readonly processorUs: number; readonly stolen: Row[string] };

export async function run(): Promise<Report> {
  if (NO_ANVIL !== false) throw new Error(NO_ANVIL);
  const exchange = await SettlementExchange.start(TRADERS);
  try {
    return await measure(exchange);
  } finally {
    await exchange.stop();
  }
}

async function measure(exchange: SettlementExchange): Promise<Report> {
  exchange.trade(WARM_UP);
  await exchange.settle(1);
  await exchange.finish();
  const [bytesBefore, gasBefore, batchesBefore] = await readings(exchange);
  exchange.trade(TRADES);
  const followed = await timed(async () => exchange.follow());
  await exchange.mineEvery(BLOCK_SECONDS, BLOCK_GAS);
  exchange.rpc.calls = 0;
  exchange.rpc.views = 0;
  const settled = await timed(() => exchange.settle(PAUSE_MS));
  const { calls, views } = exchange.rpc;
  await exchange.finish();
  const [bytes, gas, batches] = await readings(exchange);
  const gasOfEach = (gas - gasBefore) / TRADES;
  const expected = (JSON.parse(readFileSync(GAS_FILE, 'utf8')) as Record<string, number>)[TABLE_ROW];
  const perMinute = (60 * TRADES) / settled.seconds;
  return {
    bench: 'settlement',
    settings:
      `${TRADES.toLocaleString('en')} fills of one maker and one taker each in ${batches - batchesBefore} batches; a ` +
      `block of ${BLOCK_GAS / 1e6} million gas every ${BLOCK_SECONDS} s carries ${Math.floor(BLOCK_GAS / gasOfEach)}`,
    rows: [
      { phase: 'followed', ...rowOf(followed) },
      {
        ...{
          phase: 'settled',
          ...rowOf(settled),
          'calls each': calls / TRADES,
          'balances asked': views,
          'gas each': gasOfEach,
        },
        'bytes kept each': (bytes - bytesBefore) / TRADES,
      },
    ],
    goals: [
      atLeast('trades settled in a minute', perMinute, LEAST_A_MINUTE),
      atMost('gas of a trade / that of the table', gasOfEach / expected, MOST_GAS_RATIO),
      atMost('calls of the node for a trade', calls / TRADES, MOST_CALLS),
      atMost('processor us to follow a trade', followed.processorUs / TRADES, MOST_FOLLOW_US),
    ],
  };
}

async function readings(exchange: SettlementExchange): Promise<[bytes: number, gas: number, batches: number]> {
  const { gas, batches } = await exchange.batches();
  return [exchange.storedBytes, Number(gas), batches];
}

async function timed(work: () => Promise<void>): Promise<Measured> {
  const steal = new StealMeter();
  const [startMs, start] = [performance.now(), process.cpuUsage()];
  await work();
  const { user, system } = process.cpuUsage(start);
  return { seconds: (performance.now() - startMs) / 1000, processorUs: user + system, stolen: steal.percent() };
}

function rowOf({ seconds, processorUs, stolen }: Measured): Row {
  return { seconds, 'trades/s': TRADES / seconds, 'processor us each': processorUs / TRADES, [STOLEN]: stolen };
}
