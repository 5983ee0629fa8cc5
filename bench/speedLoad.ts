/**
 * Process entry of the client of the speed bench: one round against a server that has just started. Its first orders
 * are timed, everything is warmed up, and then each kind of load is measured between two recoveries of a key on this
 * thread, because a processor of a shared machine is not equally fast at every moment.
 */
import { toBytes } from '../gateway/wiring/rehearsal/connection.ts';
import { RecordSocket } from '../gateway/wiring/rehearsal/recordSocket.ts';
import { hasherFor } from '../shared/crypto/eip712.ts';
import { createKeccak } from '../shared/crypto/fastKeccak.ts';
import { closedLoop, type Fired, withConnections } from './closedLoop.ts';
import { BATCH_ORDERS, hasFailedRows, OrderFactory, type PeerProcess, toGet } from './loadClient.ts';
import { bytesOf, CANCEL, mixedFlow, PLACE } from './mixedFlow.ts';
import { recoveryUs } from './nativeRecovery.ts';
import { NoiseMeter } from './noise.ts';
import { sendPaced } from './openLoop.ts';
import { threadSeconds, whenIdle } from './processStat.ts';
import { recordLoop } from './recordLoop.ts';
import { median } from './report.ts';
import type { Load, LoadName, Pace, PaceName, SpeedOptions, SpeedRound } from './speedProtocol.ts';
import * as protocol from './speedProtocol.ts';

const { BOOK_LEVELS, FIRST_ORDERS, PACED_SHARE, WARM_UP_ORDERS } = protocol;

/** A batch has several orders, and is answered with a success whatever their results are. */
type LoadOptions = { readonly ordersEach?: number; readonly isRefused?: (answer: Buffer) => boolean };

/** Also the number of orders in flight on the sockets, of which an account may have only a few. */
const CONNECTIONS = 64;
const SOCKETS = 4;
const PACED_CONNECTIONS = 32;
const WARM_UP_PART = 6000;
const ORDERS = 8000;
const BATCHES = 500;
const WARM_UP_BATCHES = 150;
const READS = 12_000;
const RECOVER_SECONDS = 0.2;
const PACED_SECONDS = 2;
const IDLE_ORDERS = 1000;

class Round {
  readonly #options: SpeedOptions;
  readonly #factory: OrderFactory;
  readonly #recoveries: number[] = [];
  readonly #loads: Partial<Record<LoadName, Load>> = {};
  readonly #paces: Partial<Record<PaceName, Pace>> = {};

  constructor(options: SpeedOptions, factory: OrderFactory) {
    this.#options = options;
    this.#factory = factory;
  }

  async run(): Promise<SpeedRound> {
    const first = this.#orders(FIRST_ORDERS).requests;
    await this.#warmUpPeers(first);
    await this.#load('first orders', this.#options.server, first);
    await this.#warmUp();
    await this.#orderLoads();
    await this.#readLoads();
    await this.#pacedLoads();
    return {
      recoveryUs: median(this.#recoveries),
      loads: this.#loads as SpeedRound['loads'],
      paces: this.#paces as SpeedRound['paces'],
    };
  }

  /** Makes this client as fast as it gets before it meets the server, which has to be cold. */
  async #warmUpPeers(requests: readonly Buffer[]): Promise<void> {
    const { barePath, bareServer } = this.#options;
    for (let sent = 0; sent < WARM_UP_ORDERS; sent += requests.length) {
      for (const { baseUrl } of [barePath, bareServer]) {
        await withConnections(baseUrl, CONNECTIONS, (open) => closedLoop(open, requests));
      }
    }
  }

