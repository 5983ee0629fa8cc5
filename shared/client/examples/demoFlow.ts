/**
 * The flow of the demo, so that a newcomer finds an exchange that trades: one account makes markets like any market
 * maker (marketMaker.ts), two others buy and sell now and then. Values wander by themselves and come back.
 *
 * A program of its own, with keys like any client's, started by the server of a demo and ended with it.
 *
 *     node shared/run.mjs shared/client/examples/demoFlow.ts <demo.json>
 */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Outcome } from '../../base/codes.ts';
import { ExchangeClient } from '../client.ts';
import { draftOrder } from '../order.ts';
import { OrderSigner } from '../orderSigner.ts';
import { MarketMaker } from './marketMaker.ts';

type Account = { name: string; key_id: string; secret: string; passphrase: string; private_key: string };
type Demo = { base_url: string; accounts: Account[]; flow?: { maker: string; takers: string[]; market_ids: string[] } };

const SETTINGS = {
  halfSpreadTicks: 1,
  size: 50,
  tokensPerTick: 100,
  maxInventory: 500,
  maxFilled: 500,
  requoteMs: 4000,
} as const;
const TAKER_PAUSE_MS = 5000;
const MOST_TAKEN = 20;
const ATOMIC_PER_TOKEN = 1_000_000;
/** The largest move of a value in a step, and the share of the way back that it takes: both in log-odds. */
const STEP = 0.06;
const RETURN = 0.03;
const RETRY_MS = 2000;

/** A value that wanders around its start and stays a probability. */
class Wandering {
  readonly #start: number;
  #odds: number;

  constructor(start: number) {
    this.#start = Math.log(start / (1 - start));
    this.#odds = this.#start;
  }

  next(): number {
    this.#odds += (this.#start - this.#odds) * RETURN + (Math.random() - 0.5) * 2 * STEP;
    return 1 / (1 + Math.exp(-this.#odds));
  }
}

function clientOf({ base_url }: Demo, { key_id: keyId, secret, passphrase }: Account): ExchangeClient {
  return new ExchangeClient({ baseUrl: base_url, credentials: { keyId, secret, passphrase } });
}

/** Takes a little of what is best somewhere: sells what the account has there, or buys. */
async function take(client: ExchangeClient, signer: OrderSigner, marketIds: readonly string[]): Promise<void> {
  const outcomeIndex: Outcome = Math.random() < 0.5 ? 0 : 1;
  const asked = marketIds.map((market_id) => ({ market_id, outcome_index: outcomeIndex }));
  const [{ markets }, { tokens }] = await Promise.all([client.bbos(asked), client.balances()]);
  const quoted = markets.filter(({ best_bid, best_ask }) => best_bid !== null && best_ask !== null);
  if (quoted.length === 0) return;
  const { market_id: marketId, best_bid, best_ask } = quoted[Math.floor(Math.random() * quoted.length)];
  const held = tokens.find((row) => row.market_id === marketId && row.outcome_index === outcomeIndex);
  const holdsTokens = Math.floor(Number(held?.available ?? 0) / ATOMIC_PER_TOKEN);
  const isSale = holdsTokens > 0;
  const price = (isSale ? best_bid : best_ask)!;
  const [market, { maker_fee_bps: feeRateBps }] = await Promise.all([
    client.orderMarket(marketId),
    client.feeRate(marketId),
  ]);
  const size = String(isSale ? Math.min(holdsTokens, MOST_TAKEN) : 1 + Math.floor(Math.random() * MOST_TAKEN));
  const side = isSale ? 'SELL' : 'BUY';
  const order = { market, outcomeIndex, side, price, size, feeRateBps, timeInForce: 'FAK' } as const;
  await client.signAndPlace(signer, draftOrder(order));
}

async function takeForEver(demo: Demo, account: Account, marketIds: readonly string[]): Promise<never> {
  const client = clientOf(demo, account);
  let signer: OrderSigner | null = null;
  for (;;) {
    try {
      signer ??= new OrderSigner(account.private_key, await client.signingDomain());
      await take(client, signer, marketIds);
    } catch {
      // Prices move, markets close and the server restarts: the next try meets another state.
    }
    await sleep(TAKER_PAUSE_MS * (0.5 + Math.random()));
  }
}

async function activeOf(client: ExchangeClient, marketIds: readonly string[]): Promise<string[]> {
  const markets = await Promise.all(marketIds.map((id) => client.market(id)));
  return markets.filter(({ status }) => status === 'active').map(({ id }) => id);
}

async function main(): Promise<void> {
  const demo = JSON.parse(readFileSync(process.argv[2], 'utf8')) as Demo;
  const { flow } = demo;
  if (flow === undefined) return;
  const accountOf = (name: string): Account => demo.accounts.find((account) => account.name === name)!;
  const maker = accountOf(flow.maker);
  const values = new Map(flow.market_ids.map((id) => [id, new Wandering(0.15 + Math.random() * 0.7)]));
  for (const name of flow.takers) void takeForEver(demo, accountOf(name), flow.market_ids);
  const client = clientOf(demo, maker);
  const value = (id: string): number => values.get(id)!.next();
  for (;;) {
    try {
      const marketIds = await activeOf(client, flow.market_ids);
      await new MarketMaker(client, maker.private_key, value, SETTINGS).run(marketIds);
    } catch {
      // A market of the demo has closed, or funds are used up: what is left is quoted again later.
    }
    await sleep(RETRY_MS);
  }
}

// The server that started it holds the other end, also when it is killed.
process.on('disconnect', () => process.exit(0));
await main();
