/**
 * What does an attack cost a bystander? A trader places one order after the other, in turns:
 *
 *   alone     nothing else happens
 *   attacked  an attacker in a process of its own does one thing as fast as the exchange lets it: it holds connections,
 *             requests everything that its 2,000 open orders make long, sends orders with wrong signatures, lets 20
 *             sockets replay a market, cancels authorizations on the rail, or searches for words that every description
 *             contains. Beside searches the bystander reads lists
 *   beside    the attacker sends the same requests at the same moments to a sink, which answers with as many bytes
 *
 * All of them share the processors of one machine. The attacker's own programs slow the bystander down, which they
 * would not do from far away; `beside` contains this too, so attacked / beside is the part that the exchange is
 * responsible for.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { assert } from '../shared/base/assert.ts';
import type { Credentials } from '../shared/client/credentials.ts';
import { temporaryDirectory } from '../test/support/directory.ts';
import { eventually } from '../test/support/eventually.ts';
import { type Scope, startServer, type TestServer } from '../test/support/server.ts';
import { makeMarket, makeTrader, type Trader } from '../test/support/traders.ts';
import type { Attack, AttackCommand, AttackReply } from './hostileLoad.ts';
import { type PreparedRequest, railCancellations, searches, sendFrom } from './hostileRequests.ts';
import { quantile } from './oneAfterAnother.ts';
import { processSeconds, threadSeconds } from './processStat.ts';
import { startReadExchange } from './readExchange.ts';
import { atLeast, atMost, type Goal, type Report, type Row, STOLEN, StealMeter } from './report.ts';

const ATTACKS: readonly Attack[] = [
  'none',
  'connections',
  'open orders',
  'bad signatures',
  'replays',
  'rail cancellations',
  'searches',
];
const OPEN_ORDERS = 2000;
const BATCH = 15;
/** The parts take turns, so that disturbances of the machine affect all of them. */
const ROUNDS = 5;
const PART_MS = 3000;
const WARM_UP = 30;
const MOST_TIMES = 1.5;
const MAX_CONNECTIONS = 2000;
const CROWDED_SHARE = 0.5;
const BYSTANDERS = 200;
/** A kept exchange has accounts already. */
const KEYS = [`0x${'a7'.repeat(32)}`, `0x${'a8'.repeat(32)}`] as const;

let listed = 0;

type Market = Awaited<ReturnType<typeof makeMarket>>;
type Names = 'alone' | 'attacked' | 'beside';

/** The bystander's orders of all rounds of a part, and the processor time of the gateway and its shard in that time. */
class Part {
  readonly timesMs: number[] = [];
  /** The p99 of each round. */
  readonly roundsMs: number[] = [];
  gatewaySeconds = 0;
  otherSeconds = 0;

  quantile(share: number): number {
    return quantile(this.timesMs, share);
  }
}

export async function run({ attacks = ATTACKS }: { readonly attacks?: readonly string[] }): Promise<Report> {
  const rows: Row[] = [];
  const goals: Goal[] = [];
  for (const attack of ATTACKS.filter((name) => attacks.includes(name))) {
    const measured = await measure(attack);
    rows.push(measured.row);
    if (attack !== 'none') goals.push(atMost(`p99 attacked / beside, ${attack}`, measured.times, MOST_TIMES));
    if (attack === 'connections') {
      goals.push(atLeast('connections taken, of all, connections', measured.taken / MAX_CONNECTIONS, CROWDED_SHARE));
    }
  }
  const turns = `${ROUNDS} x ${PART_MS / 1000} s each of alone, attacked, beside`;
  return {
    bench: 'hostile',
    settings: `one shard, rate limits on, one order after the other, ${turns}, synchronous FULL`,
    rows,
    goals,
  };
}

type Measured = { readonly row: Row; readonly times: number; readonly taken: number };

