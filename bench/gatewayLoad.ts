/**
 * Process entry of the client of the gateway and scaling benches: takes one task after the other, makes its requests
 * ready (signed and authenticated ahead), sends them over keep-alive connections with one request in flight on each,
 * and tells its parent how that went.
 */
import { createVerifier } from '../engine/verify/verifier.ts';
import { assert } from '../shared/assert.ts';
import { hasherFor, type OrderHasher } from '../shared/eip712.ts';
import { ADDRESS_BYTES, tryParseHex } from '../shared/hex.ts';
import { createKeccak, type Keccak256 } from '../shared/keccak.ts';
import { draftOrder, OrderSigner } from '../shared/sdk/order.ts';
import { prepareRequest } from '../shared/sdk/request.ts';
import { Histogram } from './histogram.ts';
import { Connection, type LoadTarget, OrderFactory, type Peer, toBytes } from './loadClient.ts';
import { processSeconds } from './processStat.ts';
import { StealMeter } from './report.ts';

export type LoadOptions = LoadTarget & {
  readonly connections: number;
  readonly tasks: readonly LoadTask[];
  /** Whose processor time is told. */
  readonly serverPid?: number;
  /** For the tasks that are about them. */
  readonly bareServer?: Peer;
  readonly barePath?: Peer;
};

/**
 * `ladder` builds the book that is read, `recover` is the signature check of the shards in a loop on this thread. The
 * bare server is sent the same, or asked for as many bytes; the bare path is sent the very requests of the task before.
 */
export type LoadTask =
  | { readonly kind: 'ladder'; readonly levels: number }
  | { readonly kind: 'recover'; readonly seconds: number }
  | { readonly kind: TimedKind; readonly requests: number };

export type TimedKind =
  | 'place'
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
  readonly perSecond: number;
  readonly p50Us: number;
  readonly p99Us: number;
  /** What a request cost the server that answered; undefined where the system does not tell. */
  readonly processorUs: number | undefined;
  /** What it cost this client, which shares the machine with the server. */
  readonly clientUs: number | undefined;
  readonly refused: number;
  readonly stolen: number | string;
};

/** Requests that are ready to leave, and for whom. */
type Prepared = { readonly peer: Peer | undefined; readonly requests: readonly Buffer[] };
type Fired = { readonly seconds: number; readonly latency: Histogram; readonly refused: number };

type RequestTask = Exclude<LoadTask, { kind: 'recover' }>;

class Load {
  readonly #options: LoadOptions;
  readonly #factory: OrderFactory;
  readonly #server: Peer;
  #placed: readonly string[] = [];
  /** The last that were sent. */
  #sent: readonly Buffer[] = [];

  constructor(options: LoadOptions, hasher: OrderHasher) {
    this.#options = options;
    this.#factory = new OrderFactory(options, hasher);
    this.#server = { baseUrl: options.baseUrl, pid: options.serverPid };
  }

  async run(task: RequestTask): Promise<LoadResult> {
    const { peer, requests } = await this.#prepare(task);
    assert(peer !== undefined, 'gateway load: a peer runs when it is asked');
    this.#sent = requests;
    // Opened for the task: a server closes what was idle while the requests were made.
    const { connections } = this.#options;
    const open = await Promise.all(Array.from({ length: connections }, () => Connection.open(peer.baseUrl)));
    const steal = new StealMeter();
    const before = processorUsOf(peer.pid);
    const clientBefore = process.cpuUsage();
    const { seconds, latency, refused } = await closedLoop(open, requests);
    const client = process.cpuUsage(clientBefore);
    const after = processorUsOf(peer.pid);
    for (const connection of open) connection.close();
    return {
      kind: task.kind,
      perSecond: latency.count / seconds,
      p50Us: latency.quantileUs(0.5),
      p99Us: latency.quantileUs(0.99),
      processorUs: before === undefined || after === undefined ? undefined : (after - before) / latency.count,
      clientUs: (client.user + client.system) / latency.count,
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

function toGet(path: string): Buffer {
  return toBytes(prepareRequest('GET', path, undefined));
}

/** Each connection sends its next request when the last one is answered. */
async function closedLoop(connections: readonly Connection[], requests: readonly Buffer[]): Promise<Fired> {
  const latency = new Histogram();
  let next = 0;
  let refused = 0;
  const drain = (connection: Connection): Promise<void> =>
    new Promise((resolve) => {
      const step = (): void => {
        if (next === requests.length) {
          resolve();
          return;
        }
        const sentMs = performance.now();
        connection.send(requests[next++], (status) => {
          latency.record((performance.now() - sentMs) * 1e6);
          if (status !== 200 && status !== 201) refused++;
          step();
        });
      };
      step();
    });
  const startMs = performance.now();
  await Promise.all(connections.map(drain));
  return { seconds: (performance.now() - startMs) / 1000, latency, refused };
}

function processorUsOf(pid: number | undefined): number | undefined {
  try {
    return pid === undefined ? undefined : processSeconds(pid) * 1e6;
  } catch {
    return undefined;
  }
}

/** The same check the shard makes. */
function recover({ market, domain, privateKey, feeBps }: LoadOptions, keccak: Keccak256, seconds: number): LoadResult {
  const signer = new OrderSigner(privateKey, domain);
  const draft = draftOrder({ market, outcomeIndex: 0, side: 'BUY', price: '0.40', size: '10', feeRateBps: feeBps });
  const { body, orderHash } = signer.sign(draft);
  const digest = Buffer.from(orderHash.slice(2), 'hex');
  const signature = Buffer.from(body.signature.slice(2), 'hex');
  const address = new Uint8Array(ADDRESS_BYTES);
  assert(tryParseHex(signer.address, ADDRESS_BYTES, address, 0), 'gateway load: an address is hex');
  const verifier = createVerifier('native', keccak);
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
    clientUs: undefined,
    refused: 0,
    stolen: steal.percent(),
  };
}

async function main(options: LoadOptions): Promise<void> {
  const keccak = await createKeccak();
  const load = new Load(options, hasherFor(options.domain, keccak));
  for (const task of options.tasks) {
    process.send?.(task.kind === 'recover' ? recover(options, keccak, task.seconds) : await load.run(task));
  }
  process.disconnect();
}

process.once('message', (options) => void main(options as LoadOptions));
