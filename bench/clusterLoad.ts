/**
 * Process entry of the client of the cluster bench: sends the same loads alternately to an exchange with only its
 * journal and to one with a replicated log too, and between them appends to the log itself, one row after the other.
 *
 * A virtual machine may run half as fast a second later, so compared loads take several short turns in a round, and
 * their sums count.
 */
import { availableParallelism } from 'node:os';
import { toBytes } from '../gateway/wiring/rehearsal/connection.ts';
import { hasherFor } from '../shared/crypto/eip712.ts';
import { createKeccak } from '../shared/crypto/fastKeccak.ts';
import { BareLog } from './bareLog.ts';
import { closedLoop, withConnections } from './closedLoop.ts';
import { Histogram } from './histogram.ts';
import { type LoadTarget, OrderFactory } from './loadClient.ts';
import { NoiseMeter } from './noise.ts';
import { sendPaced } from './openLoop.ts';
import { type Rate, Turns, type Wait } from './turns.ts';

const JOURNALS = ['sqlite', 'postgres'] as const;
export type JournalName = (typeof JOURNALS)[number];

export type ClusterLoadOptions = {
  readonly targets: Readonly<Record<JournalName, LoadTarget>>;
  readonly logUrl: string;
  readonly rounds: number;
  /** The number of connections of each of these loads. */
  readonly connections: Readonly<Record<'full' | 'few', number>>;
  /** The processes of the bench, without this one. */
  readonly pids: readonly number[];
};

export type JournalRound = {
  /**
   * So many orders at once that more would not make one much cheaper; each connection sends as fast as it is answered.
   */
  readonly full: Rate;
  /** The same with fewer orders at once, so that fewer share an append. */
  readonly few: Rate;
  /** A pace at which the processors are mostly idle, even if no order shares a commit or a wake-up with another. */
  readonly paced: Wait;
  /** At a share of the full rate, which is reached only because orders share commits and wake-ups. */
  readonly busy: Wait;
  /** One order after the other. */
  readonly single: Rate;
};
export type ClusterRound = {
  readonly journals: Readonly<Record<JournalName, JournalRound>>;
  readonly pacePerSecond: number;
  readonly busyPerSecond: number;
  /**
   * Appends of a row to the log, one after the other, as often as the orders with these names come: a process that
   * rests between two appends is slower.
   */
  readonly roundTrips: Readonly<Record<'single' | 'paced', Rate>>;
};

const PACED_CONNECTIONS = 32;
const WARM_UP_ORDERS = 12_000;
/** V8 optimizes code that has run about this often. For an append this is the code for many orders under full load. */
const WARM_UP_APPENDS = 5000;
const TURNS = 6;
const FULL_ORDERS = 2000;
const FEW_ORDERS = 1500;
const SINGLE_ORDERS = 150;
const PACED_SHARE = 0.3;
const PACED_SECONDS = 3;
const APPENDS = 150;
/**
 * At most this many orders are signed before the first of them is sent, so that all leave within 30 s (4.3), however
 * busy the machine is.
 */
const MOST_SIGNED = 2000;
const MOST_SIGNED_EACH = 150;

/** A cell that no thread notifies: waiting for it is a sleep. */
const sleeper = new Int32Array(new SharedArrayBuffer(4));

type Both<T> = Record<JournalName, T>;

class Rounds {
  readonly #options: ClusterLoadOptions;
  readonly #factories: Readonly<Both<OrderFactory>>;
  readonly #log: BareLog;

  constructor(options: ClusterLoadOptions, factories: Readonly<Both<OrderFactory>>, log: BareLog) {
    this.#options = options;
    this.#factories = factories;
    this.#log = log;
  }

