/**
 * The pings, pongs and parts of a body that have come in a turn of the event loop, and heads that wait for bodies.
 * They are passed on at its end, as one record of each kind and sender (FRONT-3). A record for each would take many
 * times the memory of what a client has sent, and uWebSockets.js reads half a megabyte of a connection at a time.
 * Owner: the front thread.
 */
import { TurnLimit } from '../http/turnLimit.ts';
import type { FrontCall } from './frontCall.ts';
import type { FrontSocket } from './frontSocket.ts';
import type { Outgoing } from './outgoing.ts';

export class Turn {
  readonly #out: Outgoing;
  readonly #onPassed: (call: FrontCall) => void;
  readonly #frames = new TurnLimit();
  #sockets: FrontSocket[] = [];
  #calls: FrontCall[] = [];
  #held: FrontCall[] = [];
  #isEndDue = false;

  /** @param onPassed a part of the body of the call has been passed on, and is not the last */
  constructor(out: Outgoing, onPassed: (call: FrontCall) => void) {
    this.#out = out;
    this.#onPassed = onPassed;
  }

  /** @returns false when the socket has sent one frame too many. */
  admits(socket: FrontSocket): boolean {
    return this.#frames.admits(socket);
  }

  pinged(socket: FrontSocket): void {
    if (socket.pinged()) this.#note(socket);
  }

  ponged(socket: FrontSocket): void {
    if (socket.ponged()) this.#note(socket);
  }

  /** Its head is passed on at the end of the turn, if its body has not come by then. */
  held(call: FrontCall): void {
    this.#held.push(call);
    this.#awaitEnd();
  }

  /** A part of a body before the last. */
  part(call: FrontCall, part: ArrayBuffer): void {
    if (!call.keepPart(part)) return;
    this.#calls.push(call);
    this.#awaitEnd();
  }

  #note(socket: FrontSocket): void {
    this.#sockets.push(socket);
    this.#awaitEnd();
  }

  #awaitEnd(): void {
    if (this.#isEndDue) return;
    this.#isEndDue = true;
    setImmediate(this.#end);
  }

  readonly #end = (): void => {
    this.#isEndDue = false;
    const [sockets, calls, held] = [this.#sockets, this.#calls, this.#held];
    this.#sockets = [];
    this.#calls = [];
    this.#held = [];
    for (const call of held) call.sendHeld();
    for (const socket of sockets) socket.reportHeard(this.#out);
    for (const call of calls) if (!call.isOver && call.sendKept()) this.#onPassed(call);
  };
}
