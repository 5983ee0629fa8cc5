/**
 * Process entry of the client of the gateway and scaling benches: it carries out one task after the other, prepares the
 * requests (signed and authenticated in advance), sends them over keep-alive connections with one request in flight on
 * each, and reports the results to its parent.
 */
import { toBytes } from '../gateway/wiring/rehearsal/connection.ts';
import { assert } from '../shared/base/assert.ts';
import { ADDRESS_BYTES, tryParseHex } from '../shared/base/hex.ts';
import { draftOrder } from '../shared/client/order.ts';
import { OrderSigner } from '../shared/client/orderSigner.ts';
import { hasherFor, type OrderHasher } from '../shared/crypto/eip712.ts';
import { createKeccak } from '../shared/crypto/fastKeccak.ts';
import type { Keccak256 } from '../shared/crypto/keccak.ts';
import { nativeVerifier } from '../test/support/nativeVerifier.ts';
import { closedLoop, withConnections } from './closedLoop.ts';
import { Histogram } from './histogram.ts';
import {
  BATCH_ORDERS,
  hasFailedRows,
  type LoadSigner,
  type LoadTarget,
  OrderFactory,
  type Peer,
  toGet,
} from './loadClient.ts';
import { processSeconds, threadSeconds } from './processStat.ts';
import { StealMeter } from './report.ts';

export type LoadOptions = LoadTarget & {
  readonly connections: number;
  readonly tasks: readonly LoadTask[];
  /** The process whose processor time is measured. */
  readonly serverPid?: number | undefined;
  /** Peers of the tasks that need them. */
  readonly bareServer?: Peer;
  readonly barePath?: Peer;
  /** Many accounts, for the task with many signers. */
  readonly signers?: readonly LoadSigner[];
};

/**
 * `ladder` builds the book that is read; `recover` runs the signature check of the shards in a loop on this thread. A
 * `batch` places BATCH_ORDERS in one request; `quotes` are replaced again and again, two on each connection. The bare
 * server gets the same requests as the server, or requests for as many bytes; the bare path gets exactly the requests
 * of the task before.
 */
export type LoadTask =
  | { readonly kind: 'ladder'; readonly levels: number }
  | { readonly kind: 'recover'; readonly seconds: number }
  | { readonly kind: TimedKind; readonly requests: number };

export type TimedKind =
  | 'place'
  | 'place, many signers'
  | 'batch'
  | 'quotes'
  | 'bare path, place'
  | 'cancel'
  | 'bare path, cancel'
  | 'bare POST'
  | 'bbo'
  | 'book'
  | 'bare GET as bbo'
  | 'bare GET as book';

export type LoadResult = {
  readonly kind: LoadTask['kind'];
  /** Counts the orders of batches, otherwise requests; processor times are per order or request as well. */
  readonly perSecond: number;
  readonly p50Us: number;
  readonly p99Us: number;
  /** Processor time of the server per request; undefined if the system does not report it. */
  readonly processorUs: number | undefined;
  /** The part used by the server's main thread, the gateway thread; undefined likewise. */
  readonly gatewayUs: number | undefined;
  /** Processor time of this client, which shares the machine with the server. */
  readonly clientUs: number | undefined;
  readonly refused: number;
  readonly stolen: number | string;
};

/** Prepared requests, and the peer for which they are. */
type Prepared = {
  readonly peer: Peer | undefined;
  readonly requests: readonly Buffer[];
  /** The requests alternate between the connections, and each waits for the previous one of its connection. */
  readonly isInTurns?: boolean;
};

type RequestTask = Exclude<LoadTask, { kind: 'recover' }>;

class Load {
  readonly #options: LoadOptions;
  readonly #factory: OrderFactory;
  readonly #manyFactories: readonly OrderFactory[];
  readonly #server: Peer;
  #placed: readonly string[] = [];
  /** The requests that were sent last. */
  #sent: readonly Buffer[] = [];

  constructor(options: LoadOptions, hasher: OrderHasher) {
    this.#options = options;
    this.#factory = new OrderFactory(options, hasher);
    this.#manyFactories = (options.signers ?? []).map((signer) => new OrderFactory({ ...options, ...signer }, hasher));
    this.#server = { baseUrl: options.baseUrl, pid: options.serverPid };
  }

  async run(task: RequestTask): Promise<LoadResult> {
    const { peer, requests, isInTurns } = await this.#prepare(task);
    assert(peer !== undefined, 'gateway load: a peer runs when it is asked');
    this.#sent = requests;
    const isBatch = task.kind === 'batch';
    const steal = new StealMeter();
    const { fired, client, processorUs, gatewayUs } = await withConnections(
      peer.baseUrl,
      this.#options.connections,
      async (open) => {
        const before = processorUsOf(peer.pid);
        const gatewayBefore = gatewayUsOf(peer.pid);
        const clientBefore = process.cpuUsage();
        const fired = await closedLoop(open, requests, { isInTurns, isRefused: isBatch ? hasFailedRows : undefined });
        const client = process.cpuUsage(clientBefore);
        const processorUs = difference(before, processorUsOf(peer.pid));
        return { fired, client, processorUs, gatewayUs: difference(gatewayBefore, gatewayUsOf(peer.pid)) };
      },
    );
    const { seconds, latency, refused } = fired;
    const count = latency.count * (isBatch ? BATCH_ORDERS : 1);
    return {
      kind: task.kind,
      perSecond: count / seconds,
      p50Us: latency.quantileUs(0.5),
      p99Us: latency.quantileUs(0.99),
      processorUs: processorUs === undefined ? undefined : processorUs / count,
      gatewayUs: gatewayUs === undefined ? undefined : gatewayUs / count,
      clientUs: (client.user + client.system) / count,
      refused,
      stolen: steal.percent(),
    };
  }

