/**
 * Process entry of the gateway bench's client. Each round signs its requests ahead, sends them over keep-alive
 * connections with one request in flight on each, and tells the parent how that went: places first, then their cancels.
 */
import { createRequire } from 'node:module';
import { connect, type Socket } from 'node:net';
import type { Outcome } from '../shared/codes.ts';
import { SIDE } from '../shared/codes.ts';
import { type Eip712Domain, hasherFor, type OrderHasher, ZERO_ADDRESS } from '../shared/eip712.ts';
import { toHex } from '../shared/hex.ts';
import { createKeccak } from '../shared/keccak.ts';
import { addressOf, draftOrder, type OrderDraft, type OrderMarket } from '../shared/sdk/order.ts';
import { type Credentials, type PreparedRequest, prepareRequest, RequestSigner } from '../shared/sdk/request.ts';
import { Histogram } from './histogram.ts';
import { StealMeter } from './report.ts';

export type LoadOptions = {
  readonly baseUrl: string;
  readonly market: OrderMarket;
  readonly domain: Eip712Domain;
  readonly credentials: Credentials;
  readonly privateKey: string;
  readonly feeBps: number;
  readonly rounds: number;
  readonly requests: number;
  readonly connections: number;
};

export type LoadResult = {
  readonly kind: 'place' | 'cancel';
  readonly perSecond: number;
  readonly p50Us: number;
  readonly p99Us: number;
  readonly refused: number;
  readonly stolen: number | string;
};

/** The addon's own signing: the reference in TypeScript would take longer than the whole bench. */
type Binding = {
  ecdsaSign(digest: Uint8Array, privateKey: Uint8Array): { signature: Uint8Array; recid: number };
};

const V_OFFSET = 27;

class OrderFactory {
  readonly #options: LoadOptions;
  readonly #hasher: OrderHasher;
  readonly #binding = createRequire(import.meta.url)('secp256k1/bindings.js') as Binding;
  readonly #privateKey: Uint8Array;
  readonly #address: string;
  readonly #requestSigner: RequestSigner;
  readonly #drafts: readonly OrderDraft[];
  #salt = 0;

  constructor(options: LoadOptions, hasher: OrderHasher) {
    this.#options = options;
    this.#hasher = hasher;
    this.#privateKey = Buffer.from(options.privateKey.slice(2), 'hex');
    this.#address = addressOf(options.privateKey);
    this.#requestSigner = new RequestSigner(options.credentials);
    // Bids for both outcomes that never meet: a book with two sides and no trade.
    this.#drafts = [0, 1].map((outcome) => this.#draft(outcome as Outcome));
  }

  place(): { request: PreparedRequest; orderHash: string } {
    const draft = this.#drafts[this.#salt % this.#drafts.length];
    const salt = String(++this.#salt);
    const digest = this.#hasher.digestOf({
      salt,
      maker: this.#address,
      signer: this.#address,
      tokenId: draft.token_id,
      makerAmount: Number(draft.maker_amount),
      takerAmount: Number(draft.taker_amount),
      expirationSec: 0,
      nonce: draft.nonce,
      feeRateBps: draft.fee_rate_bps,
      minTakerNet: 0,
      side: SIDE.BUY,
    });
    const parties = { maker: this.#address, signer: this.#address, taker: ZERO_ADDRESS };
    const body = { ...draft, ...parties, salt, signature: this.#sign(digest) };
    return { request: this.#authenticated('POST', '/v1/orders', body), orderHash: toHex(digest) };
  }

  cancel(orderHash: string): PreparedRequest {
    return this.#authenticated('DELETE', `/v1/orders/${orderHash}`);
  }

  #draft(outcomeIndex: Outcome): OrderDraft {
    const { market, feeBps: feeRateBps } = this.#options;
    return draftOrder({ market, outcomeIndex, side: 'BUY', price: '0.40', size: '10', feeRateBps });
  }

  #sign(digest: Uint8Array): string {
    const { signature, recid } = this.#binding.ecdsaSign(digest, this.#privateKey);
    return toHex(Uint8Array.of(...signature, V_OFFSET + recid));
  }

  #authenticated(method: string, path: string, payload?: unknown): PreparedRequest {
    return prepareRequest(method, path, payload, (...signed) => this.#requestSigner.headers(...signed));
  }
}

/** One keep-alive connection; the next request goes out when the last one is answered. */
class Connection {
  readonly #socket: Socket;
  #received = '';
  #onAnswer: (status: number) => void = () => {};

  static async open(baseUrl: string): Promise<Connection> {
    const { hostname, port } = new URL(baseUrl);
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    return new Connection(socket);
  }

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => this.#receive(text));
    socket.on('close', () => this.#onAnswer(0));
  }

  send(request: Buffer, onAnswer: (status: number) => void): void {
    this.#onAnswer = onAnswer;
    this.#socket.write(request);
  }

  close(): void {
    this.#onAnswer = () => {};
    this.#socket.destroy();
  }

  #receive(text: string): void {
    this.#received += text;
    const headEnd = this.#received.indexOf('\r\n\r\n');
    if (headEnd < 0) return;
    const length = /content-length: (\d+)/i.exec(this.#received);
    if (this.#received.length < headEnd + 4 + Number(length?.[1] ?? 0)) return;
    const status = Number(this.#received.slice(9, 12));
    this.#received = '';
    this.#onAnswer(status);
  }
}

async function main(options: LoadOptions): Promise<void> {
  const factory = new OrderFactory(options, hasherFor(options.domain, await createKeccak()));
  const open = Array.from({ length: options.connections }, () => Connection.open(options.baseUrl));
  const connections = await Promise.all(open);
  for (let round = 0; round < options.rounds; round++) {
    const orders = Array.from({ length: options.requests }, () => factory.place());
    report(
      await fire(
        'place',
        connections,
        orders.map(({ request }) => toBytes(request)),
      ),
    );
    const cancels = orders.map(({ orderHash }) => toBytes(factory.cancel(orderHash)));
    report(await fire('cancel', connections, cancels));
  }
  for (const connection of connections) connection.close();
  process.disconnect();
}

async function fire(
  kind: LoadResult['kind'],
  connections: readonly Connection[],
  requests: readonly Buffer[],
): Promise<LoadResult> {
  const latency = new Histogram();
  const steal = new StealMeter();
  let next = 0;
  let refused = 0;
  const drain = (connection: Connection): Promise<void> =>
    new Promise((resolve) => {
      const step = (): void => {
        if (next === requests.length) {
          resolve();
          return;
        }
        const sent = performance.now();
        connection.send(requests[next++], (status) => {
          latency.record((performance.now() - sent) * 1e6);
          if (status !== 200 && status !== 201) refused++;
          step();
        });
      };
      step();
    });
  const start = performance.now();
  await Promise.all(connections.map(drain));
  const seconds = (performance.now() - start) / 1000;
  return {
    kind,
    perSecond: requests.length / seconds,
    p50Us: latency.quantileUs(0.5),
    p99Us: latency.quantileUs(0.99),
    refused,
    stolen: steal.percent(),
  };
}

function toBytes({ method, path, headers, body }: PreparedRequest): Buffer {
  const fields = { host: 'localhost', ...headers, 'content-length': String(Buffer.byteLength(body)) };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
}

function report(result: LoadResult): void {
  process.send?.(result);
}

process.once('message', (options) => void main(options as LoadOptions));
