/**
 * A leader that the log does not answer may have a successor without knowing it (RULES.md 18.14). What it answers to
 * reads holds by what it says of its age, and to changes it answers nothing that is not so in the log.
 *
 *     SOAK=on SEED=7 node shared/run.mjs --test test/cluster/formerLeader.test.ts
 */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startCluster } from '../support/cluster.ts';
import { LogLine } from '../support/logLine.ts';
import { NO_POSTGRES, sharedPostgres } from '../support/postgres.ts';
import { Random } from '../support/random.ts';
import { seedOr, timesOf } from '../support/seeds.ts';
import { makeMarket, makeTrader, type Trader } from '../support/traders.ts';

const SEED = seedOr(20_261_127);
const TIMES = timesOf({ suite: 0, soak: 3 });
const IS_LONG = TIMES === 0 && 'only with SOAK=on: each loss of a lead takes seconds';
/** Each order has a price of its own, and all of them fit into one answer of a book. */
const AT_FORMER_LEADER = 6;
const AT_NEXT_LEADER = 10;
const MOST_LEVELS = 100;
const TICKS_PER_UNIT = 1000;
const JSON_BODY = { 'content-type': 'application/json' };
const MOST_PAUSE_MS = 400;
/** Reading both members alternately. */
const READERS = 4;
/** Each side of a difference of two times is rounded to a millisecond. */
const ROUNDED_MS = 2;
/** The exit code of a member that has lost its lead. */
const AGAIN = 75;

type Cluster = Awaited<ReturnType<typeof startCluster>>;
type Member = Cluster['leader'];
type Market = Awaited<ReturnType<typeof makeMarket>>;
type Outcome = 'acknowledged' | 'refused' | 'unknown';

class Scene {
  /** When each acknowledged order was answered. */
  readonly acknowledgedMs: number[] = [];
  /** Results by price in ticks, for orders sent to a former leader. */
  readonly outcomes = new Map<number, Outcome>();
  readonly #market: Market;
  readonly #trader: Trader;
  #ticks = 0;
  readonly #seen = new Map<string, number>();
  /** The most orders that any member has shown, each time that there were more. */
  readonly #shown: { readonly orders: number; readonly atMs: number }[] = [];

  constructor(market: Market, trader: Trader) {
    this.#market = market;
    this.#trader = trader;
  }

