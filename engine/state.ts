/**
 * Everything one shard knows, in one place: what `entry.ts` looks at and `apply.ts` changes. A pure function of the
 * journal: no clock, no randomness, nothing from outside but the commands.
 * Owner: the shard thread.
 */
import type { Balances } from '../shared/balances.ts';
import { RecordBuffer } from '../shared/record.ts';
import { Digest } from './digest.ts';
import { Emitter } from './emit.ts';
import { ExpiryHeap } from './expiry.ts';
import { HashIndex } from './hashIndex.ts';
import { Ledger } from './ledger.ts';
import { Markets } from './markets.ts';
import { Matcher } from './matcher.ts';
import { Orders } from './orders.ts';

export class ShardState {
  readonly orders = new Orders();
  readonly hashes = new HashIndex();
  /** Reference hashes of deposits and withdrawals: each is applied once, for ever. */
  readonly references = new HashIndex();
  readonly markets = new Markets();
  readonly totals = { depositedMicro: 0, withdrawnMicro: 0 };
  readonly expiry: ExpiryHeap;
  readonly ledger: Ledger;
  readonly digest: Digest;
  readonly emit: Emitter;
  readonly matcher: Matcher;
  /** Number of the last accepted order; later orders have larger ones: this is time priority. */
  orderSequence = 0;

  /** The digest of everything, counters included, as two words. */
  sealedDigest(into: Uint32Array, word: number): void {
    const { digest, hashes, markets, matcher, references, totals } = this;
    for (const market of markets.all()) digest.market(market);
    const counters = [this.orderSequence, matcher.tradeSequence, hashes.size, references.size];
    digest.sealed([...counters, totals.depositedMicro, totals.withdrawnMicro], into, word);
  }

  constructor(balances: Balances, collateralCheck: boolean) {
    this.ledger = new Ledger(balances, collateralCheck);
    this.expiry = new ExpiryHeap(this.orders);
    this.digest = new Digest(this.orders, this.ledger);
    this.emit = new Emitter(new RecordBuffer(1 << 20), this.orders, this.ledger);
    this.matcher = new Matcher(
      this.orders,
      this.ledger,
      this.hashes,
      this.expiry,
      this.markets,
      this.digest,
      this.emit,
    );
  }
}
