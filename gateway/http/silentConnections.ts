/**
 * Tracks connections that were opened in a crowd (access/connectionLimits.ts) and have not sent a request. They are
 * closed after two seconds instead of the ten of uWebSockets.js.
 * Owner: the gateway thread.
 *
 * Invariant:
 *   SILENT-1  A response in this set belongs to an open connection without a request so far. uWebSockets.js calls its
 *             abort handler when the connection closes, and the first request replaces that handler. It is unknown on
 *             which connection a request came, so a request removes all connections of its address.
 */
import type { HttpResponse } from 'uWebSockets.js';

type Silent = { readonly address: string; readonly response: HttpResponse; readonly openedMs: number };

const SILENT_CLOSE_MS = 2000;

export class SilentConnections {
  /** In the order in which they opened. */
  readonly #all = new Set<Silent>();
  readonly #byAddress = new Map<string, Set<Silent>>();

  get size(): number {
    return this.#all.size;
  }

  opened(address: string, response: HttpResponse, openedMs: number): void {
    const silent = { address, response, openedMs };
    this.#all.add(silent);
    const ofAddress = this.#byAddress.get(address) ?? new Set();
    this.#byAddress.set(address, ofAddress.add(silent));
    response.onAborted(() => this.#forget(silent));
  }

  /** A request has come from this address; the empty text stands for an address that is no longer known. */
  spoke(address: string): void {
    if (address === '') this.clear();
    for (const silent of this.#byAddress.get(address) ?? []) this.#all.delete(silent);
    this.#byAddress.delete(address);
  }

  closeOld(nowMs: number): void {
    for (const silent of this.#all) {
      if (nowMs - silent.openedMs < SILENT_CLOSE_MS) break;
      // The abort handler removes it.
      silent.response.close();
    }
  }

  clear(): void {
    this.#all.clear();
    this.#byAddress.clear();
  }

  #forget(silent: Silent): void {
    this.#all.delete(silent);
    const ofAddress = this.#byAddress.get(silent.address);
    ofAddress?.delete(silent);
    if (ofAddress?.size === 0) this.#byAddress.delete(silent.address);
  }
}
