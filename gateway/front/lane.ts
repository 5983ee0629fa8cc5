/**
 * The gateway thread's end of one front thread: its connections are admitted here, its calls run through the server,
 * and its sockets are those of the stream.
 * Owner: the gateway thread.
 *
 * Invariants:
 *   FRONTLANE-1  A call or socket of the thread is in its slot from its record until it is over on this side; a record
 *                with another serial number is of one that is over, and dropped.
 *   FRONTLANE-2  When the thread has ended, each of its calls is aborted and each of its sockets closed, once.
 */
import type { WebSocket } from 'uWebSockets.js';
import type { FrontServer } from '../http/server.ts';
import { ForwardedRequest, ForwardedResponse, ForwardedSocket } from './forwarded.ts';
import { Incoming } from './incoming.ts';
import { Outgoing } from './outgoing.ts';
import { CallReadByFront } from './readByFront.ts';
import { ANY_FRONT, CALL_BIT_UPGRADE, FROM_FRONT, TO_FRONT, VERDICT, type Verdict } from './records.ts';

const { OPENED, CLOSED, CALL, BODY, GONE, TAKEN, MESSAGE, PINGED, PONGED, SETTLED, READ_CALL, KEY_WANTED } = FROM_FRONT;
const NO_CONNECTION = 0;
// biome-ignore lint/suspicious/noExplicitAny: the data of a socket is known to the route that upgrades it
type AnySocket = WebSocket<any>;

export class FrontLane {
  /** Open connections of the thread. */
  connections = 0;
  readonly out: Outgoing;
  readonly #incoming: Incoming;
  readonly #server: FrontServer;
  readonly #inSlot: (ForwardedResponse | ForwardedSocket | undefined)[] = [];
  readonly #request = new ForwardedRequest();
  /** By serial number: questions that the thread has not answered. */
  readonly #settling = new Map<number, () => void>();
  #settles = 0;
  #hasWatched = false;
  #forwarded = 0;
  #readCalls = 0;

  constructor(server: FrontServer, fromFront: SharedArrayBuffer, toFront: SharedArrayBuffer) {
    this.#server = server;
    this.#incoming = new Incoming(fromFront);
    this.out = new Outgoing(toFront);
  }

  /** Calls since the start of the thread. */
  get forwarded(): number {
    return this.#forwarded;
  }

  /** Those among them that the thread has read itself. */
  get read(): number {
    return this.#readCalls;
  }

  /** @param onError something is wrong with the records: the thread cannot be served any more */
  start(onError: (error: unknown) => void): void {
    this.#incoming.pump(this.#read, () => {}).catch(onError);
  }

