/**
 * The messages of main to a shard that leads. Its thread blocks in Atomics.wait, so it reads its port between two
 * batches: when it has nothing to run, and now and then under load.
 * Owner: the shard's thread.
 */
import { parentPort, receiveMessageOnPort } from 'node:worker_threads';
import type { FrontRequest, REHEARSED } from '../../shared/wire/threads.ts';
import type { ShardLoop } from './loop.ts';

export type End = 'stop' | typeof REHEARSED;

/** Batches after which the port is read even under load. */
const BATCHES_PER_LOOK = 64;

export class Requests {
  /** The message that ends the turns, once it was received. */
  end: End | null = null;
  readonly #isRehearsal: boolean;
  #batches = 0;

  constructor(isRehearsal: boolean) {
    this.#isRehearsal = isRehearsal;
  }

  /** To be called once in each turn, between two batches. @returns whether fronts have come or gone. */
  readNowAndThen(loop: ShardLoop): boolean {
    return ++this.#batches >= BATCHES_PER_LOOK && this.read(loop);
  }

  /** @returns true if fronts have come or gone */
  read(loop: ShardLoop): boolean {
    this.#batches = 0;
    let hasServed = false;
    while (this.end === null && parentPort !== null) {
      const received = receiveMessageOnPort(parentPort);
      if (received === undefined) break;
      const message: End | FrontRequest = received.message;
      if (typeof message === 'object') {
        if ('attach' in message) loop.attach(message.attach.front, message.attach.rings);
        else loop.detach(message.detach);
        hasServed = true;
      } else if (message === 'stop' || this.#isRehearsal) {
        // The rehearsal may have failed before it received its message, which then does not concern the shard.
        this.end = message;
      }
    }
    return hasServed;
  }
}
