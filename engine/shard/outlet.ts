/**
 * The engine's output on its way into the event rings of the gateways.
 * Owner: the shard's thread. What may leave is decided by the caller: the loop of a shard that leads (LOOP-1), or the
 * follower of one that applies rows which the log holds.
 *
 * A position is a number of words among all that the engine has ever written, so it stays the same when what has left
 * makes room.
 *
 * Invariants:
 *   OUTLET-1  A gateway gets every event from its position on, in order, and of the replies its own (GATEWAYS-3).
 *   OUTLET-2  The state that a front gets is that between two batches, at its position. Like what precedes it, it
 *             leaves the shard only when that is held.
 *   OUTLET-3  The shard waits for main, and for no front: output that a front has no room for stays here, and a front
 *             that is MOST_BEHIND_BYTES behind is cut off.
 *   OUTLET-4  A front that is behind has whole records: the events of one are published together, unless they take more
 *             than half of its ring. Main gets everything before a front does.
 */
import { assert } from '../../shared/base/assert.ts';
import * as events from '../../shared/wire/events.ts';
import { RecordBuffer } from '../../shared/wire/record.ts';
import type { RingProducer } from '../../shared/wire/ring.ts';
import type { FrontRings } from '../../shared/wire/threads.ts';
import type { Engine } from '../core/engine.ts';
import type { Gateway, Gateways } from './gateways.ts';

const { ANY_EVENT, EVENT, typeOf } = events;
const { RECORD, REPLY } = EVENT;

/** Words in the ring from which on those that have to stay move to the front: for fewer it is not worth it. */
const MOVE_WORDS = 1 << 15;
/** OUTLET-3. Some seconds of events at full load, beside those in the ring. */
const MOST_BEHIND_BYTES = 64 * 1024 * 1024;
/** Longer than any event. */
const MOST_PADDING_BYTES = 1024;
/** Of the buffer from which the pieces of a state are cut. */
const STATE_BYTES = 1 << 20;

type DescribedEngine = Pick<Engine, 'describe' | 'out' | 'state'>;

export class Outlet {
  readonly gateways: Gateways;
  readonly #engine: DescribedEngine;
  readonly #mostBehindBytes: number;
  /** Position of the first word of the engine's output. */
  #start = 0;
  /** A front had no room for all that may leave. */
  isBehind = false;

  constructor(engine: DescribedEngine, gateways: Gateways, mostBehindBytes = MOST_BEHIND_BYTES) {
    this.#engine = engine;
    this.gateways = gateways;
    this.#mostBehindBytes = mostBehindBytes;
  }

  /** The position after all output there is. */
  get end(): number {
    return this.#start + (this.#engine.out.lengthBytes >>> 2);
  }

  /** Words that are not in the event ring of main yet. */
  get waitingWords(): number {
    return this.end - this.gateways.main.published;
  }

  /** OUTLET-2. To be called between two batches. Main gets the state of the shard once it may leave. */
  attach(front: number, rings: FrontRings): void {
    const gateway = this.gateways.add(front, rings, this.end);
    gateway.state = stateOf(this.#engine);
  }

  /**
   * Copies output before `end` into the event rings as far as there is room.
   * @returns whether main has got all of it.
   */
  publish(end = this.end): boolean {
    assert(end <= this.end, 'OUTLET-1: the output of a batch is whole records');
    const { list, main } = this.gateways;
    let published = this.end;
    this.isBehind = false;
    for (const gateway of list) {
      if (gateway.events === null) continue;
      if (gateway.published <= end) this.#publishTo(gateway, gateway.events, end);
      if (gateway !== main && gateway.published < end) this.#leaveBehind(gateway, end);
      if (gateway.events !== null && gateway.published < published) published = gateway.published;
    }
    this.#makeRoom(published - this.#start);
    if (main.published < end) return false;
    // The digest is brought up to date here, while no reply waits, and not by the command whose record gets a digest.
    this.#engine.state.digest.catchUp();
    return true;
  }

  #publishTo(gateway: Gateway, ring: RingProducer, end: number): void {
    if (gateway.state !== null) this.#sendState(gateway, gateway.state);
    const { words } = this.#engine.out;
    const { number } = gateway;
    const before = gateway.published - this.#start;
    const limit = end - this.#start;
    // Words of records that fit, for a front that has not got room for all of them.
    let wholeTo = gateway === this.gateways.main || fits(ring, (limit - before) * 4) ? limit : before;
    let from = before;
    let hasWritten = false;
    while (from < limit) {
      if (from >= wholeTo) {
        // OUTLET-4.
        wholeTo = this.#endOfRecord(from, limit);
        const bytes = (wholeTo - from) * 4;
        if (bytes * 2 <= ring.capacity && !fits(ring, bytes)) break;
      }
      const count = words[from] >>> 2;
      const isForOthers = typeOf(words[from + ANY_EVENT.type]) === REPLY.TYPE && words[from + REPLY.gateway] !== number;
      if (!isForOthers) {
        const to = ring.tryClaim(words[from], 0);
        if (to < 0) break;
        for (let i = 1; i < count; i++) ring.words[to + i] = words[from + i];
        hasWritten = true;
      }
      from += count;
    }
    assert(from <= limit, 'OUTLET-1: the output of a batch is whole records');
    // A tick at which nothing is due has no events, and should not wake the gateway.
    if (hasWritten) ring.publish();
    gateway.published += from - before;
  }

  /** The end of the events from a word on that belong to the same record, with the replies before the next one. */
  #endOfRecord(from: number, limit: number): number {
    const { words } = this.#engine.out;
    let end = from + (words[from] >>> 2);
    while (end < limit && typeOf(words[end + ANY_EVENT.type]) !== RECORD.TYPE) end += words[end] >>> 2;
    return end;
  }

  #sendState(gateway: Gateway, state: ArrayBuffer[]): void {
    gateway.state = null;
    this.gateways.report({ attached: gateway.front, state }, state);
  }

  /** OUTLET-3. */
  #leaveBehind(gateway: Gateway, end: number): void {
    if ((end - gateway.published) * 4 > this.#mostBehindBytes) this.gateways.cutOff(gateway);
    else this.isBehind = true;
  }

  /** @param words that have left for every gateway. */
  #makeRoom(words: number): void {
    const { out } = this.#engine;
    const waitingWords = (out.lengthBytes >>> 2) - words;
    if (waitingWords > 0 && (words < MOVE_WORDS || words < waitingWords)) return;
    this.#start += words;
    if (waitingWords === 0) out.clear();
    else out.dropFirst(words * 4);
  }
}

/** True if records of so many bytes find room, with the padding of a wrap between two of them. */
function fits(ring: RingProducer, bytes: number): boolean {
  return ring.capacity - ring.usedBytes() >= bytes + MOST_PADDING_BYTES;
}

/** The whole state in pieces, which are handed to main as they are, and from there to the front. */
function stateOf(engine: DescribedEngine): ArrayBuffer[] {
  const out = new RecordBuffer(STATE_BYTES);
  const pieces: ArrayBuffer[] = [];
  engine.describe(() => {
    pieces.push(out.bytes.slice(0, out.lengthBytes).buffer);
    out.clear();
  }, out);
  return pieces;
}
