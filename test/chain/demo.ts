/**
 * `npm run demo`: the exchange with its demo, as `npm start` has it. `npm run demo -- --chain` has one that settles on
 * a chain: a local EVM with the contracts, the exchange on it, and accounts whose wallets have deposited play money
 * there and trade. Both end with this process, and so does what they kept: a chain that is new at every start needs an
 * exchange that is new as well, so this one has a temporary data directory.
 *
 *     --chain              settles on a local chain
 *     --chain-port 8545    where the chain listens
 *     --polymarket         has `npm run polymarket` beside it, on the ledger of the exchange
 *
 * The other settings are those of the exchange, from the environment: PORT, SHARDS, ADMIN_TOKEN …
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createLogger } from '../../gateway/base/log.ts';
import { startDemoFlow } from '../../gateway/wiring/demoFlow.ts';
import type { ExchangeClient } from '../../shared/client/client.ts';
import { NO_ANVIL } from './anvil.ts';
import { DemoExchange } from './demoExchange.ts';
import { DemoPolymarket } from './demoPolymarket.ts';
import { type DemoTraders, makeDemo } from './demoTraders.ts';
import { LocalChain } from './local.ts';

const OPTIONS = {
  chain: { type: 'boolean' },
  'chain-port': { type: 'string', default: '8545' },
  polymarket: { type: 'boolean' },
} as const;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const CHAIN_ID = 137;
const BLOCK_SECONDS = 1;
const MAX_PORT = 65_535;
const LOOK_EVERY_MS = 500;

const stopping = new AbortController();
/** Each ends something that this process has started; the newest is the first to go. */
const endings: (() => unknown)[] = [];

function say(...lines: string[]): void {
  if (!stopping.signal.aborted) process.stdout.write(`${lines.join('\n')}\n`);
}

async function end(): Promise<void> {
  stopping.abort();
  for (const ending of endings.splice(0).reverse()) await ending();
}

/** The exchange with the demo that keeps its funds itself. @returns its exit code */
async function runWithoutChain(hasPolymarket: boolean): Promise<number> {
  const env = { ...process.env, DEMO: 'on' };
  if (!hasPolymarket) {
    const exchange = DemoExchange.start(env, 'inherit');
    endings.push(() => exchange.stop());
    return exchange.ended;
  }
  const adminToken = process.env['ADMIN_TOKEN'] ?? randomBytes(24).toString('base64url');
  const exchange = DemoExchange.start({ ...env, ADMIN_TOKEN: adminToken }, 'inherit');
  endings.push(() => exchange.stop());
  const starting = DemoPolymarket.start(env, adminToken, stopping.signal);
  starting.then((beside) => endings.push(() => beside.stop()), fail);
  return exchange.ended;
}

/** @returns the exit code of the exchange */
async function runOnChain(port: number): Promise<number> {
  if (NO_ANVIL) throw new Error(NO_ANVIL);
  say('starting a chain, and an exchange on it …');
  const chain = await LocalChain.start(CHAIN_ID, port);
  endings.push(() => chain.stop());
  stopping.signal.throwIfAborted();
  const dataDir = mkdtempSync(join(tmpdir(), 'exchange-demo-'));
  endings.push(() => rmSync(dataDir, { recursive: true, force: true, maxRetries: 3 }));
  // The exchange does not get the key of the administrator of the contracts.
  const { ADMIN_KEY: _, ...settings } = chain.settings;
  const exchange = DemoExchange.start({ ...process.env, ...settings, DATA_DIR: dataDir, DEMO: 'off' }, 'read');
  endings.push(() => exchange.stop());
  const isUp = await Promise.race([exchange.listening, exchange.ended.then(() => false)]);
  if (!isUp) return exchange.ended;
  void showTrading(exchange, chain, dataDir).catch(fail);
  return exchange.ended;
}

async function showTrading(exchange: DemoExchange, chain: LocalChain, dataDir: string): Promise<void> {
  const { baseUrl } = exchange;
  const traders = await makeDemo(exchange, chain, dataDir);
  await chain.goOn(BLOCK_SECONDS);
  stopping.signal.throwIfAborted();
  const flow = startDemoFlow(traders.path, createLogger('warn', process.stdout));
  endings.push(() => flow.kill());
  const pmx = `DATA_DIR=${dataDir} npx pmx`;
  say(
    '',
    `  Exchange     ${baseUrl}   open it in a browser`,
    `  Operations   ${baseUrl}/ops   sign in with the admin token`,
    `  Admin token  ${exchange.adminToken}`,
    `  Chain        ${chain.settings['RPC_URL']}   chain id ${CHAIN_ID}, a block each ${BLOCK_SECONDS} s`,
    `  Contract     ${chain.contracts.exchange}`,
    `  Demo keys    in ${dataDir}/demo.json`,
    '               Ctrl-C ends the chain and the exchange, and removes this directory',
    '',
    '  Ask how the chain is, and what settlement does, from another terminal:',
    '',
    `    curl -s ${baseUrl}/health/polygon`,
    `    curl -s ${baseUrl}/metrics | grep ^exchange_settlement`,
    '',
    '  Trade, and see settlement_status go from pending to submitted, mined and, a minute later, settled:',
    '',
    `    ${pmx} place ${traders.marketId} --side buy --outcome yes --price 0.99 --size 10`,
    `    ${pmx} trades --json`,
    '',
    'waiting for the first trade of the demo …',
  );
  await followFirstTrade(traders);
}

/** Says each step of the first trade on its way to the chain. */
async function followFirstTrade({ takers }: DemoTraders): Promise<void> {
  let first: { readonly client: ExchangeClient; readonly id: string } | null = null;
  for (let said = 0; ; await sleep(LOOK_EVERY_MS, null, { signal: stopping.signal })) {
    first ??= await firstTradeOf(takers);
    if (first === null) continue;
    const { history, transaction_hash } = await first.client.tradeSettlement(first.id);
    for (const { status, at } of history.slice(said)) {
      const where = transaction_hash === null ? '' : `, transaction ${transaction_hash}`;
      say(`  ${at}   trade ${first.id} is ${status}${where}`);
      if (status === 'settled' || status === 'failed') return;
    }
    // A reorganisation takes steps back.
    said = history.length;
  }
}

async function firstTradeOf(takers: readonly ExchangeClient[]) {
  for (const client of takers) {
    const { trades } = await client.userTrades();
    if (trades.length > 0) return { client, id: trades.at(-1)!.id };
  }
  return null;
}

function fail(error: unknown): void {
  if (stopping.signal.aborted) return;
  process.stderr.write(`There is no demo: ${(error as Error).message}\n`);
  process.exitCode = 1;
  void end();
}

for (const signal of SIGNALS) process.on(signal, () => void end());
try {
  const { values } = parseArgs({ options: OPTIONS });
  const port = values['chain-port'];
  if (!/^\d{1,5}$/.test(port) || Number(port) > MAX_PORT) {
    throw new Error(`--chain-port is a whole number from 0 to ${MAX_PORT}, and not '${port}'`);
  }
  if (values.chain && values.polymarket) throw new Error('--polymarket gives play money, which is not on a chain');
  const code = values.chain ? await runOnChain(Number(port)) : await runWithoutChain(values.polymarket ?? false);
  process.exitCode ||= code;
} catch (error) {
  fail(error);
}
await end();
