/**
 * Decides the subject under which an IPv6 address is counted. Usually that is its /64, which is what one customer has.
 * But the holder of a /48 has 65,536 of them, and could use a fresh quota for each request and fill any table. So once
 * PER_SITE /64s of one /48 are in use, its other /64s are counted as the /48, and once PER_PROVIDER networks of a /32
 * are in use, its others are counted as the /32.
 * Owner: the gateway thread. Fronts see which /64s are subjects of their own (sharedNetworks.ts).
 *
 * Invariants:
 *   PREFIXES-1  In one period a /48 has at most PER_SITE subjects of its own besides itself, and a /32 at most
 *               PER_PROVIDER besides itself.
 *   PREFIXES-2  At most MAX_KNOWN networks are remembered in a period; further ones are counted as their /32.
 */

import type { SharedNetworks } from './sharedNetworks.ts';

const PER_SITE = 128;
const PER_PROVIDER = 1024;
const MAX_KNOWN = 100_000;

export class Prefixes {
  /** The /64s and /48s that are subjects of their own in this period. */
  #known = new Set<string>();
  /** The number of such networks in each /48 and /32. */
  #members = new Map<string, number>();
  #startedMs = 0;
  readonly #periodMs: number;
  readonly #shown: SharedNetworks | null;

  /**
   * @param periodMs the longest window in which the subjects are counted.
   * @param shown where fronts see these networks for the same period; null if they need not
   */
  constructor(periodMs: number, shown: SharedNetworks | null = null) {
    this.#periodMs = periodMs;
    this.#shown = shown;
  }

  /** @param address an IPv4 address, or the four groups of a /64, joined with colons. */
  subjectOf(address: string, nowMs: number): string {
    if (!address.includes(':')) return address;
    if (Math.abs(nowMs - this.#startedMs) >= this.#periodMs) this.#startPeriod(nowMs);
    if (this.#known.has(address)) return address;
    const [first, second, third] = address.split(':');
    const provider = `${first}:${second}`;
    const site = `${provider}:${third}`;
    if (this.#join(address, site, PER_SITE, provider)) {
      this.#shown?.add(address);
      return address;
    }
    return this.#known.has(site) || this.#join(site, provider, PER_PROVIDER, provider) ? site : provider;
  }

  /** Makes the network a subject of its own, if its parent and its provider have space for one more. */
  #join(network: string, parent: string, most: number, provider: string): boolean {
    const ofParent = this.#members.get(parent) ?? 0;
    const ofProvider = this.#members.get(provider) ?? 0;
    if (ofParent >= most || ofProvider >= PER_PROVIDER || this.#known.size >= MAX_KNOWN) return false;
    this.#known.add(network);
    this.#members.set(provider, ofProvider + 1);
    if (parent !== provider) this.#members.set(parent, ofParent + 1);
    return true;
  }

  #startPeriod(nowMs: number): void {
    this.#known = new Set();
    this.#members = new Map();
    this.#startedMs = nowMs;
    this.#shown?.start(nowMs);
  }
}