  /** Connections are no longer scarce. */
  calm(): void {
    if (!this.#hasWatched) return;
    this.#hasWatched = false;
    this.#admit(NO_CONNECTION, VERDICT.CALM);
  }

  /** Resolves when everything that had reached the thread by now has been read here, or the thread has ended. */
  settle(): Promise<void> {
    const serial = ++this.#settles;
    this.out.send(TO_FRONT.SETTLE.TYPE, 0, serial);
    return new Promise((resolve) => this.#settling.set(serial, resolve));
  }

  /** Ends a wait for records: should a notification ever be lost, this bounds the delay. */
  wake(): void {
    this.#incoming.wake();
  }

  /** FRONTLANE-2. @returns the connections that it had. */
  end(): number {
    this.#incoming.drain(this.#read);
    this.#incoming.end();
    this.out.end();
    for (const each of [...this.#inSlot]) each?.gone();
    for (const settled of this.#settling.values()) settled();
    this.#settling.clear();
    const { connections } = this;
    this.connections = 0;
    return connections;
  }

  readonly over = ({ slot, serial }: ForwardedResponse): void => this.#leave(slot, serial);

  readonly upgraded = (response: ForwardedResponse, data: object): void => {
    const socket = new ForwardedSocket(this.out, response, data, this.#onClosed);
    this.#inSlot[response.slot] = socket;
    this.#server.webSocket.open?.(asSocket(socket));
  };

  readonly #onClosed = (socket: ForwardedSocket, code: number): void => {
    this.#leave(socket.slot, socket.serial);
    this.#server.webSocket.close?.(asSocket(socket), code, new ArrayBuffer(0));
  };

  #leave(slot: number, serial: number): void {
    if (this.#inSlot[slot]?.serial === serial) this.#inSlot[slot] = undefined;
  }

  readonly #read = (type: number, word: number): void => {
    const { words } = this.#incoming;
    const slot = words[word + ANY_FRONT.slot];
    const serial = words[word + ANY_FRONT.serial];
    if (type === CALL.TYPE) this.#call(slot, serial, word);
    else if (type === READ_CALL.TYPE) this.#prepared(slot, serial, word);
    else if (type === KEY_WANTED.TYPE) this.#sendKey(word);
    else if (type === OPENED.TYPE) this.#opened(serial, word);
    else if (type === CLOSED.TYPE) this.#closed();
    else if (type === SETTLED.TYPE) this.#settled(serial);
    else {
      // FRONTLANE-1.
      const target = this.#inSlot[slot];
      if (target === undefined || target.serial !== serial) return;
      if (type === GONE.TYPE) target.gone();
      else if (target instanceof ForwardedResponse) this.#ofCall(type, target, word);
      else this.#ofSocket(type, target, word);
    }
  };

  #ofCall(type: number, response: ForwardedResponse, word: number): void {
    const { words } = this.#incoming;
    if (type === TAKEN.TYPE) response.taken(words[word + TAKEN.bytes]);
    else if (type === BODY.TYPE) {
      response.received(this.#copy(word + BODY.WORDS, words[word + BODY.bytes]), words[word + BODY.isLast] === 1);
    }
  }

  #ofSocket(type: number, socket: ForwardedSocket, word: number): void {
    const { words } = this.#incoming;
    const { webSocket } = this.#server;
    const given = asSocket(socket);
    switch (type) {
      case MESSAGE.TYPE:
        webSocket.message?.(
          given,
          this.#copy(word + MESSAGE.WORDS, words[word + MESSAGE.bytes]),
          words[word + MESSAGE.isBinary] === 1,
        );
        break;
      case TAKEN.TYPE:
        socket.taken(words[word + TAKEN.bytes]);
        webSocket.drain?.(given);
        break;
      case PINGED.TYPE:
        // One of them may be one too many.
        for (let left = words[word + PINGED.count]; left > 0 && this.#inSlot[socket.slot] === socket; left--)
          webSocket.ping?.(given, new ArrayBuffer(0));
        break;
      case PONGED.TYPE:
        webSocket.pong?.(given, new ArrayBuffer(0));
        break;
    }
  }

  #call(slot: number, serial: number, word: number): void {
    const { words, bytes } = this.#incoming;
    const bits = words[word + CALL.bits];
    const at = (word + CALL.WORDS) * 4;
    const request = this.#request;
    request.read(bytes.toString('utf8', at, at + words[word + CALL.textBytes]), bits);
    const response = this.#respond(slot, serial, this.#copy(word + CALL.peer, words[word + CALL.peerBytes]));
    const upgrade =
      (bits & CALL_BIT_UPGRADE) === 0 ? null : { key: '', protocol: request.protocol, extensions: '', context: null };
    this.#server.receive(response, request, upgrade, null);
  }

  #prepared(slot: number, serial: number, word: number): void {
    const { words, bytes } = this.#incoming;
    const peer = this.#copy(word + READ_CALL.peer, words[word + READ_CALL.peerBytes]);
    const call = new CallReadByFront(words, bytes, word);
    this.#readCalls++;
    this.#server.receive(this.#respond(slot, serial, peer), call, null, call);
  }

  #respond(slot: number, serial: number, peer: ArrayBuffer): ForwardedResponse {
    const response = new ForwardedResponse(this, slot, serial, peer);
    this.#inSlot[slot] = response;
    this.#forwarded++;
    return response;
  }

  /** A key that is not in force is not sent. */
  #sendKey(word: number): void {
    const { words, bytes } = this.#incoming;
    const idAt = (word + KEY_WANTED.WORDS) * 4;
    const keyId = bytes.toString('latin1', idAt, idAt + words[word + KEY_WANTED.idBytes]);
    const secret = this.#server.secretOf(keyId);
    if (secret === null) return;
    const { out } = this;
    const { KEY } = TO_FRONT;
    const { number, innerBlock, outerBlock } = secret.copy;
    const to = out.claim(KEY.TYPE, 0, 0, KEY.BYTES + keyId.length);
    out.words[to + KEY.number] = number;
    out.words[to + KEY.idBytes] = keyId.length;
    out.bytes.set(innerBlock, (to + KEY.innerBlock) * 4);
    out.bytes.set(outerBlock, (to + KEY.outerBlock) * 4);
    out.bytes.write(keyId, (to + KEY.WORDS) * 4, 'latin1');
    out.publish();
  }

  #opened(connection: number, word: number): void {
    const { words } = this.#incoming;
    this.connections++;
    const peer = new Uint8Array(this.#copy(word + OPENED.peer, words[word + OPENED.peerBytes]));
    const admission = this.#server.opened(peer);
    this.#hasWatched ||= admission === 'WATCHED';
    this.#admit(connection, VERDICT[admission]);
  }

  #admit(connection: number, verdict: Verdict): void {
    const word = this.out.claim(TO_FRONT.ADMITTED.TYPE, 0, connection, TO_FRONT.ADMITTED.BYTES);
    this.out.words[word + TO_FRONT.ADMITTED.verdict] = verdict;
    this.out.publish();
  }

  #closed(): void {
    this.connections--;
    this.#server.closed();
  }

  #settled(serial: number): void {
    this.#settling.get(serial)?.();
    this.#settling.delete(serial);
  }

  /** The memory of the ring is used again once the record has been read. */
  #copy(word: number, count: number): ArrayBuffer {
    const copy = new Uint8Array(count);
    copy.set(this.#incoming.bytes.subarray(word * 4, word * 4 + count));
    return copy.buffer;
  }
}

/** A socket whose connection is another thread's has the members of one of uWebSockets.js that are used here. */
function asSocket(socket: ForwardedSocket): AnySocket {
  return socket as unknown as AnySocket;
}