/** The attacker is a standard account; the bystander's key is not limited, so that its orders come close together. */
async function measure(attack: Attack): Promise<Measured> {
  const cleanUps: (() => void | Promise<void>)[] = [];
  try {
    const env = {
      SHARDS: '1',
      RATE_LIMITS: 'on',
      MAX_CONNECTIONS: String(MAX_CONNECTIONS),
      ...(attack === 'bad signatures' ? { VERIFIER: 'noble' } : {}),
    };
    const scope: Scope = { after: (cleanUp) => void cleanUps.push(cleanUp) };
    const server = await start(attack, scope, env);
    const market = await makeMarket(server);
    const [privateKey, other] = KEYS;
    const hostile = await makeTrader(server, { privateKey });
    const bystander = await withWideKey(server, await makeTrader(server, { privateKey: other }));
    if (attack === 'open orders' || attack === 'replays') await fill(server, market, hostile);
    const attacker = new Attacker();
    const sink = fork(fileURLToPath(new URL('./hostileSink.ts', import.meta.url)));
    cleanUps.unshift(
      () => void attacker.process.kill(),
      () => void sink.kill(),
    );
    const [sinkPort] = await once(sink, 'message');
    await place(bystander, market, WARM_UP);
    const prepared = await preparedFor(attack, server);

    const steal = new StealMeter();
    const parts: Record<Names, Part> = { alone: new Part(), attacked: new Part(), beside: new Part() };
    const { credentials } = hostile;
    const order = hostile.body(market, { price: '0.40', size: '1' });
    const options = { attack, baseUrl: server.baseUrl, credentials, marketId: market.id, order, prepared };
    const act = attack === 'searches' ? () => readList(server) : () => place(bystander, market, 1);
    const placeInto = (part: Part): Promise<void> => actFor(server, act, part);
    let requests = 0;
    let taken = Number.POSITIVE_INFINITY;
    for (let round = 0; round < ROUNDS; round++) {
      await placeInto(parts.alone);
      await attacker.carryOut({ do: 'attack', options });
      if (attack === 'connections') await untilTaken(server, (count) => count > MAX_CONNECTIONS * CROWDED_SHARE);
      await attacker.carryOut({ do: 'note' });
      await placeInto(parts.attacked);
      taken = Math.min(taken, await metric(server, 'exchange_connections'));
      requests += await attacker.carryOut({ do: 'stop' });
      if (attack === 'connections') await untilTaken(server, (count) => count < MAX_CONNECTIONS / 10);
      await attacker.carryOut({ do: 'play', sinkUrl: `http://127.0.0.1:${sinkPort}` });
      await placeInto(parts.beside);
      await attacker.carryOut({ do: 'stop' });
    }
    // A round that is disturbed by something else on the machine counts as one of five.
    const times = quantile(
      parts.attacked.roundsMs.map((ms, round) => ms / parts.beside.roundsMs[round]),
      0.5,
    );
    const row = {
      attack,
      ...latencies(parts),
      'attacked / alone': parts.attacked.quantile(0.99) / parts.alone.quantile(0.99),
      'attacked / beside': parts.attacked.quantile(0.99) / parts.beside.quantile(0.99),
      'median of rounds': times,
      orders: parts.alone.timesMs.length + parts.attacked.timesMs.length + parts.beside.timesMs.length,
      'requests a second': (1000 * requests) / (ROUNDS * PART_MS),
      ...costs(parts, requests),
      'longest turn ms': 1000 * (await metric(server, 'exchange_request_turn_worst_seconds')),
      [STOLEN]: steal.percent(),
    };
    return { row, times, taken };
  } finally {
    for (const cleanUp of cleanUps) await cleanUp();
  }
}

/** Searches run over a catalogue of 100,000 markets, including those that the attack searches for. */
async function start(attack: Attack, scope: Scope, env: Record<string, string>): Promise<TestServer> {
  if (attack !== 'searches') return startServer(scope, env);
  return (await startReadExchange(scope, temporaryDirectory(), env)).server;
}

function latencies(parts: Record<Names, Part>): Row {
  const names: Names[] = ['alone', 'attacked', 'beside'];
  const columns = [0.5, 0.99].flatMap((share) =>
    names.map((name): [string, number] => [`${name} p${100 * share} ms`, parts[name].quantile(share)]),
  );
  return Object.fromEntries(columns);
}

/**
 * Processor time of the exchange per request of the attacker, relative to the processor time for the bystander alone.
 */
function costs({ alone, attacked }: Record<Names, Part>, requests: number): Row {
  const orders = attacked.timesMs.length / alone.timesMs.length;
  const us = (attackedSeconds: number, aloneSeconds: number): number =>
    requests === 0 ? 0 : Math.max((1e6 * (attackedSeconds - orders * aloneSeconds)) / requests, 0);
  const [gateway, others] = [
    us(attacked.gatewaySeconds, alone.gatewaySeconds),
    us(attacked.otherSeconds, alone.otherSeconds),
  ];
  return {
    'gateway us a request': gateway,
    'other threads us': others,
    'cores the attack takes': ((gateway + others) * requests) / (1000 * ROUNDS * PART_MS),
  };
}

