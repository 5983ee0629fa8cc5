/** The idempotency keys in flight. Owner: the gateway thread; they are only in memory, so a crash leaves none. */

/** `sinceMs`: when the request started. */
type KeyInFlight = { readonly fingerprint: Uint8Array; readonly sinceMs: number };

export class KeysInFlight {
  /** By account, route and key. */
  readonly #keys = new Map<string, KeyInFlight>();

  find(slot: string): KeyInFlight | undefined {
    return this.#keys.get(slot);
  }

  add(slot: string, key: KeyInFlight): void {
    this.#keys.set(slot, key);
  }

  /** @returns false when the key was not in flight. */
  remove(slot: string): boolean {
    return this.#keys.delete(slot);
  }

  /** The start of the oldest request with a key, or `nowMs` when there is none. */
  oldestMs(nowMs: number): number {
    let oldestMs = nowMs;
    for (const { sinceMs } of this.#keys.values()) oldestMs = Math.min(oldestMs, sinceMs);
    return oldestMs;
  }
}
