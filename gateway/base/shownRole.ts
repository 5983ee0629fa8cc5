/**
 * The role of a member as its answers show it (RULES.md 18.4, 18.5), in memory that its gateway threads share: a front
 * shows the same role as the main thread.
 * Owner: the main gateway thread writes it, through MemberRole; fronts read.
 *
 *   buffer   version | 1 while this member leads | bytes of the leader's address | the address | asOf, 64 bits
 *
 * Invariants:
 *   SHOWNROLE-1  The version is odd while the address is being written: a reader that sees the same even version before
 *                and after has read one address.
 *   SHOWNROLE-2  A thread reads the role before it reads the data that it shows, so it never reports the data as newer
 *                than it is (ROLE-2).
 */
import { assert } from '../../shared/base/assert.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { LEASE_MS, type Replication } from '../../shared/wire/replication.ts';
import { MOST_ADDRESS_BYTES } from './clusterSettings.ts';

const VERSION = 0;
const IS_LEADING = 1;
const ADDRESS_BYTES = 2;
const ADDRESS = 3;
const ADDRESS_WORDS = MOST_ADDRESS_BYTES / 4;
const AS_OF_BYTE = (ADDRESS + ADDRESS_WORDS) * 4;
const NOT_KNOWN = -1n;

assert(AS_OF_BYTE % 8 === 0, 'cluster: a cell of 64 bits is where such cells may be');

/** The memory of a member, for its other threads. */
export type ShownRoleBuffers = { readonly role: SharedArrayBuffer; readonly replication: SharedArrayBuffer };

export class ShownRole {
  readonly #words: Int32Array;
  readonly #asOf: BigInt64Array;
  readonly #replication: Pick<Replication, 'renewedMs'>;
  readonly #ages: Clock;
  /** The address as of the version that this thread has last read or written. */
  #address: string | null = null;
  #version = 0;

  static create(): SharedArrayBuffer {
    const buffer = new SharedArrayBuffer(AS_OF_BYTE + 8);
    new BigInt64Array(buffer, AS_OF_BYTE)[0] = NOT_KNOWN;
    return buffer;
  }

  constructor(buffer: SharedArrayBuffer, replication: Pick<Replication, 'renewedMs'>, ages: Clock) {
    this.#words = new Int32Array(buffer, 0, ADDRESS + ADDRESS_WORDS);
    this.#asOf = new BigInt64Array(buffer, AS_OF_BYTE, 1);
    this.#replication = replication;
    this.#ages = ages;
  }

  get isLeading(): boolean {
    return Atomics.load(this.#words, IS_LEADING) === 1;
  }

  /** From now on this member carries out changes. */
  lead(): void {
    Atomics.store(this.#words, IS_LEADING, 1);
    this.asOfMs = null;
  }

  /** ROLE-2. Null before this member has caught up for the first time, and once it leads. */
  get asOfMs(): number | null {
    const asOf = Atomics.load(this.#asOf, 0);
    return asOf === NOT_KNOWN ? null : Number(asOf);
  }

  set asOfMs(asOfMs: number | null) {
    Atomics.store(this.#asOf, 0, asOfMs === null ? NOT_KNOWN : BigInt(Math.floor(asOfMs)));
  }

  /** Address of the leading member; null while, as far as is known, none leads. */
  get leaderAddress(): string | null {
    while (Atomics.load(this.#words, VERSION) !== this.#version) this.#read();
    return this.#address;
  }

  set leaderAddress(address: string | null) {
    const bytes = new TextEncoder().encode(address ?? '');
    assert(bytes.length <= MOST_ADDRESS_BYTES, 'cluster: the settings of a member bound its address');
    const padded = new Int32Array(Math.ceil(bytes.length / 4));
    new Uint8Array(padded.buffer).set(bytes);
    Atomics.add(this.#words, VERSION, 1);
    Atomics.store(this.#words, ADDRESS_BYTES, bytes.length);
    for (const [index, word] of padded.entries()) Atomics.store(this.#words, ADDRESS + index, word);
    this.#version = Atomics.add(this.#words, VERSION, 1) + 1;
    this.#address = address;
  }

  /** SHOWNROLE-1. Does nothing while the address is being written, which takes a moment. */
  #read(): void {
    const words = this.#words;
    const version = Atomics.load(words, VERSION);
    const length = Atomics.load(words, ADDRESS_BYTES);
    const copy = Int32Array.from({ length: Math.ceil(length / 4) }, (_, index) => Atomics.load(words, ADDRESS + index));
    if (version % 2 !== 0 || Atomics.load(words, VERSION) !== version) return;
    this.#version = version;
    this.#address = length === 0 ? null : new TextDecoder().decode(new Uint8Array(copy.buffer, 0, length));
  }

  /** Null for a leader whose lease has not ended, and before this member has caught up for the first time. */
  get staleMs(): number | null {
    if (!this.isLeading) return this.#since(this.asOfMs);
    // Rows that the log has held since then may have no answer yet, and a standby may have shown them.
    const sinceRenewalMs = this.#ages.nowMs() - this.#replication.renewedMs();
    return sinceRenewalMs > LEASE_MS ? sinceRenewalMs : null;
  }

  /** ROLE-2. The value of the header X-SVC-Role, with the header lines after it. */
  lines(asOfMs: number | null): string {
    const leads = this.isLeading && asOfMs === null;
    const staleMs = leads ? this.staleMs : this.#since(asOfMs);
    const stale = staleMs === null ? '' : `\r\nX-SVC-Stale-Ms: ${staleMs}`;
    if (leads) return `leader${stale}`;
    const { leaderAddress } = this;
    return `standby${stale}${leaderAddress === null ? '' : `\r\nX-SVC-Leader: ${leaderAddress}`}`;
  }

  #since(asOfMs: number | null): number | null {
    return asOfMs === null ? null : Math.max(0, this.#ages.nowMs() - asOfMs);
  }
}
