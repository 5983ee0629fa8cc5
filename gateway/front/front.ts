/**
 * The connections of a front thread, their calls and their sockets: what clients send becomes records, and records
 * become what they receive.
 * Owner: the front thread.
 *
 * Invariants:
 *   FRONT-1  Nothing is read from a connection before the gateway thread has admitted it.
 *   FRONT-2  Every call has its abort handler before anything else happens: uWebSockets.js ends the process otherwise.
 *            After it ran, the response is never touched.
 *   FRONT-3  What waits for the gateway thread is bounded: while it is far behind, bodies are not read, calls are
 *            refused here, and a socket or body that goes on coming is cut off. No client has more than its share: the
 *            parts of a body that come in a turn are one record (turn.ts), and a socket may have MOST_UNREAD_BYTES.
 */

import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { peerSubject } from '../base/clientAddress.ts';
import type { Upgrade } from '../http/call.ts';
import { type AppDescriptor, Door } from '../http/door.ts';
import { RequestHeaders } from '../http/headers.ts';
import { HeldResponse } from '../http/heldResponse.ts';
import { SilentConnections } from '../http/silentConnections.ts';
import type { BusyRefusals } from './busy.ts';
import { FrontCall, type HeldHead } from './frontCall.ts';
import { FrontReader } from './frontReader.ts';
import type { FrontRole } from './frontRole.ts';
import { FrontSocket, type SocketData } from './frontSocket.ts';
import { Incoming } from './incoming.ts';
import { Outgoing } from './outgoing.ts';
import type { FrontReads } from './reads.ts';
import {
  ANY_FRONT,
  CALL_BIT_QUERY,
  CALL_BIT_UPGRADE,
  FROM_FRONT,
  TEXT_SEPARATOR,
  TO_FRONT,
  VERDICT,
} from './records.ts';
import type { FrontOptions } from './threadOptions.ts';
import { Turn } from './turn.ts';

/** FRONT-3: as much as four rings hold. */
const MOST_WAITING_BYTES = 16 * 1024 * 1024;
const SILENT_LOOK_MS = 250;
const NO_BODY = new ArrayBuffer(0);
const { ADMITTED, ANSWER, PIECE, CUT, UPGRADE, FRAME, END, PING, SETTLE, KEY } = TO_FRONT;

/** A connection whose admission is asked for. */
type Opening = { readonly response: HttpResponse; isGone: boolean };

export class Front {
  readonly #out: Outgoing;
  readonly #incoming: Incoming;
  readonly #door: Door;
  readonly #openings = new Map<number, Opening>();
  #lastOpening = 0;
  readonly #silent = new SilentConnections();
  readonly #inSlot: (FrontCall | FrontSocket | null)[] = [];
  readonly #freeSlots: number[] = [];
  #serial = 0;
  /** Calls whose bodies are not read on while the gateway thread is behind. */
  readonly #paused = new Set<FrontCall>();
  /** Sockets that were sent frames in this turn. */
  readonly #sentTo: FrontSocket[] = [];
  readonly #turn: Turn;
  readonly #held = new HeldResponse();
  readonly #role: FrontRole | null;
  readonly #reads: FrontReads | null;
  readonly #busy: BusyRefusals;
  readonly #reader: FrontReader;

  /**
   * @param busy refuses calls for which there is no room (FRONT-3)
   * @param role null without a cluster
   * @param reads what is answered here; null: nothing is
   */
  constructor(options: FrontOptions, busy: BusyRefusals, role: FrontRole | null, reads: FrontReads | null) {
    this.#role = role;
    this.#busy = busy;
    this.#reads = reads;
    const { tls, socketPath, socketLimits, longestMessageBytes } = options;
    this.#out = new Outgoing(options.fromFront, () => this.#resume());
    this.#reader = new FrontReader(this.#out);
    this.#turn = new Turn(this.#out, (call) => this.#pauseBehind(call));
    this.#incoming = new Incoming(options.toFront);
    this.#door = new Door({
      // This door does not listen: the gateway thread accepts for it.
      host: '',
      port: 0,
      tls,
      webSocket: {
        path: socketPath,
        behavior: {
          ...defined(socketLimits),
          open: (socket) => dataOf(socket).socket.opened(socket),
          message: (socket, bytes, isBinary) =>
            this.#message(socket.getUserData(), bytes, isBinary, longestMessageBytes),
          ping: (socket) => this.#pinged(socket.getUserData()),
          pong: (socket) => this.#ponged(socket.getUserData()),
          drain: (socket) => dataOf(socket).socket.drained(this.#out),
          close: (socket) => this.#socketClosed(socket.getUserData()),
        },
        close: () => {},
      },
      onOpened: (response) => this.#opened(response),
      onClosed: () => this.#out.send(FROM_FRONT.CLOSED.TYPE, 0, 0),
      onRequest: (response, request, upgrade) => this.#request(response, request, upgrade),
    });
    setInterval(() => this.#silent.closeOld(Date.now()), SILENT_LOOK_MS).unref();
  }