  async #warmUp(): Promise<void> {
    const { baseUrl } = this.#options.server;
    const send = (requests: readonly Buffer[]): Promise<unknown> =>
      withConnections(baseUrl, CONNECTIONS, (open) => closedLoop(open, requests));
    for (let sent = FIRST_ORDERS; sent < WARM_UP_ORDERS; sent += WARM_UP_PART) {
      await send(this.#orders(WARM_UP_PART).requests);
    }
    await send(this.#batches(WARM_UP_BATCHES));
    await send(this.#factory.ladder(BOOK_LEVELS).map(toBytes));
  }

  async #orderLoads(): Promise<void> {
    const { server, barePath, bareServer } = this.#options;
    const { requests, hashes } = this.#orders(ORDERS);
    await this.#load('single orders', server, requests);
    await this.#load('bare path, single orders', barePath, requests);
    const batches = this.#batches(BATCHES);
    await this.#load('batches', server, batches, { ordersEach: BATCH_ORDERS, isRefused: hasFailedRows });
    await this.#socketLoad();
    const cancels = hashes.map((orderHash) => toBytes(this.#factory.cancel(orderHash)));
    await this.#load('cancels', server, cancels);
    await this.#load('bare POST', bareServer, requests);
  }

  async #socketLoad(): Promise<void> {
    const { server } = this.#options;
    const open = (): Promise<RecordSocket> => RecordSocket.open(server.baseUrl, this.#factory.socket());
    const sockets = await Promise.all(Array.from({ length: SOCKETS }, open));
    await recordLoop(sockets, this.#frames(WARM_UP_PART), CONNECTIONS / SOCKETS);
    const frames = this.#frames(ORDERS);
    await this.#measure('single orders, binary socket', server, 1, () =>
      recordLoop(sockets, frames, CONNECTIONS / SOCKETS),
    );
    for (const socket of sockets) socket.close();
  }

  /**
   * Measured after unmeasured reads, because V8 compiles their code, and after a rest: otherwise the work that earlier
   * orders have left to projector and snapshots would be charged to the reads.
   */
  async #readLoads(): Promise<void> {
    const { market, server, bareServer } = this.#options;
    const paths = {
      'best prices': `/v1/market-data/${market.id}/bbo`,
      book: `/v1/orders/book/${market.id}?levels=${BOOK_LEVELS}`,
    } as const;
    const loads: (() => Promise<void>)[] = [];
    for (const name of ['best prices', 'book'] as const) {
      const answer = await fetch(server.baseUrl + paths[name]);
      const barePath = `/bytes/${(await answer.arrayBuffer()).byteLength}`;
      const requests = Array<Buffer>(READS).fill(toGet(paths[name]));
      const bareRequests = Array<Buffer>(READS).fill(toGet(barePath));
      await withConnections(server.baseUrl, CONNECTIONS, (open) => closedLoop(open, requests));
      await withConnections(bareServer.baseUrl, CONNECTIONS, (open) => closedLoop(open, bareRequests));
      loads.push(
        () => this.#load(name, server, requests),
        () => this.#load(`bare GET as ${name}`, bareServer, bareRequests),
      );
    }
    await whenIdle(server.pid);
    for (const load of loads) await load();
  }

  async #pacedLoads(): Promise<void> {
    const { server, barePath, bareServer } = this.#options;
    const most = bytesOf(mixedFlow(this.#factory, ORDERS));
    const { perSecond } = await withConnections(server.baseUrl, CONNECTIONS, (open) => closedLoop(open, most));
    const rate = PACED_SHARE * perSecond;
    const requests = mixedFlow(this.#factory, Math.ceil(rate * PACED_SECONDS));
    const peers = { 'instant server': bareServer, server, 'bare path': barePath } as const;
    for (const name of ['instant server', 'server', 'bare path'] as const) {
      const meter = this.#noiseMeter();
      const { latencies, late, refused } = await withConnections(peers[name].baseUrl, PACED_CONNECTIONS, (open) =>
        sendPaced(open, requests, 1 + CANCEL, rate),
      );
      requireAll(name, refused);
      const place = latencies[PLACE];
      this.#paces[name] = {
        perSecond: rate,
        p50Us: place.quantileUs(0.5),
        p99Us: place.quantileUs(0.99),
        lateP50Us: late.quantileUs(0.5),
        noise: meter.read(),
      };
    }
    const places = bytesOf(requests.filter(({ kind }) => kind === PLACE).slice(0, IDLE_ORDERS));
    const meter = this.#noiseMeter();
    const idle = await withConnections(barePath.baseUrl, 1, (open) => closedLoop(open, places));
    this.#paces['idle bare path'] = {
      perSecond: idle.perSecond,
      p50Us: idle.latency.quantileUs(0.5),
      p99Us: idle.latency.quantileUs(0.99),
      lateP50Us: 0,
      noise: meter.read(),
    };
  }

  async #load(name: LoadName, peer: PeerProcess, requests: readonly Buffer[], how: LoadOptions = {}): Promise<void> {
    const { ordersEach = 1, isRefused } = how;
    await withConnections(peer.baseUrl, CONNECTIONS, (open) =>
      this.#measure(name, peer, ordersEach, () => closedLoop(open, requests, { isRefused })),
    );
  }

  async #measure(name: LoadName, peer: PeerProcess, ordersEach: number, fire: () => Promise<Fired>): Promise<void> {
    const recoveryBeforeUs = this.#recover();
    const meter = this.#noiseMeter();
    const before = threadSeconds(peer.pid);
    const clientBefore = process.cpuUsage();
    const { seconds, latency, refused } = await fire();
    const client = process.cpuUsage(clientBefore);
    const noise = meter.read();
    const recoveryAfterUs = this.#recover();
    const recoveryUs = (recoveryBeforeUs + recoveryAfterUs) / 2;
    requireAll(name, refused);
    const count = latency.count * ordersEach;
    const used = [...threadSeconds(peer.pid)].map(([id, end]) => ({ id, us: (end - (before.get(id) ?? 0)) * 1e6 }));
    const gatewayUs = used.find(({ id }) => id === peer.pid)!.us;
    const others = used.filter(({ id }) => id !== peer.pid).map(({ us }) => us);
    const shardUs = Math.max(...others);
    this.#loads[name] = {
      perSecond: count / seconds,
      gatewayUs: gatewayUs / count,
      shardUs: shardUs / count,
      restUs: (others.reduce((sum, us) => sum + us, 0) - shardUs) / count,
      clientUs: (client.user + client.system) / count,
      p50Us: latency.quantileUs(0.5),
      recoveryUs,
      drift: (100 * Math.abs(recoveryAfterUs - recoveryBeforeUs)) / recoveryUs,
      noise,
    };
  }

  #recover(): number {
    const us = recoveryUs(RECOVER_SECONDS);
    this.#recoveries.push(us);
    return us;
  }

  #orders(count: number): { requests: Buffer[]; hashes: string[] } {
    const orders = Array.from({ length: count }, () => this.#factory.place());
    return {
      requests: orders.map(({ request }) => toBytes(request)),
      hashes: orders.map(({ orderHash }) => orderHash),
    };
  }

  #batches(count: number): Buffer[] {
    return Array.from({ length: count }, () => toBytes(this.#factory.batch(BATCH_ORDERS)));
  }

  #frames(count: number): Buffer[] {
    return Array.from({ length: count }, () => this.#factory.placeFrame());
  }

  #noiseMeter(): NoiseMeter {
    return new NoiseMeter([process.pid, ...this.#options.pids]);
  }
}

function requireAll(name: string, refused: number): void {
  if (refused > 0) throw new Error(`speed: of ${name} ${refused} requests are refused`);
}

async function main(options: SpeedOptions): Promise<void> {
  const factory = new OrderFactory(options, hasherFor(options.domain, await createKeccak()));
  process.send?.(await new Round(options, factory).run());
  process.disconnect();
}

process.once('message', (options) => void main(options as SpeedOptions));
