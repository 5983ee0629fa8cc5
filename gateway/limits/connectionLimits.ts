/**
 * Limits the number of connections, and the rate at which one address opens new ones. Owner: the gateway thread.
 *
 * uWebSockets.js reports the address of a connection when it opens, but not when it closes, so the open connections of
 * an address cannot be counted. The new ones are counted instead: a connection without a request lives for about ten
 * seconds, so an address within the limit holds about as many idle ones.
 */
import type { BlockList } from 'node:net';
import type { Clock } from '../../shared/base/clock.ts';
import { isWithin } from '../process/networks.ts';
import { clientAddress, clientSubject } from './clientAddress.ts';
import { MemoryCounterStore } from './counterStore.ts';

type ConnectionLimitsOptions = {
  readonly total: number;
  /** New connections of an address in WINDOW_SEC; null for no limit. */
  readonly newPerAddress: number | null;
  /** Trusted proxies, which all clients share. */
  readonly proxies: BlockList | null;
  readonly clock: Clock;
};

export const WINDOW_SEC = 10;
/** Addresses whose new connections are counted. */
const CAPACITY = 100_000;

export class ConnectionLimits {
  readonly #options: ConnectionLimitsOptions;
  readonly #opened = new MemoryCounterStore(CAPACITY);
  /** Connections that were closed at once, since the start. */
  refused = 0;

  constructor(options: ConnectionLimitsOptions) {
    this.#options = options;
  }

  /** @param open the number of connections, with this one. */
  admits(peer: Uint8Array, open: number): boolean {
    const isAdmitted = open <= this.#options.total && this.#mayOpen(peer);
    if (!isAdmitted) this.refused++;
    return isAdmitted;
  }

  #mayOpen(peer: Uint8Array): boolean {
    const { newPerAddress, proxies, clock } = this.#options;
    if (newPerAddress === null || (proxies !== null && isWithin(proxies, clientAddress(peer, '', null)))) return true;
    const limit = { requests: newPerAddress, windowSec: WINDOW_SEC };
    return this.#opened.count(clientSubject(peer, '', null), limit, clock.nowMs()).allowed;
  }
}