  /** The kinds of answers that came to reads, and how often each did. */
  get seen(): string {
    return [...this.#seen].map(([kind, times]) => `${times} ${kind}`).join(', ');
  }

  has(kind: string): boolean {
    return this.#seen.has(kind);
  }

  /** Another order at the next price. */
  async place(member: Member): Promise<Outcome> {
    const ticks = ++this.#ticks;
    const intent = { price: (ticks / TICKS_PER_UNIT).toFixed(3), size: '1' };
    const payload = this.#trader.body(this.#market, intent);
    const { headers, body } = this.#trader.client.prepareSigned('POST', '/v1/orders', payload);
    const sent = { method: 'POST', body, headers: { ...headers, ...JSON_BODY } };
    const answer = await fetch(`${member.baseUrl}/v1/orders`, sent).then(textOf, () => null);
    const outcome = answer === null ? 'unknown' : outcomeOf(answer);
    if (outcome === 'acknowledged') this.acknowledgedMs.push(Date.now());
    this.outcomes.set(ticks, outcome);
    return outcome;
  }

  /** Ticks with an order, as the member shows them; null when it does not answer. */
  async read(member: Member): Promise<ReadonlySet<number> | null> {
    const askedMs = Date.now();
    const path = `/v1/orders/book/${this.#market.id}?levels=${MOST_LEVELS}`;
    const answer = await fetch(member.baseUrl + path).catch(() => null);
    if (answer?.status !== 200) return null;
    const { bids } = (await answer.json()) as { bids: { price: string; num_orders: number }[] };
    const [role, stale] = [answer.headers.get('x-svc-role'), answer.headers.get('x-svc-stale-ms')];
    const isUnknown = stale === null && role === 'standby';
    const knownMs = isUnknown ? Number.NEGATIVE_INFINITY : askedMs - Number(stale ?? 0) - ROUNDED_MS;
    const acknowledged = this.acknowledgedMs.filter((atMs) => atMs <= knownMs).length;
    // An answer without an age shows everything acknowledged: a standby may have read the log before.
    const ofOthers = stale === null ? 0 : (this.#shown.findLast(({ atMs }) => atMs <= knownMs)?.orders ?? 0);
    const least = Math.max(acknowledged, ofOthers);
    const kind = `${role}${stale === null ? '' : ' with an age'}`;
    this.#seen.set(kind, (this.#seen.get(kind) ?? 0) + 1);
    const shown = bids.reduce((sum, { num_orders: orders }) => sum + orders, 0);
    assert.ok(
      shown >= least,
      `${member.name}, ${kind}, ${stale} ms: ${shown} orders, at least ${least} (SEED=${SEED})`,
    );
    if (shown > (this.#shown.at(-1)?.orders ?? 0)) this.#shown.push({ orders: shown, atMs: Date.now() });
    return new Set(bids.map(({ price }) => Math.round(Number(price) * TICKS_PER_UNIT)));
  }

  /** Nothing that was acknowledged is missing, and nothing is there that was refused. */
  check(shown: ReadonlySet<number>): void {
    for (const [ticks, outcome] of this.outcomes) {
      if (outcome === 'acknowledged') assert.ok(shown.has(ticks), `${ticks} was acknowledged (SEED=${SEED})`);
      if (outcome === 'refused') assert.ok(!shown.has(ticks), `${ticks} was refused (SEED=${SEED})`);
    }
  }
}

type Answered = { readonly status: number; readonly text: string };

async function textOf(answer: Response): Promise<Answered | null> {
  const text = await answer.text().catch(() => null);
  return text === null ? null : { status: answer.status, text };
}

function outcomeOf({ status, text }: Answered): Outcome {
  if (status === 200) return 'acknowledged';
  const { code } = JSON.parse(text) as { code?: string };
  if (code === 'OUTCOME_UNKNOWN') return 'unknown';
  assert.ok(code === 'ENGINE_BUSY' || code === 'NOT_MATCHING_LEADER', `${status} ${text} (SEED=${SEED})`);
  return 'refused';
}

/** The ways in which a leader loses touch with its log. @returns what ends it */
const LOSSES: Readonly<Record<string, (member: Member, line: LogLine) => () => void>> = {
  'it reaches the log, and no answer comes': (_, line) => lose(line, 'toMember'),
  'nothing of it reaches the log': (_, line) => lose(line, 'toLog'),
  'its network is gone': (_, line) => lose(line, 'toLog', 'toMember'),
  'its process stands still': ({ pid }) => {
    process.kill(pid!, 'SIGSTOP');
    return () => void process.kill(pid!, 'SIGCONT');
  },
};

function lose(line: LogLine, ...directions: Parameters<LogLine['lose']>): () => void {
  line.lose(...directions);
  return () => line.heal();
}

for (const [loss, inflict] of Object.entries(LOSSES)) {
  const title = `a leader that has a successor without knowing it answers what holds: ${loss} (SEED=${SEED})`;
  test(title, { skip: NO_POSTGRES || IS_LONG }, async (t) => {
    const random = new Random(SEED);
    const postgres = await sharedPostgres();
    const ports = Object.values(postgres.nodes).map(({ port }) => port);
    const lines = { a: await LogLine.start(t, ports), b: await LogLine.start(t, ports) };
    const cluster = await startCluster(t, ['a', 'b'], { JOURNAL_URL: await postgres.database() }, lines);
    const market = await makeMarket(cluster, { ticks_per_unit: TICKS_PER_UNIT });
    const scene = new Scene(market, await makeTrader(cluster));
    for (let time = 0; time < TIMES; time++) await loseLead(t, cluster, scene, random, lines, inflict);
    t.diagnostic(scene.seen);
    for (const kind of ['leader', 'leader with an age', 'standby with an age']) assert.ok(scene.has(kind), kind);
  });
}

async function loseLead(
  t: TestContext,
  cluster: Cluster,
  scene: Scene,
  random: Random,
  lines: Readonly<Record<string, LogLine>>,
  inflict: (member: Member, line: LogLine) => () => void,
): Promise<void> {
  const former = cluster.leader;
  const [next] = cluster.standbys;
  for (let order = 0; order < AT_FORMER_LEADER; order++) assert.equal(await scene.place(former), 'acknowledged');
  let isOver = false;
  t.after(() => {
    isOver = true;
  });
  const reader = async (_: unknown, at: number): Promise<void> => {
    const member = at % 2 === 0 ? former : next!;
    try {
      while (!isOver) {
        // A member that is gone answers at once, with nothing.
        if ((await scene.read(member)) === null) await sleep(1);
      }
    } finally {
      isOver = true;
    }
  };
  const placing: Promise<Outcome>[] = [];
  const ended = former.expectEnd();
  const end = inflict(former, lines[former.name]!);
  const reading = Promise.all(Array.from({ length: READERS }, reader));
  for (let order = 0; order < AT_FORMER_LEADER; order++) {
    placing.push(scene.place(former));
    await sleep(random.below(MOST_PAUSE_MS));
  }
  await cluster.awaitLeader([next!]);
  for (let order = 0; order < AT_NEXT_LEADER; order++) assert.equal(await scene.place(next!), 'acknowledged');
  await sleep(random.below(MOST_PAUSE_MS));
  end();
  for (let order = 0; order < AT_NEXT_LEADER; order++) assert.equal(await scene.place(next!), 'acknowledged');
  assert.equal(await ended, AGAIN);
  await Promise.all(placing);
  isOver = true;
  await reading;
  await cluster.rejoin(former);
  const shown = await scene.read(next!);
  scene.check(shown!);
}
