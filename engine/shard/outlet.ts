/**
 * The engine's output on its way into the event ring of the shard.
 * Owner: the shard's thread. What may leave is decided by the caller: the loop of a shard that leads (LOOP-1), or the
 * follower of one that applies rows which the log holds.
 *
 * A position is a number of words among all that the engine has ever written, so it stays the same when what has left
 * makes room.
 */
import { assert } from '../../shared/base/assert.ts';
import type { RingProducer } from '../../shared/wire/ring.ts';
import type { Engine } from '../core/engine.ts';

/** Words in the ring from which on those that have to stay move to the front: for fewer it is not worth it. */
const MOVE_WORDS = 1 << 15;

export class Outlet {
  readonly #engine: Pick<Engine, 'out' | 'state'>;
  readonly #events: RingProducer;
  /** Positions of the first word of the engine's output, and of the first one that is not in the event ring yet. */
  #start = 0;
  #published = 0;

  constructor(engine: Pick<Engine, 'out' | 'state'>, events: RingProducer) {
    this.#engine = engine;
    this.#events = events;
  }

  /** The position after all output there is. */
  get end(): number {
    return this.#start + (this.#engine.out.lengthBytes >>> 2);
  }

  /** Words that are not in the event ring yet. */
  get waitingWords(): number {
    return this.end - this.#published;
  }

  /** Copies output before `end` into the event ring as far as there is room. @returns whether that was all of it. */
  publish(end = this.end): boolean {
    const { out, state } = this.#engine;
    const { words } = out;
    const ring = this.#events;
    const before = this.#published - this.#start;
    const limit = end - this.#start;
    let from = before;
    while (from < limit) {
      const to = ring.tryClaim(words[from], 0);
      if (to < 0) break;
      const count = words[from] >>> 2;
      for (let i = 1; i < count; i++) ring.words[to + i] = words[from + i];
      from += count;
    }
    assert(from <= limit, 'loop: the output of a batch is whole records');
    // A tick at which nothing is due has no events, and should not wake the gateway.
    if (from > before) ring.publish();
    this.#published += from - before;
    this.#makeRoom(from);
    if (from < limit) return false;
    // The digest is brought up to date here, while no reply waits, and not by the command whose record gets a digest.
    state.digest.catchUp();
    return true;
  }

  /** @param words that have left. */
  #makeRoom(words: number): void {
    const { out } = this.#engine;
    const isAll = words * 4 === out.lengthBytes;
    if (!isAll && (words < MOVE_WORDS || words < this.waitingWords)) return;
    this.#start += words;
    if (isAll) out.clear();
    else out.dropFirst(words * 4);
  }
}
