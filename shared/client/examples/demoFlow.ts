/**
 * The flow of the demo, so that a newcomer finds an exchange that trades: one account makes markets like any market
 * maker (marketMaker.ts), some quote larger sizes further from the value, so that books have levels, one has orders in
 * hundreds of other markets (demoBreadth.ts), and two others buy and sell now and then. Values wander by themselves and
 * come back.
 *
 * A program of its own, with keys like any client's, started by the server of a demo and ended with it.
 *
 *     node shared/run.mjs shared/client/examples/demoFlow.ts <demo.json>
 */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { ExchangeClient } from '../client.ts';
import type { OrderMarket } from '../order.ts';
import { OrderSigner } from '../orderSigner.ts';
import { type Breadth, chooseMarkets, quoteAll } from './demoBreadth.ts';
import { take } from './demoTaker.ts';
import { type MakerSettings, MarketMaker } from './marketMaker.ts';

type Account = { name: string; key_id: string; secret: string; passphrase: string; private_key: string };
/** A demo of an earlier version has none that quote deeper, none that quotes the other markets, and no values. */
type Flow = {
  maker: string;
  deeper?: string[];
  broad?: string;
  takers: string[];
  market_ids: string[];
  values?: Record<string, number>;
};
type Demo = { base_url: string; accounts: Account[]; flow?: Flow };

const SETTINGS = {
  halfSpreadTicks: 1,
  size: 50,
  tokensPerTick: 100,
  maxInventory: 500,
  maxFilled: 500,
  requoteMs: 8000,
} as const;
/** Those who quote deeper, by turns: how far from the value, and how many tokens. They follow it more slowly. */
const DEEPER = [
  { halfSpread: 0.01, size: 80 },
  { halfSpread: 0.02, size: 140 },
  { halfSpread: 0.04, size: 240 },
] as const;
const DEEPER_REQUOTE_MS = 40_000;
const BROAD_REQUOTE_MS = 30_000;
/** A taker looks at so many markets at a time. */
const LOOKED_AT = 24;
const WANDER_MS = 8000;
const TAKER_PAUSE_MS = 5000;
/** The largest move of a value in a step, and the share of the way back that it takes: both in log-odds. */
const STEP = 0.03;
const RETURN = 0.01;
/** No market of the flow is active, a market has closed, funds are used up, or the exchange does not answer. */
const RETRY_MS = 5000;

/** A value that wanders around its start and stays a probability: the same for all who ask at a moment. */
class Wandering {
  readonly #start: number;
  #odds: number;

  constructor(start: number) {
    this.#start = Math.log(start / (1 - start));
    this.#odds = this.#start;
  }

  step(): void {
    this.#odds += (this.#start - this.#odds) * RETURN + (Math.random() - 0.5) * 2 * STEP;
  }

  now(): number {
    return 1 / (1 + Math.exp(-this.#odds));
  }
}

function clientOf({ base_url }: Demo, { key_id: keyId, secret, passphrase }: Account): ExchangeClient {
  return new ExchangeClient({ baseUrl: base_url, credentials: { keyId, secret, passphrase } });
}

async function takeForEver(demo: Demo, account: Account, marketIds: () => readonly string[]): Promise<never> {
  const client = clientOf(demo, account);
  let signer: OrderSigner | null = null;
  for (;;) {
    try {
      signer ??= new OrderSigner(account.private_key, await client.signingDomain());
      await take(client, signer, someOf(marketIds()));
    } catch {
      // Prices move, markets close and the server restarts: the next try meets another state.
    }
    await sleep(TAKER_PAUSE_MS * (0.5 + Math.random()));
  }
}

/** From a random place on, so that trades come everywhere. */
function someOf(ids: readonly string[]): readonly string[] {
  const from = Math.floor(Math.random() * ids.length);
  return [...ids.slice(from), ...ids.slice(0, from)].slice(0, LOOKED_AT);
}

/** @param onChosen is given the markets once they are known */
async function quoteBroadly(
  demo: Demo,
  account: Account,
  choose: (client: ExchangeClient) => Promise<Breadth>,
  onChosen: (chosen: Breadth) => void,
): Promise<never> {
  const client = clientOf(demo, account);
  const grids = new Map<string, OrderMarket>();
  for (;;) {
    try {
      // Markets close and others open: they are chosen anew each time.
      const chosen = await choose(client);
      onChosen(chosen);
      const signer = new OrderSigner(account.private_key, await client.signingDomain());
      await quoteAll(client, signer, chosen, grids);
    } catch {
      // A market has closed meanwhile, or the exchange does not answer: the next turn sees what is missing.
    }
    await sleep(BROAD_REQUOTE_MS);
  }
}

type Value = (marketId: string) => number;

/** One maker for each account: its heartbeats and its order group are the account's, in all markets. */
async function makeForEver(
  demo: Demo,
  account: Account,
  marketIds: readonly string[],
  value: Value,
  settings: MakerSettings,
): Promise<never> {
  const client = clientOf(demo, account);
  for (;;) {
    try {
      const active = await activeOf(client, marketIds);
      if (active.length > 0) await new MarketMaker(client, account.private_key, value, settings).run(active);
    } catch {
      // Markets that are still active are quoted again after a pause.
    }
    await sleep(RETRY_MS);
  }
}

/** One request after another: visitors share the address of this machine, whose new connections are limited. */
async function activeOf(client: ExchangeClient, marketIds: readonly string[]): Promise<readonly string[]> {
  const active: string[] = [];
  for (const id of marketIds) if ((await client.market(id)).status === 'active') active.push(id);
  return active;
}

function main(): void {
  const demo: Demo = JSON.parse(readFileSync(process.argv[2], 'utf8'));
  const { flow } = demo;
  if (flow === undefined) return;
  const { market_ids: marketIds, deeper = [], broad, takers, values: known = {} } = flow;
  const accountOf = (name: string): Account => demo.accounts.find((account) => account.name === name)!;
  const values = new Map(marketIds.map((id) => [id, new Wandering(known[id] ?? 0.15 + Math.random() * 0.7)]));
  setInterval(() => {
    for (const wandering of values.values()) wandering.step();
  }, WANDER_MS);
  const value: Value = (id) => values.get(id)!.now();
  void makeForEver(demo, accountOf(flow.maker), marketIds, value, SETTINGS);
  for (const [turn, name] of deeper.entries()) {
    const { halfSpread, size } = DEEPER[turn % DEEPER.length];
    const halfSpreadTicks = (ticksPerUnit: number): number => Math.ceil(halfSpread * ticksPerUnit) + turn;
    const settings = { ...SETTINGS, halfSpreadTicks, size, requoteMs: DEEPER_REQUOTE_MS };
    void makeForEver(demo, accountOf(name), marketIds, value, settings);
  }
  let traded: readonly string[] = marketIds;
  if (broad !== undefined) {
    const choose = (client: ExchangeClient) => chooseMarkets(client, (id) => values.has(id), known);
    void quoteBroadly(demo, accountOf(broad), choose, (chosen) => {
      traded = [...marketIds, ...chosen.keys()];
    });
  }
  // Every second time in one of the markets that are quoted best.
  const someMarkets = (): readonly string[] => (Math.random() < 0.5 ? marketIds : traded);
  for (const name of takers) void takeForEver(demo, accountOf(name), someMarkets);
}

// The server that started it holds the other end, also when it is killed.
process.on('disconnect', () => process.exit(0));
main();