async function withWideKey(server: TestServer, trader: Trader): Promise<Trader> {
  const key = await server.admin.createApiKey(trader.userId, {
    scopes: ['read:account', 'trade:orders', 'trade:bulk'],
    rate_limit_override: { requests: 100_000, window_seconds: 1 },
  });
  const credentials: Credentials = { keyId: key.key_id, secret: key.secret, passphrase: key.passphrase };
  return trader.withKey(credentials);
}

/** The attacker's orders, on both sides of the book. */
async function fill(server: TestServer, market: Market, hostile: Trader): Promise<void> {
  const wide = await withWideKey(server, hostile);
  for (let placed = 0; placed < OPEN_ORDERS - BATCH; placed += BATCH) {
    const orders = Array.from({ length: BATCH }, (_, index) =>
      wide.body(market, {
        price: `0.${10 + ((placed + index) % 30)}`,
        size: '1',
        outcomeIndex: index % 2 === 0 ? 0 : 1,
      }),
    );
    const { succeeded } = (await wide.send('POST', '/v1/orders/batch', { orders })).body;
    assert(succeeded === BATCH, 'hostile: the attacker has its orders');
  }
}

class Attacker {
  readonly process: ChildProcess = fork(fileURLToPath(new URL('./hostileLoad.ts', import.meta.url)));

  /** @returns the requests of its trace. */
  async carryOut(command: AttackCommand): Promise<number> {
    const replied = once(this.process, 'message');
    this.process.send(command);
    const [{ done, requests }] = (await replied) as [AttackReply];
    assert(done === command.do, 'hostile: the attacker does one thing after the other');
    return requests;
  }
}

async function untilTaken(server: TestServer, isReached: (connections: number) => boolean): Promise<void> {
  await eventually('the connections of the attack', async () =>
    isReached(await metric(server, 'exchange_connections')),
  );
}

/** Places orders and cancels them again, so that the bound on open orders is never reached. */
async function place(trader: Trader, market: Market, count: number): Promise<number[]> {
  const timesMs: number[] = [];
  for (let index = 0; index < count; index++) {
    const body = trader.body(market, { price: '0.05', size: '1' });
    const startedMs = performance.now();
    const { order_hash } = await trader.client.placeOrder(body);
    timesMs.push(performance.now() - startedMs);
    await trader.client.cancelOrder(order_hash);
  }
  return timesMs;
}

/** Reads a page of another list each time, because answers are shared, as people of whom none asks too often. */
async function readList(server: TestServer): Promise<number[]> {
  const startedMs = performance.now();
  const path = `/v1/markets?limit=20&offset=${listed++ % 1000}`;
  const from = `127.0.4.${1 + (listed % BYSTANDERS)}`;
  const { status } = await sendFrom(from, server.baseUrl, { method: 'GET', path, headers: {}, body: '' });
  assert(status === 200, `hostile: the bystander is served, not ${status}`);
  return [performance.now() - startedMs];
}

async function preparedFor(attack: Attack, server: TestServer): Promise<PreparedRequest[]> {
  if (attack === 'rail cancellations') return railCancellations(server);
  return attack === 'searches' ? searches(server) : [];
}

async function actFor(server: TestServer, act: () => Promise<number[]>, part: Part): Promise<void> {
  const pid = server.pid!;
  const [gatewayBefore, allBefore] = [threadSeconds(pid).get(pid)!, processSeconds(pid)];
  const timesMs: number[] = [];
  for (const endMs = performance.now() + PART_MS; performance.now() < endMs; ) timesMs.push(...(await act()));
  part.timesMs.push(...timesMs);
  part.roundsMs.push(quantile(timesMs, 0.99));
  const gatewaySeconds = threadSeconds(pid).get(pid)! - gatewayBefore;
  part.gatewaySeconds += gatewaySeconds;
  part.otherSeconds += processSeconds(pid) - allBefore - gatewaySeconds;
}

/** The highest value of a metric, from the server itself. */
async function metric(server: TestServer, name: string): Promise<number> {
  const text = await (await fetch(`${server.baseUrl}/metrics`)).text();
  const values = [...text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (.*)$`, 'gm'))];
  return Math.max(...values.map(([, value]) => Number(value)));
}
