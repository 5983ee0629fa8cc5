/**
 * The API keys in use: a bounded number of those used last, and every key that something else still refers to, such as
 * an open connection. So a key has one object for as long as anything compares it.
 * Owner: the gateway thread.
 */
const MOST_OF_GENERATION = 50_000;

export class KeptKeys<Key extends object> {
  readonly #most: number;
  readonly #all = new Map<string, WeakRef<Key>>();
  readonly #collected = new FinalizationRegistry<string>((keyId) => this.#forget(keyId));
  /** Strong references: once the newer generation is full it becomes the older one. */
  #newer = new Map<string, Key>();
  #older = new Map<string, Key>();

  constructor(most = MOST_OF_GENERATION) {
    this.#most = most;
  }

  get(keyId: string): Key | undefined {
    const newer = this.#newer.get(keyId);
    if (newer !== undefined) return newer;
    const key = this.#all.get(keyId)?.deref();
    if (key !== undefined) this.#use(keyId, key);
    return key;
  }

  /** Takes the place of a key with this id. */
  set(keyId: string, key: Key): void {
    this.#older.delete(keyId);
    this.#use(keyId, key);
    this.#all.set(keyId, new WeakRef(key));
    this.#collected.register(key, keyId);
  }

  #use(keyId: string, key: Key): void {
    if (this.#newer.size >= this.#most) {
      this.#older = this.#newer;
      this.#newer = new Map();
    }
    this.#newer.set(keyId, key);
  }

  /** Unless another object has taken its place. */
  #forget(keyId: string): void {
    if (this.#all.get(keyId)?.deref() === undefined) this.#all.delete(keyId);
  }
}
