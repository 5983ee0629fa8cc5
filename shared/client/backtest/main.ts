/**
 * `npm run backtest`: what the market maker of the examples would have earned in recorded markets.
 *
 * Its value of a Yes is the middle of the recorded book, so it shows what quoting earns without an opinion.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { errorMessage } from '../../base/thrown.ts';
import { decimal6, tryParseUnits, unitsToDecimal } from '../../base/units.ts';
import { type MakerSettings, MarketMaker } from '../examples/marketMaker.ts';
import { parseRecording } from '../stream/recording.ts';
import { type BacktestSettings, RecordedExchange } from './recordedExchange.ts';
import type { BacktestReport } from './tally.ts';

const USAGE = `Usage:
  npm run backtest -- FILE... [--half-spread TICKS] [--size TOKENS] [--tokens-per-tick TOKENS]
      [--max-inventory TOKENS] [--max-filled TOKENS] [--requote-ms MS] [--latency-ms MS]
      [--cash USDC] [--fee-bps BPS] [--json]
  plays files of "pmx record", of different markets, against shared/client/examples/marketMaker.ts`;
const EXIT_USAGE = 64;
/** The signatures of a backtest bind nothing. */
const PRIVATE_KEY = `0x${'1'.padStart(64, '0')}`;
const DEFAULTS = {
  'half-spread': '2',
  size: '50',
  'tokens-per-tick': '100',
  'max-inventory': '500',
  'max-filled': '500',
  'requote-ms': '1000',
  'latency-ms': '20',
  cash: '10000',
  'fee-bps': '50',
} as const;
type Name = keyof typeof DEFAULTS;

type Options = { files: string[]; maker: MakerSettings; exchange: BacktestSettings; isJson: boolean };

function options(args: readonly string[]): Options {
  const numbers = Object.keys(DEFAULTS).map((name) => [name, { type: 'string' }] as const);
  const known = { ...Object.fromEntries(numbers), json: { type: 'boolean' } } as const;
  const { values, positionals } = parseArgs({ args: [...args], allowPositionals: true, options: known });
  const given: Readonly<Record<string, string | boolean | undefined>> = values;
  if (positionals.length === 0) throw new Error('at least one FILE is needed');
  const text = (name: Name): string => String(given[name] ?? DEFAULTS[name]);
  const whole = (name: Name): number => {
    if (!/^\d{1,9}$/.test(text(name))) throw new Error(`--${name} ${text(name)} is not a whole number`);
    return Number(text(name));
  };
  const atLeastOne = (name: Name): number => {
    if (whole(name) === 0) throw new Error(`--${name} must not be 0`);
    return whole(name);
  };
  const cashMicro = tryParseUnits(text('cash'));
  if (cashMicro < 0) throw new Error(`--cash ${text('cash')} is not an amount of USDC`);
  const maker = {
    halfSpreadTicks: whole('half-spread'),
    size: atLeastOne('size'),
    tokensPerTick: atLeastOne('tokens-per-tick'),
    maxInventory: atLeastOne('max-inventory'),
    maxFilled: atLeastOne('max-filled'),
    requoteMs: atLeastOne('requote-ms'),
  };
  const exchange = { cashMicro, feeRateBps: whole('fee-bps'), latencyMs: whole('latency-ms') };
  return { files: positionals, maker, exchange, isJson: given.json === true };
}

async function run({ files, maker, exchange, isJson }: Options): Promise<void> {
  const recordings = files.map((file) => parseRecording(readFileSync(file, 'utf8')));
  const recorded = new RecordedExchange(recordings, exchange);
  const report = await recorded.play(new MarketMaker(recorded, PRIVATE_KEY, recorded.mid, maker, recorded.pause));
  console.log(isJson ? JSON.stringify(report) : tableOf(report));
}

function tableOf(report: BacktestReport & { placed: number }): string {
  const usdc = (micro: number): string => `${decimal6(BigInt(micro))} USDC`;
  const rows = [
    ['quotes placed', String(report.placed)],
    ['fills', `${report.fills}, ${unitsToDecimal(report.boughtAtomic)} tokens`],
    ['gain', usdc(report.gainMicro)],
    ['  edge at the fills', usdc(report.edgeMicro)],
    ['  drift of what was held', usdc(report.driftMicro)],
    ['  fees', usdc(-report.feesMicro)],
    ['edge a minute later', usdc(report.markoutMicro)],
    ['largest drawdown', usdc(report.drawdownMicro)],
  ];
  return rows.map(([name, value]) => `${name.padEnd(26)}${value}`).join('\n');
}

try {
  const chosen = options(process.argv.slice(2));
  await run(chosen).catch((error) => {
    console.error(`error: ${error.message}`);
    process.exitCode = 1;
  });
} catch (error) {
  console.error(`error: ${errorMessage(error)}\n\n${USAGE}`);
  process.exitCode = EXIT_USAGE;
}