  async #prepare(task: RequestTask): Promise<Prepared> {
    const server = this.#server;
    const { bareServer, barePath } = this.#options;
    switch (task.kind) {
      case 'ladder':
        return { peer: server, requests: this.#factory.ladder(task.levels).map(toBytes) };
      case 'place':
        return { peer: server, requests: this.#places(task.requests) };
      case 'place, many signers':
        return { peer: server, requests: this.#placesOfMany(task.requests) };
      case 'batch': {
        const batches = Array.from({ length: task.requests }, () => toBytes(this.#factory.batch(BATCH_ORDERS)));
        return { peer: server, requests: batches };
      }
      case 'quotes':
        return { peer: server, requests: this.#quotes(task.requests), isInTurns: true };
      case 'cancel':
        return { peer: server, requests: this.#placed.map((orderHash) => toBytes(this.#factory.cancel(orderHash))) };
      case 'bare path, place':
      case 'bare path, cancel':
        return { peer: barePath, requests: this.#sent };
      case 'bare POST':
        return { peer: bareServer, requests: repeated(toBytes(this.#factory.place().request), task.requests) };
      case 'bbo':
      case 'book':
        return { peer: server, requests: repeated(toGet(this.#pathOf(task.kind)), task.requests) };
      case 'bare GET as bbo':
        return { peer: bareServer, requests: repeated(toGet(await this.#bytesPath('bbo')), task.requests) };
      case 'bare GET as book':
        return { peer: bareServer, requests: repeated(toGet(await this.#bytesPath('book')), task.requests) };
    }
  }

  #places(count: number): Buffer[] {
    const orders = Array.from({ length: count }, () => this.#factory.place());
    this.#placed = orders.map(({ orderHash }) => orderHash);
    return orders.map(({ request }) => toBytes(request));
  }

  #placesOfMany(count: number): Buffer[] {
    const factories = this.#manyFactories;
    assert(factories.length > 0, 'gateway load: many signers are given');
    return Array.from({ length: count }, (_, index) => toBytes(factories[index % factories.length].place().request));
  }

  #quotes(count: number): Buffer[] {
    const { connections } = this.#options;
    const each = Math.ceil(count / connections);
    const chains = Array.from({ length: connections }, () => this.#factory.quotes(each).map(toBytes));
    return Array.from({ length: each }, (_, turn) => chains.map((chain) => chain[turn])).flat();
  }

  #pathOf(kind: 'bbo' | 'book'): string {
    const { id } = this.#options.market;
    return kind === 'bbo' ? `/v1/market-data/${id}/bbo` : `/v1/orders/book/${id}?levels=20`;
  }

  async #bytesPath(kind: 'bbo' | 'book'): Promise<string> {
    const response = await fetch(this.#options.baseUrl + this.#pathOf(kind));
    return `/bytes/${(await response.arrayBuffer()).byteLength}`;
  }
}

function repeated(request: Buffer, count: number): Buffer[] {
  return Array<Buffer>(count).fill(request);
}

function processorUsOf(pid: number | undefined): number | undefined {
  try {
    return pid === undefined ? undefined : processSeconds(pid) * 1e6;
  } catch {
    return undefined;
  }
}

function gatewayUsOf(pid: number | undefined): number | undefined {
  try {
    return pid === undefined ? undefined : threadSeconds(pid).get(pid)! * 1e6;
  } catch {
    return undefined;
  }
}

function difference(before: number | undefined, after: number | undefined): number | undefined {
  return before === undefined || after === undefined ? undefined : after - before;
}

/** Uses libsecp256k1, whatever the server verifies with. */
function recover({ market, domain, privateKey, feeBps }: LoadOptions, keccak: Keccak256, seconds: number): LoadResult {
  const signer = new OrderSigner(privateKey, domain);
  const draft = draftOrder({ market, outcomeIndex: 0, side: 'BUY', price: '0.40', size: '10', feeRateBps: feeBps });
  const { body, orderHash } = signer.sign(draft);
  const digest = Buffer.from(orderHash.slice(2), 'hex');
  const signature = Buffer.from(body.signature.slice(2), 'hex');
  const address = new Uint8Array(ADDRESS_BYTES);
  assert(tryParseHex(signer.address, ADDRESS_BYTES, address, 0), 'gateway load: an address is hex');
  const verifier = nativeVerifier(keccak);
  const latency = new Histogram();
  const steal = new StealMeter();
  const startMs = performance.now();
  const endMs = startMs + seconds * 1000;
  for (let nowMs = startMs; nowMs < endMs; ) {
    assert(verifier.verify(digest, 0, signature, 0, address, 0), 'gateway load: a right signature is accepted');
    const doneMs = performance.now();
    latency.record((doneMs - nowMs) * 1e6);
    nowMs = doneMs;
  }
  return {
    kind: 'recover',
    perSecond: (latency.count / (performance.now() - startMs)) * 1000,
    p50Us: latency.quantileUs(0.5),
    p99Us: latency.quantileUs(0.99),
    processorUs: undefined,
    gatewayUs: undefined,
    clientUs: undefined,
    refused: 0,
    stolen: steal.percent(),
  };
}

async function main(options: LoadOptions): Promise<void> {
  const keccak = await createKeccak();
  const load = new Load(options, hasherFor(options.domain, keccak));
  for (const task of options.tasks) {
    const isRecovery = task.kind === 'recover';
    process.send?.(isRecovery ? recover(options, keccak, task.seconds) : await load.run(task));
  }
  process.disconnect();
}

process.once('message', (options) => void main(options as LoadOptions));
