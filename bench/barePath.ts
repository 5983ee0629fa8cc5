/**
 * Process entry of the bare path, the yardstick of this machine: the steps of a signed order that no exchange can leave
 * out. The gateway thread reads the request, checks HMAC, JSON and schema and writes the command into a ring; the
 * shard's thread (barePathShard.ts) checks the signature, commits and replies. It has no limits, nonces, balances,
 * books, views or read models, and matches nothing.
 *
 * The difference between the server and the bare path is the cost of the exchange's rules. The difference between the
 * bare path and bare key recovery is the cost of the machine: waking a thread, writing a socket, syncing a file.
 *
 * It answers `POST /v1/orders` and `DELETE /v1/orders/<hash>` with as many bytes as the server does. Its parent sends
 * the options and receives the port.
 */
import { App, type HttpRequest, type HttpResponse, us_socket_local_port } from 'uWebSockets.js';
import { hash } from 'node:crypto';
import { Worker } from 'node:worker_threads';
import type { Credentials } from '../gateway/access/authenticator.ts';
import { HmacKey } from '../gateway/base/hmacKey.ts';
import { compileBody } from '../gateway/http/validate.ts';
import type { MarketEntry } from '../gateway/markets/catalog.ts';
import { OrderEncoder } from '../gateway/trading/encodeOrder.ts';
import { ParsedOrders } from '../gateway/trading/parsedOrders.ts';
import { PLACEMENT, type PlacementBody } from '../shared/api/orders.ts';
import { assert } from '../shared/base/assert.ts';
import { SELF_TRADE } from '../shared/base/codes.ts';
import { HASH_BYTES, toHex, tryParseHex } from '../shared/base/hex.ts';
import { ID_KIND, timeOrderedId } from '../shared/base/ids.ts';
import { STRIPPED_BEFORE } from '../shared/base/stripTypes.ts';
import { AUTH_HEADER, EMPTY_BODY_SHA256, stringToSignV2 } from '../shared/crypto/hmac.ts';
import { COMMAND, claimCommand } from '../shared/wire/commands.ts';
import { RingConsumer, RingProducer } from '../shared/wire/ring.ts';
import { createRingBuffer } from '../shared/wire/ringLayout.ts';
import * as protocol from './barePathProtocol.ts';

const HOST = '127.0.0.1';
const RING_BYTES = 1 << 20;
const ACCOUNT = 0;
const MARKET = 0;
/** Pads an answer to the length of the server's. */
const HEADERS = `application/json\r\nX-Filler: ${'x'.repeat(145)}`;
const CANCELLED = JSON.stringify({ message: 'order cancelled' });
const ORDERS_PATH = '/v1/orders';

/** A request without an answer so far. */
type Waiting = { readonly response: HttpResponse; readonly isPlacement: boolean; isAborted: boolean };

/** The headers that the check of a request's signature needs; there is only one key. */
type Signed = Pick<Credentials, 'timestamp' | 'nonce' | 'signature'>;

class BarePath {
  readonly #key: HmacKey;
  readonly #encoder: OrderEncoder;
  readonly #parsed = new ParsedOrders();
  readonly #market: MarketEntry;
  readonly #checkBody = compileBody(PLACEMENT);
  readonly #commands: RingProducer;
  readonly #answers: RingConsumer;
  /** Requests without an answer so far, by request id. */
  readonly #waiting = new Map<number, Waiting>();
  #requestId = 0;

  constructor({ credentials, market, domain, directory }: protocol.BarePathOptions) {
    this.#key = new HmacKey(Buffer.from(credentials.secret, 'base64url'));
    // The rules of a placement read only these fields of a market.
    this.#market = { yesTokenId: market.yes_token_id, noTokenId: market.no_token_id } as MarketEntry;
    this.#encoder = new OrderEncoder({ grantOf: () => 1 });
    const commandRing = createRingBuffer(RING_BYTES);
    const answerRing = createRingBuffer(RING_BYTES);
    this.#commands = new RingProducer(commandRing);
    this.#answers = new RingConsumer(answerRing);
    const workerData: protocol.BarePathShardOptions = { domain, directory, commandRing, answerRing };
    const shard = new Worker(new URL('./barePathShard.ts', import.meta.url), {
      workerData,
      execArgv: STRIPPED_BEFORE,
    });
    shard.once('error', (error) => {
      throw error;
    });
  }

  listen(onPort: (port: number) => void): void {
    App()
      .post(ORDERS_PATH, (response, request) => {
        const signed = readSigned(request);
        const waiting = expect(response, true);
        let body = Buffer.alloc(0);
        response.onData((chunk, isLast) => {
          // uWebSockets.js reuses this memory after the callback, so a part of a longer body is copied.
          const part = Buffer.from(chunk);
          body = isLast && body.length === 0 ? part : Buffer.concat([body, part]);
          if (isLast) this.#place(waiting, signed, body);
        });
      })
      .del(`${ORDERS_PATH}/*`, (response, request) => {
        this.#cancel(expect(response, false), readSigned(request), request.getUrl());
      })
      .listen(HOST, 0, (socket) => {
        assert(socket !== false, 'bare path: some port is free');
        onPort(us_socket_local_port(socket));
      });
  }

