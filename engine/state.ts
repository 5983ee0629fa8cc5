/**
 * Everything one shard knows, in one place: what `entry.ts` looks at and `apply.ts` changes. A pure function of the
 * journal: no clock, no randomness, nothing from outside but the commands.
 * Owner: the shard thread.
 */
import { assert } from '../shared/assert.ts';
import type { Balances } from '../shared/balances.ts';
import { RecordBuffer } from '../shared/record.ts';
import { Contracts } from './contracts.ts';
import { Digest } from './digest.ts';
import { Emitter } from './emit.ts';
import { ExpiryHeap } from './expiry.ts';
import type { GridResult } from './grid.ts';
import { Gross } from './gross.ts';
import { Groups } from './groups.ts';
import { HashIndex } from './hashIndex.ts';
import { Ledger } from './ledger.ts';
import { Markets } from './markets.ts';
import { Matcher } from './matcher.ts';
import { NONE, NUMBERS, Orders, PLACE_OF, WORDS } from './orders.ts';
import type { SnapshotIo } from './snapshotIo.ts';
import { Tombstones } from './tombstones.ts';

export class ShardState {
  readonly orders = new Orders();
  readonly hashes = new HashIndex();
  /** Reference hashes of deposits and withdrawals: each is applied once, for ever. */
  readonly references = new HashIndex();
  readonly markets = new Markets();
  readonly groups = new Groups();
  readonly contracts = new Contracts();
  readonly totals = { depositedMicro: 0, withdrawnMicro: 0 };
  readonly expiry: ExpiryHeap;
  readonly ledger: Ledger;
  readonly digest: Digest;
  readonly emit: Emitter;
  readonly matcher: Matcher;
  readonly tombstones: Tombstones;
  /** In a rehearsal without collateral only. */
  readonly gross: Gross | null;
  /**
   * The order of the command at hand in ticks and lots. Worked out once: live by the checks (entry.ts), at a replay,
   * where nobody checks, by `Apply.prepare`.
   */
  readonly grid: GridResult = { limitTicks: 0, quantityLots: 0 };
  /** Number of the last accepted order; later orders have larger ones: this is time priority. */
  orderSequence = 0;

  constructor(balances: Balances, collateralCheck: boolean) {
    this.ledger = new Ledger(balances, collateralCheck);
    this.gross = collateralCheck ? null : new Gross(this.ledger, balances.shards);
    this.expiry = new ExpiryHeap(this.orders);
    this.digest = new Digest(this.orders, this.ledger);
    this.emit = new Emitter(new RecordBuffer(1 << 20), this.orders, this.ledger);
    this.tombstones = new Tombstones(this.digest);
    this.matcher = new Matcher(
      this.orders,
      this.ledger,
      this.hashes,
      this.expiry,
      this.markets,
      this.groups,
      this.digest,
      this.emit,
    );
  }
  /** The digest of everything, counters included, as two words. */
  sealedDigest(into: Uint32Array, word: number): void {
    const { contracts, digest, groups, hashes, markets, matcher, references, totals } = this;
    digest.catchUp();
    markets.digestUnsealed(digest);
    for (const group of groups.unsealed) digest.group(group);
    groups.unsealed.clear();
    const counters = [this.orderSequence, matcher.tradeSequence, hashes.size, references.size];
    const rest = [totals.depositedMicro, totals.withdrawnMicro, ...contracts.facts()];
    digest.sealed([...counters, ...rest], into, word);
  }

  /** Writes or reads everything a snapshot keeps (snapshot.ts). After reading, `rebuild` makes the rest. */
  persist(io: SnapshotIo): void {
    this.orderSequence = io.number(this.orderSequence);
    this.matcher.tradeSequence = io.number(this.matcher.tradeSequence);
    this.totals.depositedMicro = io.number(this.totals.depositedMicro);
    this.totals.withdrawnMicro = io.number(this.totals.withdrawnMicro);
    this.orders.persist(io);
    this.hashes.persist(io);
    this.references.persist(io);
    this.ledger.persist(io);
    this.markets.persist(io, this.orders);
    this.groups.persist(io);
    this.contracts.persist(io);
    this.tombstones.persist(io);
  }

  /** Queues, expiry heap, places in the hash index and digest from what was read. Rows keep their places. */
  rebuild(): void {
    const { orders, digest, hashes, ledger, expiry } = this;
    const open: number[] = [];
    for (let slot = 0; slot < orders.capacity; slot++)
      if (orders.place[slot << WORDS] !== PLACE_OF.FREE) open.push(slot);
    open.sort((a, b) => orders.priorityOf(a) - orders.priorityOf(b));
    for (const slot of open) {
      const market = this.markets.get(orders.market[slot << WORDS]!);
      assert(market !== undefined, 'O1: an open order has a market');
      const isDormant = orders.place[slot << WORDS] === PLACE_OF.DORMANT;
      orders.place[slot << WORDS] = PLACE_OF.INCOMING;
      market.book.rest(slot);
      if (isDormant) market.book.sleep(slot);
      orders.heapIndex[slot << WORDS] = NONE;
      if (orders.expirationSec[slot << NUMBERS] !== 0) expiry.add(slot);
      assert(hashes.find(orders.hash, orders.hashOffset(slot)), 'O2: an open order is in the hash index');
      orders.hashEntry[slot << WORDS] = hashes.foundEntry;
      digest.order(slot);
    }
    for (let account = 0; account < ledger.accountCapacity; account++) digest.account(account);
    for (let row = 0; row < ledger.positions.count; row++) digest.position(row);
    this.gross?.rebuild();
    for (const index of [this.hashes, this.references]) {
      index.visit((words, word, account) => digest.hashAccepted(words, word, account));
    }
  }
}
