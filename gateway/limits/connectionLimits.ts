/**
 * How many connections there may be, and how fast one address may open new ones.
 * Owner: the gateway thread.
 *
 * uWebSockets.js tells from where a connection comes when it opens, and no more than that one is gone when it closes,
 * so those of an address cannot be counted. What is counted is how many it opens: one without a request lives for
 * about ten seconds, so an address that keeps to the limit holds about as many idle ones.
 */
import type { BlockList } from 'node:net';
import type { Clock } from '../../shared/clock.ts';
import { clientAddress, clientSubject } from './clientAddress.ts';
import { MemoryCounterStore } from './counterStore.ts';
import { isWithin } from './networks.ts';

export type ConnectionLimitsOptions = {
  readonly total: number;
  /** In WINDOW_SEC; null counts none. */
  readonly newPerAddress: number | null;
  /** Everybody comes through these. */
  readonly proxies: BlockList | null;
  readonly clock: Clock;
};

export const WINDOW_SEC = 10;
/** Addresses whose openings are remembered. */
const CAPACITY = 100_000;

export class ConnectionLimits {
  readonly #options: ConnectionLimitsOptions;
  readonly #opened = new MemoryCounterStore(CAPACITY);
  /** Since the start. */
  refused = 0;

  constructor(options: ConnectionLimitsOptions) {
    this.#options = options;
  }

  /** @param open how many there are, with this one. */
  admits(peer: Uint8Array, open: number): boolean {
    const isAdmitted = open <= this.#options.total && this.#mayOpen(peer);
    if (!isAdmitted) this.refused++;
    return isAdmitted;
  }

  #mayOpen(peer: Uint8Array): boolean {
    const { newPerAddress, proxies, clock } = this.#options;
    if (newPerAddress === null || (proxies !== null && isWithin(proxies, clientAddress(peer, '', null)))) return true;
    const limit = { requests: newPerAddress, windowSec: WINDOW_SEC };
    const count = this.#opened.take(clientSubject(peer, '', null), limit, clock.nowMs());
    // Only a store elsewhere can be out of reach.
    return count === 'unavailable' || count.allowed;
  }
}
