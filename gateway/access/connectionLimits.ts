/**
 * The rules for opening and keeping connections. While there is room for everyone, only the rate at which one address
 * opens connections is limited. The fuller it gets, the stricter the rules:
 *
 *   taken            who may open one                          what happens to those that are open
 *   up to half       everyone                                  nothing
 *   over half        an address with fewer than CONNECTIONS_   one whose request is not signed, or whose address has
 *   (crowded)        PER_IP                                    more than that, ends with its answer; one without any
 *                                                              request ends after two seconds
 *   the last tenth   of these, an address from which a valid   WebSockets without a key end, the youngest first
 *   (scarce)         signature has come
 *
 * An address's open connections are the operating system's last count (socketTable.ts) plus all that it has opened
 * since that count began: never too few. Trusted proxies, which many clients share, are limited only by the total.
 * Owner: the gateway thread.
 *
 * Invariant:
 *   CONNLIMIT-1  While a count is under way, openings are noted both for the count before it and for the new one.
 */
import type { BlockList } from 'node:net';
import type { Clock } from '../../shared/base/clock.ts';
import { clientAddress, peerSubject } from '../base/clientAddress.ts';
import { isWithin } from '../base/networks.ts';
import { MemoryCounterStore } from './counterStore.ts';
import { SignedAddresses } from './signedAddresses.ts';
import type { Holders } from './socketTable.ts';

type ConnectionLimitsOptions = {
  readonly total: number;
  /** Null if neither the number of an address's connections nor the rate at which it opens them is limited. */
  readonly perAddress: { readonly open: number; readonly newInWindow: number } | null;
  /** Trusted proxies, which all clients share. */
  readonly proxies: BlockList | null;
  /** Open connections by subject; null where they cannot be counted. */
  readonly holders: (port: number) => Promise<Holders | null>;
  readonly clock: Clock;
};

/** The senders of requests whose connections stay open after the answer. */
export type KeptFor = 'everyone' | 'signers' | 'nobody';

export const WINDOW_SEC = 10;
/** Addresses whose new connections are counted. */
const CAPACITY = 100_000;
/** Counting begins before the connections are half taken, so that the first count is there by then. */
const WATCHED_SHARE = 3 / 8;
const CROWDED_SHARE = 1 / 2;
const RESERVED_SHARE = 1 / 10;
/** The minimum time between two counts, and the minimum multiple of the last count's duration. */
const COUNT_EVERY_MS = 250;
const REST_TIMES = 10;
const NO_HOLDERS: Holders = new Map();

export class ConnectionLimits {
  readonly signed = new SignedAddresses();
  readonly #options: ConnectionLimitsOptions;
  readonly #opened = new MemoryCounterStore(CAPACITY);
  /** The last count, and the connections opened since it began. */
  #held: Holders = NO_HOLDERS;
  #openedSince = new Map<string, number>();
  /** Null while no count is under way. */
  #openedSinceNext: Map<string, number> | null = null;
  /** No count begins before this. */
  #nextCountMs = Number.NEGATIVE_INFINITY;
  #open = 0;
  /** Connections that were closed at once, since the start. */
  refused = 0;

  constructor(options: ConnectionLimitsOptions) {
    this.#options = options;
  }

  get most(): number {
    return this.#options.total;
  }

  /** More than half of all connections are taken. */
  get isCrowded(): boolean {
    const { perAddress, total } = this.#options;
    return perAddress !== null && this.#open > total * CROWDED_SHARE;
  }

  /** Connections beyond those that are free for everyone. */
  get excess(): number {
    const { perAddress, total } = this.#options;
    return perAddress === null ? 0 : Math.max(this.#open - (total - Math.floor(total * RESERVED_SHARE)), 0);
  }

  /** @param open the number of connections, with this one. */
  admits(peer: Uint8Array, open: number): boolean {
    this.#open = open;
    const isAdmitted = open <= this.#options.total && this.#mayOpen(peer);
    if (!isAdmitted) this.refused++;
    return isAdmitted;
  }

  /** A connection has been closed. */
  closed(open: number): void {
    this.#open = open;
  }

  /** Called while the connections are crowded. */
  keptFor(peer: Uint8Array): KeptFor {
    if (this.#isProxy(peer)) return 'everyone';
    return this.#heldBy(peerSubject(peer)) > this.#options.perAddress!.open ? 'nobody' : 'signers';
  }

  /** A proxy's connections are not looked at one by one. */
  isShared(peer: Uint8Array): boolean {
    return this.#isProxy(peer);
  }

  /** Counts the connections of the port again when it is time. Resolves when that has been done. */
  async tick(port: number): Promise<void> {
    const { perAddress, total, clock, holders } = this.#options;
    if (perAddress === null || this.#openedSinceNext !== null) return;
    if (this.#open <= total * WATCHED_SHARE) {
      this.#held = NO_HOLDERS;
      this.#openedSince.clear();
      return;
    }
    const startedMs = clock.nowMs();
    if (startedMs < this.#nextCountMs) return;
    const openedSince = new Map<string, number>();
    this.#openedSinceNext = openedSince;
    const held = await holders(port);
    this.#openedSinceNext = null;
    const tookMs = clock.nowMs() - startedMs;
    this.#nextCountMs = startedMs + Math.max(COUNT_EVERY_MS, REST_TIMES * tookMs);
    // If nothing can be counted, an address may open this many between two counts.
    this.#held = held ?? NO_HOLDERS;
    this.#openedSince = openedSince;
  }

  #mayOpen(peer: Uint8Array): boolean {
    const { perAddress, total } = this.#options;
    if (perAddress === null || this.#isProxy(peer)) return true;
    const subject = peerSubject(peer);
    if (!this.#isSlowEnough(subject, perAddress.newInWindow)) return false;
    if (this.isCrowded && this.#heldBy(subject) >= perAddress.open) return false;
    if (this.excess > 0 && !this.signed.has(subject)) return false;
    if (this.#open > total * WATCHED_SHARE) this.#noteOpened(subject);
    return true;
  }

  #isSlowEnough(subject: string, newInWindow: number): boolean {
    const limit = { requests: newInWindow, windowSec: WINDOW_SEC };
    return this.#opened.count(subject, limit, this.#options.clock.nowMs()).allowed;
  }

  #heldBy(subject: string): number {
    return (this.#held.get(subject) ?? 0) + (this.#openedSince.get(subject) ?? 0);
  }

  /** CONNLIMIT-1. */
  #noteOpened(subject: string): void {
    for (const opened of [this.#openedSince, this.#openedSinceNext]) {
      opened?.set(subject, (opened.get(subject) ?? 0) + 1);
    }
  }

  #isProxy(peer: Uint8Array): boolean {
    const { proxies } = this.#options;
    return proxies !== null && isWithin(proxies, clientAddress(peer, '', null));
  }
}
