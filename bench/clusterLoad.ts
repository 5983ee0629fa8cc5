/**
 * Process entry of the client of the cluster bench: the same loads by turns on an exchange that has its journal alone
 * and on one that has a replicated log as well, and between them appends to the log itself, one after the other.
 */
import { availableParallelism } from 'node:os';
import { toBytes } from '../gateway/wiring/rehearsal/connection.ts';
import { hasherFor } from '../shared/crypto/eip712.ts';
import { createKeccak } from '../shared/crypto/fastKeccak.ts';
import { openLog } from '../test/support/replicatedLog.ts';
import { closedLoop, withConnections } from './closedLoop.ts';
import { Histogram } from './histogram.ts';
import { type LoadTarget, OrderFactory } from './loadClient.ts';
import { type Noise, NoiseMeter } from './noise.ts';
import { sendPaced } from './openLoop.ts';

const JOURNALS = ['sqlite', 'postgres'] as const;
export type JournalName = (typeof JOURNALS)[number];

export type ClusterLoadOptions = {
  readonly targets: Readonly<Record<JournalName, LoadTarget>>;
  readonly logUrl: string;
  readonly rounds: number;
  /** The processes of the bench, without this one. */
  readonly pids: readonly number[];
};

type Wait = {
  readonly p50Us: number;
  readonly p99Us: number;
  /** Processor time of all processes of the bench, for one of them. */
  readonly processorUs: number;
  readonly noise: Noise;
};
export type JournalRound = {
  /** All connections at once, each as fast as it is answered. */
  readonly full: Wait & { readonly perSecond: number };
  /** At a pace at which the processors are mostly idle, even if no order shares a commit or a wake-up with another. */
  readonly paced: Wait;
  /** At a share of the full rate, which is reached only because orders share them. */
  readonly busy: Wait;
  /** One order after the other. */
  readonly single: Wait;
};
export type ClusterRound = {
  readonly journals: Readonly<Record<JournalName, JournalRound>>;
  readonly pacePerSecond: number;
  readonly busyPerSecond: number;
  /** One row after the other into the log. */
  readonly roundTrip: Wait;
};

const CONNECTIONS = 64;
const PACED_CONNECTIONS = 32;
const WARM_UP_ORDERS = 12_000;
const ORDERS = 8000;
const SINGLE_ORDERS = 600;
const PACED_SHARE = 0.3;
const PACED_SECONDS = 3;
const APPENDS = 600;
/** About as long as that of one order. */
const ROW_BYTES = 700;

class Rounds {
  readonly #options: ClusterLoadOptions;
  readonly #factories: Readonly<Record<JournalName, OrderFactory>>;

  constructor(options: ClusterLoadOptions, factories: Readonly<Record<JournalName, OrderFactory>>) {
    this.#options = options;
    this.#factories = factories;
  }

  async run(): Promise<ClusterRound[]> {
    for (const name of JOURNALS) await this.#fire(name, CONNECTIONS, WARM_UP_ORDERS);
    const rounds: ClusterRound[] = [];
    for (let round = 0; round < this.#options.rounds; round++) {
      rounds.push(await this.#round(round % 2 === 0 ? JOURNALS : JOURNALS.toReversed()));
    }
    return rounds;
  }

  async #round(order: readonly JournalName[]): Promise<ClusterRound> {
    const full = await this.#each(order, (name) => this.#fire(name, CONNECTIONS, ORDERS));
    const single = await this.#each(order, (name) => this.#fire(name, 1, SINGLE_ORDERS));
    const roundTrip = await this.#append();
    const orderSec = Math.max(...order.map((name) => single[name].processorUs)) / 1e6;
    const pacePerSecond = (PACED_SHARE * availableParallelism()) / orderSec;
    const paced = await this.#each(order, (name) => this.#pace(name, pacePerSecond));
    const busyPerSecond = PACED_SHARE * Math.min(...order.map((name) => full[name].perSecond));
    const busy = await this.#each(order, (name) => this.#pace(name, busyPerSecond));
    const of = (name: JournalName): JournalRound => ({
      full: full[name],
      paced: paced[name],
      busy: busy[name],
      single: single[name],
    });
    const journals = { sqlite: of('sqlite'), postgres: of('postgres') };
    return { journals, pacePerSecond, busyPerSecond, roundTrip };
  }

  async #each<T>(
    order: readonly JournalName[],
    run: (name: JournalName) => Promise<T>,
  ): Promise<Record<JournalName, T>> {
    const results: Partial<Record<JournalName, T>> = {};
    for (const name of order) results[name] = await run(name);
    return results as Record<JournalName, T>;
  }

  async #fire(name: JournalName, connections: number, count: number): Promise<JournalRound['full']> {
    const requests = this.#requests(name, count);
    return withConnections(this.#options.targets[name].baseUrl, connections, async (open) => {
      const meter = this.#meter();
      const { perSecond, latency, refused, firstRefusal } = await closedLoop(open, requests);
      requireAll(name, refused, firstRefusal);
      return { perSecond, ...waitOf(latency, meter) };
    });
  }

  async #pace(name: JournalName, perSecond: number): Promise<Wait> {
    const requests = this.#requests(name, Math.ceil(perSecond * PACED_SECONDS)).map((bytes) => ({ kind: 0, bytes }));
    return withConnections(this.#options.targets[name].baseUrl, PACED_CONNECTIONS, async (open) => {
      const meter = this.#meter();
      const { latencies, refused } = await sendPaced(open, requests, 1, perSecond);
      requireAll(name, refused);
      return waitOf(latencies[0]!, meter);
    });
  }

  async #append(): Promise<Wait> {
    const holder = 'round-trip';
    const { logUrl: url } = this.#options;
    const log = await openLog({ after: () => {} }, url, holder, { cluster: holder, facts: {} });
    try {
      const taken = await log.take(true);
      const latency = new Histogram();
      const meter = this.#meter();
      const bytes = new Uint8Array(ROW_BYTES).fill(7);
      for (let position = taken!.end; position < taken!.end + APPENDS; position++) {
        const startMs = performance.now();
        await log.append(taken!.epoch, position, [{ stream: 0, sequence: position + 1, bytes }]);
        latency.record((performance.now() - startMs) * 1e6);
      }
      return waitOf(latency, meter);
    } finally {
      await log.close();
    }
  }

  #requests(name: JournalName, count: number): Buffer[] {
    return Array.from({ length: count }, () => toBytes(this.#factories[name].place().request));
  }

  #meter(): NoiseMeter {
    return new NoiseMeter([process.pid, ...this.#options.pids]);
  }
}

function waitOf(latency: Histogram, meter: NoiseMeter): Wait {
  const processorUs = (meter.usedSeconds() * 1e6) / latency.count;
  return { p50Us: latency.quantileUs(0.5), p99Us: latency.quantileUs(0.99), processorUs, noise: meter.read() };
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
  process.send?.(await new Rounds(options, factories).run());
  process.disconnect();
}

process.once('message', (options) => void main(options as ClusterLoadOptions));
