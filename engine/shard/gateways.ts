/**
 * The gateway threads that a shard serves: main, for the lifetime of the shard's thread, and fronts, which come and go
 * between two batches. Each has its own pair of rings. Owner: the shard's thread.
 *
 *   commands of main    ──┐                                ┌──► event ring of main      every event, and the replies
 *   commands of a front ──┼──► loop ──► engine ──► outlet ─┼──► event ring of a front   to its own commands
 *   commands of a front ──┘                                └──► …
 *
 * Invariants:
 *   GATEWAYS-1  The commands of a gateway are read in the order in which it sent them. Commands of two gateways are
 *               ordered only by the order of reading, which is the order of the journal.
 *   GATEWAYS-2  One command of each ring is read in turn: between two commands of a gateway, at most one command of
 *               each other gateway is read, however many wait.
 *   GATEWAYS-3  A reply goes to the gateway whose command it answers. A number is reused only after every command of
 *               its previous gateway has run, and the new gateway receives nothing that was written before it joined.
 *   GATEWAYS-4  Commands that a front published before it ended are carried out; their replies are discarded.
 */
import { assert } from '../../shared/base/assert.ts';
import { RingConsumer, RingProducer } from '../../shared/wire/ring.ts';
import type { FrontRings, ShardMessage } from '../../shared/wire/threads.ts';

/** The most gateways at a time, including ended fronts whose commands still wait. */
export const MOST_GATEWAYS = 256;
/** The front that is none: main. */
const MAIN = 0;

/** Sends a message to main; what `transfer` names is handed over instead of being copied. */
type Report = (message: ShardMessage, transfer?: ArrayBuffer[]) => void;

export class Gateway {
  /** Its index here, which is in the replies to its commands. */
  readonly number: number;
  /** The number under which main knows the front at this thread of the shard; MAIN for main itself. */
  readonly front: number;
  readonly commands: RingConsumer;
  /** Null if nothing is sent to it any more. */
  events: RingProducer | null;
  /** The position in the ring of the command that was read last. */
  word = 0;
  /** Output before this position (outlet.ts) is in its event ring, or precedes the state that it received. */
  published: number;
  /** The state as of `published`, until everything that precedes it may leave the shard. */
  state: ArrayBuffer[] | null = null;
  /** Its thread has ended and sends nothing any more. */
  isLeaving = false;

  constructor(number: number, front: number, { commandRing, eventRing }: FrontRings, published: number) {
    this.number = number;
    this.front = front;
    this.commands = new RingConsumer(commandRing);
    this.events = new RingProducer(eventRing);
    this.published = published;
  }
}

export class Gateways {
  readonly main: Gateway;
  readonly mainEvents: RingProducer;
  /** Main first. */
  list: readonly Gateway[];
  readonly report: Report;
  /** Index of the gateway whose ring is looked at next. */
  #turn = 0;
  #isDue: () => boolean = never;
  readonly #mayGoOn = (): boolean => this.#isDue() || this.hasCommands;

  /** @param rings of main: at its command ring the shard sleeps for the commands of all (RING-5). */
  constructor(rings: FrontRings, report: Report = () => undefined) {
    this.main = new Gateway(0, MAIN, rings, 0);
    assert(this.main.events !== null, 'gateways: main gets every event');
    this.mainEvents = this.main.events;
    this.list = [this.main];
    this.report = report;
  }

  /** GATEWAYS-2. The gateway of the next command, whose `word` is set; null when no ring has one. */
  next(): Gateway | null {
    const { list } = this;
    for (let looked = 0; looked < list.length; looked++) {
      const gateway = list[this.#turn];
      this.#turn = this.#turn + 1 === list.length ? 0 : this.#turn + 1;
      const word = gateway.commands.next();
      if (word < 0) continue;
      gateway.word = word;
      return gateway;
    }
    return null;
  }

  get hasCommands(): boolean {
    for (const { commands } of this.list) if (!commands.isEmpty()) return true;
    return false;
  }

  /** Bytes of all command rings. */
  get capacity(): number {
    let bytes = 0;
    for (const { commands } of this.list) bytes += commands.capacity;
    return bytes;
  }

  /** Sleeps until a gateway has sent a command, `isDue` holds, or time is up. @returns true if there is a command */
  waitSync(timeoutMs: number, isDue: () => boolean = never): boolean {
    if (this.list.length === 1) return this.main.commands.waitSync(timeoutMs, isDue);
    this.#isDue = isDue;
    return this.main.commands.waitSync(timeoutMs, this.#mayGoOn) || this.hasCommands;
  }

  /** @param published the position in the output from which on it gets events. */
  add(front: number, rings: FrontRings, published: number): Gateway {
    assert(front !== MAIN && this.#find(front) === undefined, 'GATEWAYS-3: a front is attached once');
    let number = 1;
    while (this.list.some((other) => other.number === number)) number++;
    assert(number < MOST_GATEWAYS, 'gateways: few fronts at a time have commands that wait');
    const gateway = new Gateway(number, front, rings, published);
    this.list = [...this.list, gateway];
    return gateway;
  }

  /** GATEWAYS-4. The thread of the front has ended. It stays in the list until `remove`: commands of it may wait. */
  leave(front: number): Gateway | undefined {
    const gateway = this.#find(front);
    if (gateway === undefined) return undefined;
    gateway.isLeaving = true;
    gateway.events = null;
    gateway.state = null;
    return gateway;
  }

  /** Removes an ended front whose commands have all run. */
  remove(gateway: Gateway): void {
    assert(gateway.isLeaving && gateway.commands.isEmpty(), 'GATEWAYS-4: every command of the front was read');
    this.list = this.list.filter((other) => other !== gateway);
    this.#turn = 0;
  }

  /** The front lags too far behind: the shard waits for no front. Main ends its thread. */
  cutOff(gateway: Gateway): void {
    assert(gateway !== this.main, 'gateways: the shard waits for main');
    gateway.events = null;
    gateway.state = null;
    this.report({ cutOff: gateway.front });
  }

  #find(front: number): Gateway | undefined {
    return this.list.find((gateway) => gateway.front === front && !gateway.isLeaving);
  }
}

function never(): boolean {
  return false;
}