  async run(): Promise<ClusterRound[]> {
    const { connections } = this.#options;
    for (const name of JOURNALS) {
      await this.#fire(name, connections.full, WARM_UP_ORDERS);
      await this.#fire(name, 1, WARM_UP_APPENDS);
    }
    await this.#append(WARM_UP_APPENDS, Number.POSITIVE_INFINITY);
    const rounds: ClusterRound[] = [];
    for (let round = 0; round < this.#options.rounds; round++) {
      rounds.push(await this.#round(round % 2 === 0 ? JOURNALS : JOURNALS.toReversed()));
    }
    return rounds;
  }

  async #round(order: readonly JournalName[]): Promise<ClusterRound> {
    const { connections } = this.#options;
    const full = await this.#byTurns(order, (name, turns) => this.#fire(name, connections.full, FULL_ORDERS, turns));
    const few = await this.#byTurns(order, (name, turns) => this.#fire(name, connections.few, FEW_ORDERS, turns));
    const appends = new Turns();
    const single = await this.#byTurns(order, async (name, turns) => {
      await this.#fire(name, 1, SINGLE_ORDERS, turns);
      if (name === 'postgres') await this.#append(APPENDS, turns.sum.perSecond, appends);
    });
    const orderSec = Math.max(...order.map((name) => single[name].processorUs)) / 1e6;
    const pacePerSecond = (PACED_SHARE * availableParallelism()) / orderSec;
    const paced = await this.#each(order, (name) => this.#pace(name, pacePerSecond));
    const pacedAppends = new Turns();
    await this.#append(pacePerSecond * PACED_SECONDS, pacePerSecond, pacedAppends);
    const busyPerSecond = PACED_SHARE * Math.min(...order.map((name) => full[name].perSecond));
    const busy = await this.#each(order, (name) => this.#pace(name, busyPerSecond));
    const of = (name: JournalName): JournalRound => ({
      full: full[name],
      few: few[name],
      paced: paced[name],
      busy: busy[name],
      single: single[name],
    });
    const journals = { sqlite: of('sqlite'), postgres: of('postgres') };
    const roundTrips = { single: appends.sum, paced: pacedAppends.sum };
    return { journals, pacePerSecond, busyPerSecond, roundTrips };
  }

  /** Each side is first as often as the other. */
  async #byTurns(
    order: readonly JournalName[],
    run: (name: JournalName, turns: Turns) => Promise<void>,
  ): Promise<Both<Rate>> {
    const turns: Both<Turns> = { sqlite: new Turns(), postgres: new Turns() };
    for (let turn = 0; turn < TURNS; turn++) {
      for (const name of turn % 2 === 0 ? order : order.toReversed()) await run(name, turns[name]);
    }
    return { sqlite: turns.sqlite.sum, postgres: turns.postgres.sum };
  }

  async #each<T>(order: readonly JournalName[], run: (name: JournalName) => Promise<T>): Promise<Both<T>> {
    const results: Partial<Both<T>> = {};
    for (const name of order) results[name] = await run(name);
    return results as Both<T>;
  }

  async #fire(name: JournalName, connections: number, count: number, turns = new Turns()): Promise<void> {
    await withConnections(this.#options.targets[name].baseUrl, connections, async (open) => {
      const most = Math.min(MOST_SIGNED, connections * MOST_SIGNED_EACH);
      for (let left = count; left > 0; left -= most) {
        const requests = this.#requests(name, Math.min(left, most));
        const meter = this.#meter();
        const { seconds, latency, refused, firstRefusal } = await closedLoop(open, requests);
        requireAll(name, refused, firstRefusal);
        turns.add(latency, seconds, meter);
      }
    });
  }

  async #pace(name: JournalName, perSecond: number): Promise<Wait> {
    const requests = this.#requests(name, Math.ceil(perSecond * PACED_SECONDS)).map((bytes) => ({ kind: 0, bytes }));
    return withConnections(this.#options.targets[name].baseUrl, PACED_CONNECTIONS, async (open) => {
      const turns = new Turns();
      const meter = this.#meter();
      const { latencies, refused } = await sendPaced(open, requests, 1, perSecond);
      requireAll(name, refused);
      turns.add(latencies[0], PACED_SECONDS, meter);
      return turns.sum;
    });
  }

  /** Appends one row after the other, none before it is due. */
  async #append(count: number, perSecond: number, turns = new Turns()): Promise<void> {
    const latency = new Histogram();
    const meter = this.#meter();
    const beganMs = performance.now();
    for (let append = 0; append < count; append++) {
      const waitMs = beganMs + (append * 1000) / perSecond - performance.now();
      // A timer of the event loop has a resolution of a millisecond, and nothing else happens here meanwhile.
      if (waitMs > 0) Atomics.wait(sleeper, 0, 0, waitMs);
      const startMs = performance.now();
      await this.#log.append();
      latency.record((performance.now() - startMs) * 1e6);
    }
    turns.add(latency, (performance.now() - beganMs) / 1000, meter);
  }

  #requests(name: JournalName, count: number): Buffer[] {
    return Array.from({ length: count }, () => toBytes(this.#factories[name].place().request));
  }

  #meter(): NoiseMeter {
    return new NoiseMeter([process.pid, ...this.#options.pids]);
  }
}

function requireAll(name: JournalName, refused: number, firstRefusal: string | null = null): void {
  if (refused === 0) return;
  throw new Error(`cluster: of the orders with JOURNAL=${name} ${refused} are refused: ${firstRefusal ?? ''}`);
}

async function main(options: ClusterLoadOptions): Promise<void> {
  const keccak = await createKeccak();
  const { sqlite, postgres } = options.targets;
  const factoryOf = (target: LoadTarget): OrderFactory => new OrderFactory(target, hasherFor(target.domain, keccak));
  const factories = { sqlite: factoryOf(sqlite), postgres: factoryOf(postgres) };
  const log = await BareLog.open(options.logUrl);
  const pids = [...options.pids, ...(await log.pids())];
  process.send?.(await new Rounds({ ...options, pids }, factories, log).run());
  await log.close();
  process.disconnect();
}

process.once('message', (options) => void main(options as ClusterLoadOptions));
