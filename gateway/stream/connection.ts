/**
 * One client's socket: what it listens to, what waits for it, and how it is used.
 * Owner: the gateway thread.
 *
 * Invariants:
 *   N1  Frames leave in the order in which they were pushed.
 *   N2  What waits for the client is bounded: live frames close a connection that has MAX_BUFFERED_BYTES waiting, and
 *       books and replays are only read while less than PACED_BUFFERED_BYTES wait.
 *   N3  After the close nothing is sent and nothing is listened to.
 */
import type { WebSocket } from 'uWebSockets.js';
import type { ErrorRow } from '../../shared/errors.ts';
import type { ApiKey } from '../auth/apiKeys.ts';
import { CLOSE, MAX_BUFFERED_BYTES, MAX_MESSAGES_PER_SECOND, PACED_BUFFERED_BYTES } from './limits.ts';
import { toFrame } from './marketChannel.ts';
import type { Refusal, RequestId } from './requests.ts';
import type { FrameSink, MarketSubscription, Subscription, UserSubscription } from './subscriptions.ts';

/** What uWebSockets.js carries along with a socket. */
export type SocketData = { readonly connection: Connection };
export type Socket = Pick<WebSocket<SocketData>, 'send' | 'end' | 'close' | 'ping' | 'cork' | 'getBufferedAmount'>;

/** A look at what waits costs as much as a small frame. */
const LOOK_EVERY_BYTES = 65_536;
/** uWebSockets.js has given the connection up. */
const DROPPED = 2;
/** Replay steps in one turn of the loop: whoever reads fast must not keep the others waiting. */
const STEPS_A_TURN = 16;
const SECOND_MS = 1000;

export class Connection implements FrameSink {
  /** Null: anonymous. */
  readonly key: ApiKey | null;
  /** Whom an anonymous connection is counted as. */
  readonly address: string;
  /** By market index. */
  readonly markets = new Map<number, MarketSubscription>();
  user: UserSubscription | null = null;
  heardMs: number;
  nextPingMs = 0;
  nextHeartbeatMs = 0;
  readonly #onPushed: (connection: Connection) => void;
  #socket: Socket | null = null;
  #outbox: Buffer[] = [];
  /** Not live yet, in the order in which they are served. */
  readonly #behind = new Set<Subscription>();
  #turn: NodeJS.Immediate | null = null;
  /** When the last messages came, the oldest at the cursor. */
  readonly #messageMs = new Float64Array(MAX_MESSAGES_PER_SECOND).fill(Number.NEGATIVE_INFINITY);
  #messageCursor = 0;
  readonly #nowMs: () => number;

  /** @param onPushed is told when frames wait for a `flush`. */
  constructor(key: ApiKey | null, address: string, nowMs: () => number, onPushed: (connection: Connection) => void) {
    this.key = key;
    this.address = address;
    this.#nowMs = nowMs;
    this.#onPushed = onPushed;
    this.heardMs = nowMs();
  }

  get isOpen(): boolean {
    return this.#socket !== null;
  }

  opened(socket: Socket): void {
    this.#socket = socket;
  }

  /** N3. */
  closed(): void {
    this.#socket = null;
    this.#outbox = [];
    if (this.#turn !== null) clearImmediate(this.#turn);
    this.#turn = null;
    this.#behind.clear();
    for (const subscription of this.markets.values()) subscription.end();
    this.markets.clear();
    this.user = null;
  }

  /** @returns whether the client may send another message now. */
  countMessage(): boolean {
    const nowMs = this.#nowMs();
    const isOver = nowMs - this.#messageMs[this.#messageCursor]! < SECOND_MS;
    this.#messageMs[this.#messageCursor] = nowMs;
    this.#messageCursor = (this.#messageCursor + 1) % MAX_MESSAGES_PER_SECOND;
    return !isOver;
  }

  push(frame: Buffer): void {
    if (this.#socket === null) return;
    if (this.#outbox.length === 0) this.#onPushed(this);
    this.#outbox.push(frame);
  }

  answer(channel: string, id: RequestId | undefined, data: object): void {
    this.push(toFrame(asciiJson({ channel, id, data })));
  }

  refuse(id: RequestId | undefined, { row, message, details }: Refusal): void {
    this.answer('error', id, { code: row.code, error: message ?? row.message, details });
  }

  /** Says why, and closes. */
  refuseAndClose(row: ErrorRow, message: string = row.message): void {
    this.refuse(undefined, { row, message });
    this.flush();
    this.end(CLOSE.POLICY, message);
  }

  end(code: number, reason: string): void {
    this.#socket?.end(code, reason);
  }

  ping(): void {
    this.#socket?.ping();
  }

  /** From where it says on, at the client's own pace. */
  serve(subscription: Subscription): void {
    this.#behind.delete(subscription);
    this.#behind.add(subscription);
  }

  forget(subscription: Subscription): void {
    this.#behind.delete(subscription);
  }

  /** Sends what has been pushed. */
  flush(): void {
    const socket = this.#socket;
    const outbox = this.#outbox;
    if (socket === null || outbox.length === 0) return;
    this.#outbox = [];
    let isSlow = false;
    socket.cork(() => {
      isSlow = !sendAll(socket, outbox);
    });
    if (isSlow) this.end(CLOSE.TRY_AGAIN_LATER, 'slow consumer');
  }

  /** The client has taken something in, or wants something new. */
  catchUp(): void {
    if (this.#turn !== null) return;
    for (let step = 0; this.#behind.size > 0 && step < STEPS_A_TURN; step++) {
      if (this.#socket === null || this.#socket.getBufferedAmount() > PACED_BUFFERED_BYTES) return;
      const [subscription] = this.#behind;
      if (subscription!.catchUp(this.#nowMs())) this.#behind.delete(subscription!);
      this.flush();
    }
    if (this.#behind.size === 0) return;
    this.#turn = setImmediate(() => {
      this.#turn = null;
      this.catchUp();
    });
  }
}

/** N2. @returns whether the client keeps up. */
function sendAll(socket: Socket, frames: readonly Buffer[]): boolean {
  let unseenBytes = LOOK_EVERY_BYTES;
  for (const frame of frames) {
    if (unseenBytes >= LOOK_EVERY_BYTES) {
      if (socket.getBufferedAmount() > MAX_BUFFERED_BYTES) return false;
      unseenBytes = 0;
    }
    unseenBytes += frame.length;
    if (socket.send(frame) === DROPPED) return false;
  }
  return true;
}

/** What clients sent may be anything; escaped, it is ASCII as all frames are. */
function asciiJson(value: object): string {
  return JSON.stringify(value).replace(/[\u007f-\uffff]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}
