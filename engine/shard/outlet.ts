/**
 * The engine's output on its way into the event rings of the gateways. Owner: the shard's thread. The caller decides
 * which output may leave: the loop of a leading shard (LOOP-1), or the follower that applies rows of the log.
 *
 * A position counts the words that the engine has ever written, so it does not change when published output is removed.
 *
 * Invariants:
 *   OUTLET-1  A gateway receives every event from its position on, in order, and only its own replies (GATEWAYS-3).
 *   OUTLET-2  A front receives the state between two batches, at its position. The state leaves the shard only once
 *             everything that precedes it is held.
 *   OUTLET-3  The shard waits for main, and for no front: output that a front has no room for stays here, and a front
 *             that is MOST_BEHIND_BYTES behind is cut off.
 *   OUTLET-4  A lagging front has whole records: the events of a record are published together, unless they take more
 *             than half of its ring. Main receives everything before a front does.
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

/** The ring buffer's remaining words are moved to its front only from this number on: for fewer it is not worth it. */
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
  /** True if a front had no room for all publishable output. */
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

  /** Words that are not in main's event ring yet. */
  get waitingWords(): number {
    return this.end - this.gateways.main.published;
  }

  /** OUTLET-2. To be called between two batches. Main gets the state of the shard once it may leave. */
  attach(front: number, rings: FrontRings): void {
    const gateway = this.gateways.add(front, rings, this.end);
    gateway.state = stateOf(this.#engine);
  }

  /** Copies output before `end` into the event rings as far as there is room. @returns true if main has all of it */
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
    // The digest is updated here, while no reply waits, instead of by the command whose record includes a digest.
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

/** True if records of this many bytes fit, including the padding of a wrap between two of them. */
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