  /** Forwards the shard's replies without end. */
  async pump(): Promise<void> {
    for (;;) {
      for (let word = this.#answers.next(); word >= 0; word = this.#answers.next()) this.#answer(word);
      this.#answers.release();
      await this.#answers.waitAsync();
    }
  }

  #place(waiting: Waiting, signed: Signed, body: Buffer): void {
    const { response } = waiting;
    const isSigned = this.#isSigned(signed, 'POST', ORDERS_PATH, hash('sha256', body, 'hex'));
    if (!isSigned) {
      refuse(response, '401 Unauthorized');
      return;
    }
    const json = JSON.parse(body.toString()) as PlacementBody;
    const order = this.#checkBody(json) === null ? this.#parsed.read(json) : null;
    if (order === null || (order.contradiction ?? order.refuseToken(this.#market)) !== null) {
      refuse(response, '400 Bad Request');
      return;
    }
    const word = this.#claim(COMMAND.PLACE.TYPE, waiting);
    this.#encoder.ready(order, PLACER).writeAt(this.#commands.words, word);
    this.#commands.publish();
  }

  #cancel(waiting: Waiting, signed: Signed, path: string): void {
    const isSigned = this.#isSigned(signed, 'DELETE', path, EMPTY_BODY_SHA256);
    if (!isSigned) {
      refuse(waiting.response, '401 Unauthorized');
      return;
    }
    const word = this.#claim(COMMAND.CANCEL.TYPE, waiting);
    const orderHash = path.slice(ORDERS_PATH.length + 1);
    const isHash = tryParseHex(orderHash, HASH_BYTES, this.#commands.bytes, (word + COMMAND.CANCEL.hash) * 4);
    assert(isHash, 'bare path: its client cancels by hash');
    this.#commands.publish();
  }

  #isSigned({ timestamp, nonce, signature }: Signed, method: string, path: string, bodySha256: string): boolean {
    const text = stringToSignV2(timestamp, nonce, method, path, bodySha256);
    return this.#key.accepts(signature, text, NO_BODY);
  }

  #claim(type: typeof COMMAND.PLACE.TYPE | typeof COMMAND.CANCEL.TYPE, waiting: Waiting): number {
    this.#requestId = (this.#requestId + 1) >>> 0;
    const word = claimCommand(this.#commands, type, this.#requestId, ACCOUNT, Date.now(), MARKET, 0);
    assert(word >= 0, 'bare path: the ring has room for every request in flight');
    this.#waiting.set(this.#requestId, waiting);
    return word;
  }

  #answer(word: number): void {
    const { words } = this.#answers;
    const request = words[word + protocol.ANSWER.requestId];
    const { response, isPlacement, isAborted } = this.#waiting.get(request)!;
    this.#waiting.delete(request);
    if (isAborted) return;
    if (words[word + protocol.ANSWER.isAccepted] === 0) refuse(response, '400 Bad Request');
    else send(response, isPlacement ? this.#placed(word) : CANCELLED);
  }

  #placed(word: number): string {
    const { words, bytes } = this.#answers;
    const order_id = timeOrderedId(Date.now(), 0, ID_KIND.ORDER, words[word + protocol.ANSWER.sequence]);
    const order_hash = toHex(bytes, (word + protocol.ANSWER.orderHash) * 4, HASH_BYTES);
    return JSON.stringify({ order_id, order_hash, status: 'open', matches: 0, fills: [] });
  }
}

const NO_BODY = new Uint8Array(0);
const PLACER = { accountIndex: ACCOUNT, selfTradePrevention: SELF_TRADE.NONE };

function readSigned(request: HttpRequest): Signed {
  return {
    timestamp: request.getHeader(AUTH_HEADER.TIMESTAMP),
    nonce: request.getHeader(AUTH_HEADER.NONCE),
    signature: request.getHeader(AUTH_HEADER.SIGNATURE),
  };
}

/** uWebSockets.js ends the process if a request has no listener for the end of its connection. */
function expect(response: HttpResponse, isPlacement: boolean): Waiting {
  const waiting = { response, isPlacement, isAborted: false };
  response.onAborted(() => {
    waiting.isAborted = true;
  });
  return waiting;
}

function send(response: HttpResponse, body: string): void {
  response.cork(() => {
    response.writeStatus('200 OK');
    response.writeHeader('Content-Type', HEADERS);
    response.end(body);
  });
}

function refuse(response: HttpResponse, status: string): void {
  response.cork(() => response.writeStatus(status).end());
}

process.once('message', (options) => {
  const path = new BarePath(options as protocol.BarePathOptions);
  path.listen((port) => process.send?.(port));
  void path.pump();
});
process.once('disconnect', () => process.exit(0));