  get descriptor(): AppDescriptor {
    return this.#door.descriptor;
  }

  /** Reads the certificate again, for connections from now on. */
  renew(): AppDescriptor {
    this.#door.renew();
    return this.#door.descriptor;
  }

  /** Resolves when connections can come. */
  prepare(): Promise<void> {
    return this.#held.open();
  }

  /** Answers until the process ends: resolves when `isEnding` holds. */
  async run(isEnding: () => boolean): Promise<void> {
    await this.#incoming.pump(this.#read, () => {
      this.#reportTaken();
      if (isEnding()) this.#incoming.end();
    });
  }

  /** Passes on every answer that is there. */
  readAll(): void {
    this.#incoming.drain(this.#read);
  }

  /** Cuts every connection. */
  close(): void {
    this.#incoming.end();
    this.#out.end();
    this.#door.close();
    this.#held.close();
  }

  /** FRONT-1. */
  #opened(response: HttpResponse): boolean {
    const peer = new Uint8Array(response.getRemoteAddress());
    const opening: Opening = { response, isGone: false };
    response.onAborted(() => {
      opening.isGone = true;
    });
    response.pause();
    const connection = ++this.#lastOpening >>> 0;
    this.#openings.set(connection, opening);
    const { OPENED } = FROM_FRONT;
    const word = this.#out.claim(OPENED.TYPE, 0, connection, OPENED.BYTES);
    this.#out.words[word + OPENED.peerBytes] = peer.length;
    this.#out.bytes.set(peer, (word + OPENED.peer) * 4);
    this.#out.publish();
    return true;
  }

  #admitted(connection: number, verdict: number): void {
    if (verdict === VERDICT.CALM) this.#silent.clear();
    const opening = this.#openings.get(connection);
    if (opening === undefined) return;
    this.#openings.delete(connection);
    if (opening.isGone) return;
    const { response } = opening;
    if (verdict === VERDICT.REFUSED) {
      response.close();
      return;
    }
    if (verdict === VERDICT.WATCHED) {
      this.#silent.opened(peerSubject(new Uint8Array(response.getRemoteAddress())), response, Date.now());
    }
    response.resume();
  }

  /** FRONT-2. */
  #request(response: HttpResponse, request: HttpRequest, upgrade: Upgrade | null): void {
    const method = request.getCaseSensitiveMethod();
    const path = request.getUrl();
    const query = request.getQuery() ?? null;
    const peer = new Uint8Array(response.getRemoteAddress());
    if (this.#silent.size > 0) this.#silent.spoke(peer.length === 0 ? '' : peerSubject(peer));
    this.#role?.note();
    if (upgrade === null && this.#reads?.tryAnswer(response, request, method, path, query, peer)) return;
    if (this.#out.waitingBytes > MOST_WAITING_BYTES) {
      this.#busy.refuse(response, method, path, request.getHeader('origin'));
      return;
    }
    const slot = this.#freeSlots.pop() ?? this.#inSlot.push(null) - 1;
    this.#serial = (this.#serial + 1) >>> 0;
    const call = new FrontCall(this.#out, slot, this.#serial, response, upgrade);
    this.#inSlot[slot] = call;
    response.onAborted(() => this.#aborted(call));
    text = method + TEXT_SEPARATOR + path + TEXT_SEPARATOR + (query ?? '');
    headers = new RequestHeaders();
    request.forEach(appendHeader);
    if (upgrade === null && this.#reader.canTake(method, path, headers)) {
      call.held = { line: { method, path, query }, text, headers, peer };
      if (headers.bodyBytes === 0) this.#tryRead(call, call.held, NO_BODY, true);
      else this.#turn.held(call);
    } else {
      call.sendHead(text, peer, (query === null ? 0 : CALL_BIT_QUERY) | (upgrade === null ? 0 : CALL_BIT_UPGRADE));
    }
    if (headers.bodyBytes !== 0) response.onData((bytes, isLast) => this.#body(call, bytes, isLast));
  }

  /** FRONT-3. */
  #body(call: FrontCall, part: ArrayBuffer, isLast: boolean): void {
    if (call.isOver) return;
    if (call.held !== null && this.#tryRead(call, call.held, part, isLast)) return;
    if (this.#out.waitingBytes > MOST_WAITING_BYTES) call.response.close();
    else if (isLast) call.sendLast(part);
    else this.#turn.part(call, part);
  }

  /** @returns false when the head has been passed on as it came, and the part has to be. */
  #tryRead(call: FrontCall, held: HeldHead, part: ArrayBuffer, isLast: boolean): boolean {
    if (isLast && this.#reader.trySend(call, held, Buffer.from(part))) {
      call.held = null;
      return true;
    }
    call.sendHeld();
    return false;
  }

  /** FRONT-3. */
  #pauseBehind(call: FrontCall): void {
    if (this.#out.waitingBytes === 0) return;
    call.response.pause();
    this.#paused.add(call);
  }

  #resume(): void {
    for (const call of this.#paused) call.response.resume();
    this.#paused.clear();
  }

  #aborted(call: FrontCall): void {
    if (call.isOver) return;
    call.isOver = true;
    call.sendHeld();
    this.#paused.delete(call);
    this.#out.send(FROM_FRONT.GONE.TYPE, call.slot, call.serial);
    this.#leave(call);
  }

  #leave({ slot }: FrontCall | FrontSocket): void {
    this.#inSlot[slot] = null;
    this.#freeSlots.push(slot);
  }

  #message({ socket }: SocketData, bytes: ArrayBuffer, isBinary: boolean, longestBytes: number): void {
    if (socket.isOver) return;
    if (!this.#mayPass(socket)) socket.endBusy();
    else
      socket.sendMessage(this.#out, new Uint8Array(bytes, 0, Math.min(bytes.byteLength, longestBytes + 1)), isBinary);
  }

  /** FRONT-3. */
  #mayPass(socket: FrontSocket): boolean {
    const isBehind = this.#out.waitingBytes > MOST_WAITING_BYTES;
    return this.#turn.admits(socket) && !isBehind && socket.mayPass(this.#out);
  }

  #pinged({ socket }: SocketData): void {
    if (this.#turn.admits(socket)) this.#turn.pinged(socket);
    else socket.endBusy();
  }

  #ponged({ socket }: SocketData): void {
    if (this.#turn.admits(socket)) this.#turn.ponged(socket);
    else socket.endBusy();
  }

  #socketClosed({ socket }: SocketData): void {
    socket.closed();
    if (!socket.isOver) {
      socket.isOver = true;
      this.#out.send(FROM_FRONT.GONE.TYPE, socket.slot, socket.serial);
      this.#leave(socket);
    }
  }

  readonly #read = (type: number, word: number): void => {
    const { words } = this.#incoming;
    const slot = words[word + ANY_FRONT.slot];
    const serial = words[word + ANY_FRONT.serial];
    if (type === ADMITTED.TYPE) this.#admitted(serial, words[word + ADMITTED.verdict]);
    else if (type === KEY.TYPE) this.#reader.keep(words, this.#incoming.bytes, word);
    else if (type === SETTLE.TYPE) void this.#settle(serial);
    else {
      const target = this.#inSlot[slot];
      if (target == null || target.serial !== serial) return;
      if (target instanceof FrontCall) this.#toCall(type, target, word);
      else this.#toSocket(type, target, word);
    }
  };

  #toCall(type: number, call: FrontCall, word: number): void {
    const { words, bytes } = this.#incoming;
    // The rest of a body that is answered already is read and dropped.
    if (this.#paused.delete(call)) call.response.resume();
    switch (type) {
      case ANSWER.TYPE:
        call.begin(words, bytes, word);
        break;
      case PIECE.TYPE:
        call.piece(words, bytes, word);
        break;
      case CUT.TYPE:
        call.isOver = true;
        call.response.close();
        break;
      case UPGRADE.TYPE:
        this.#upgrade(call, word);
        return;
    }
    if (call.isOver) this.#leave(call);
  }

  #upgrade(call: FrontCall, word: number): void {
    const { words, bytes } = this.#incoming;
    const at = (word + UPGRADE.WORDS) * 4;
    const protocol = bytes.toString('latin1', at, at + words[word + UPGRADE.protocolBytes]);
    const socket = new FrontSocket(call);
    this.#inSlot[call.slot] = socket;
    call.isOver = true;
    const { response } = call;
    const { key, extensions, context } = call.upgrade!;
    this.#held.cork(() => response.upgrade<SocketData>({ socket }, key, protocol, extensions, context!));
  }

  #toSocket(type: number, socket: FrontSocket, word: number): void {
    const { words, bytes } = this.#incoming;
    switch (type) {
      case FRAME.TYPE:
        if (socket.sendFrame(words, bytes, word)) this.#sentTo.push(socket);
        break;
      case PING.TYPE:
        socket.ping();
        break;
      case END.TYPE:
      case CUT.TYPE:
        // The gateway thread has closed it already.
        socket.isOver = true;
        this.#leave(socket);
        if (type === CUT.TYPE) socket.cut();
        else socket.end(words, bytes, word);
    }
  }

  #reportTaken(): void {
    for (const socket of this.#sentTo) socket.report(this.#out);
    if (this.#sentTo.length > 0) this.#sentTo.length = 0;
  }

  /** Two turns of the event loop: everything that has arrived has been read. */
  async #settle(question: number): Promise<void> {
    await nextTurn();
    await nextTurn();
    this.#out.send(FROM_FRONT.SETTLED.TYPE, 0, question);
  }
}

function dataOf(socket: { getUserData(): SocketData }): SocketData {
  return socket.getUserData();
}

/** Limits that are not set are those of uWebSockets.js. */
function defined<T extends object>(limits: T): { [K in keyof T]: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined)) as never;
}

// The request that is being read: a closure for each would cost an allocation.
let text = '';
let headers = new RequestHeaders();
function appendHeader(name: string, value: string): void {
  text += TEXT_SEPARATOR + name + TEXT_SEPARATOR + value;
  headers.read(name, value);
}
