/**
 * The money of one shard: USDC per account, outcome tokens per account and market, every movement with two ends.
 * Owner: the shard thread, except the available-USDC cells that all shards share (balances.ts).
 *
 * Units: micro-USDC and atomic tokens, safe integers.
 *
 * Invariants (walked by core/invariants.ts):
 *   LEDGER-1  The sum of netMicro + reservedMicro over all accounts, plus collateralMicro over all markets, equals
 *             deposits less withdrawals: every movement has two ends.
 *   LEDGER-2  reservedMicro of an account is the sum over its open BUY orders of remainingLots * limitTicks.
 *   LEDGER-3  netMicro is the amount that this shard added to (or took from) the account's available USDC; the shared
 *             cell is the sum of all shards' nets, less credits whose record is not held yet.
 *
 * A debit leaves the shared cell at once. A credit waits in `pending` until `releaseCredits`, which the shard calls
 * after the commit (BALANCES-1 in shared/wire/balances.ts). The shard itself may spend a pending credit at once: its
 * spending commits together with it or later.
 *
 * In a cluster, the log holds a batch some time after its commit, and the next batches run meanwhile. `sealCredits`
 * sets the credits of a batch apart, and `releaseSealed` releases them in the order of the batches (sealedCredits.ts).
 * The shard itself may spend sealed credits in later batches, because the log holds those batches later.
 */
import { assert } from '../../shared/base/assert.ts';
import { addSafe } from '../../shared/base/int.ts';
import type { Balances } from '../../shared/wire/balances.ts';
import { extend } from '../base/columns.ts';
import type { SnapshotIo } from '../base/snapshotIo.ts';
import { Positions } from './positions.ts';
import { SealedCredits } from './sealedCredits.ts';

/** The reserved funds of an order: micro-USDC, or atomic tokens. */
type Reservation = { readonly reservation: number };

export class Ledger {
  readonly positions = new Positions();
  netMicro: Float64Array = new Float64Array(64);
  reservedMicro: Float64Array = new Float64Array(64);
  /** The accounts and position rows that the current command touched, for the ACCOUNT events. */
  touchedAccounts = new Uint32Array(64);
  touchedAccountCount = 0;
  touchedRows = new Uint32Array(64);
  touchedRowCount = 0;

  readonly #balances: Balances;
  readonly #collateralCheck: boolean;
  /** False while a journal is replayed: its commands were accepted, and the shared cells are set at the end. */
  #live = false;
  #pendingMicro: Float64Array = new Float64Array(64);
  #pendingAccounts = new Uint32Array(64);
  #pendingCount = 0;
  /** Null outside of a cluster, where nothing is ever sealed. */
  #sealed: SealedCredits | null = null;
  #touched: Float64Array = new Float64Array(64);
  /** Number of the command that last touched one of the account's positions. */
  #touchedRowOf: Float64Array = new Float64Array(64);
  #commandNumber = 1;

  constructor(balances: Balances, collateralCheck: boolean) {
    this.#balances = balances;
    this.#collateralCheck = collateralCheck;
  }

  /**
   * Ends the replay: writes the computed nets into the shared cells, and from then on a debit succeeds only if its USDC
   * is in the cell.
   */
  goLive(): void {
    assert(!this.#live, 'LEDGER-3: a ledger goes live once');
    assert(this.#pendingCount === 0, 'LEDGER-3: no credit is pending before a ledger is live');
    this.#balances.restore(this.netMicro);
    this.#live = true;
  }

  /** Sets what an account has in a state that is being made, before it goes live. */
  give(account: number, netMicro: number, reservedMicro: number): void {
    assert(!this.#live, 'LEDGER-3: only a movement changes a ledger that is live');
    this.#ensureAccount(account);
    this.netMicro[account] = netMicro;
    this.reservedMicro[account] = reservedMicro;
  }

  /** USDC that the account could reserve right now, as seen from this shard. */
  availableMicro(account: number): number {
    const pending = account < this.#pendingMicro.length ? this.#pendingMicro[account] : 0;
    const sealed = this.#sealed === null ? 0 : this.#sealed.of(account);
    return this.#balances.availableMicro(account) + pending + sealed;
  }

  /**
   * Returns true if the account could reserve this after `freed` was given back to it. The amounts are computed inside:
   * if V8 does not inline a function, a large number that it returns is a new object.
   */
  coversMicro(account: number, { reservation }: Reservation, freed: number): boolean {
    return this.availableMicro(account) + freed >= reservation;
  }

  /** The same for tokens. */
  coversTokens(account: number, market: number, outcome: number, { reservation }: Reservation, freed: number): boolean {
    return this.availableTokens(account, market, outcome) + freed >= reservation;
  }

  reservedOf(account: number): number {
    return account < this.reservedMicro.length ? this.reservedMicro[account] : 0;
  }

  /**
   * Moves USDC from available to reserved. During a replay this always succeeds, because the command was accepted.
   * @returns false, with nothing changed, if the USDC is not available (perhaps because another shard was faster).
   */
  tryReserve(account: number, micro: number): boolean {
    if (!this.#tryDebit(account, micro, this.#collateralCheck)) return false;
    this.reservedMicro[account] = addSafe(this.reservedMicro[account], micro);
    return true;
  }

  /**
   * Debits USDC permanently, for a withdrawal or a split. Such a debit never overdraws, whatever the collateral check
   * says.
   */
  tryDebit(account: number, micro: number): boolean {
    return this.#tryDebit(account, micro, true);
  }

  /** Debits the USDC that a holder of negative tokens owes. Only trading without collateral makes such holders. */
  collect(account: number, micro: number): void {
    const isDebited = this.#tryDebit(account, micro, false);
    assert(isDebited, 'LEDGER-1: an unchecked debit always succeeds');
  }

  credit(account: number, micro: number): void {
    assert(micro >= 0, 'LEDGER-1: a credit is not negative');
    if (micro === 0) return;
    this.#touchAccount(account);
    this.netMicro[account] = addSafe(this.netMicro[account], micro);
    if (!this.#live) return;
    if (this.#pendingMicro[account] === 0) {
      if (this.#pendingCount === this.#pendingAccounts.length) {
        this.#pendingAccounts = extend(this.#pendingAccounts, new Uint32Array(this.#pendingCount * 2));
      }
      this.#pendingAccounts[this.#pendingCount++] = account;
    }
    this.#pendingMicro[account] = addSafe(this.#pendingMicro[account], micro);
  }

  /** Moves reserved USDC back to available. */
  release(account: number, micro: number): void {
    this.spendReserved(account, micro);
    this.credit(account, micro);
  }

  /** Takes reserved USDC from the account; the caller writes the other end of the movement. */
  spendReserved(account: number, micro: number): void {
    assert(micro >= 0, 'LEDGER-2: an amount that is spent is not negative');
    this.#touchAccount(account);
    const left = this.reservedMicro[account] - micro;
    assert(left >= 0, 'LEDGER-2: no more is spent than was reserved');
    this.reservedMicro[account] = left;
  }

  availableTokens(account: number, market: number, outcome: number): number {
    const row = this.positions.find(account, market);
    return row < 0 ? 0 : this.positions.available[row * 2 + outcome];
  }

  reservedTokens(account: number, market: number, outcome: number): number {
    const row = this.positions.find(account, market);
    return row < 0 ? 0 : this.positions.reserved[row * 2 + outcome];
  }

  reserveTokens(account: number, market: number, outcome: number, atomic: number): void {
    const cell = this.#touchRow(account, market) * 2 + outcome;
    const { available, reserved } = this.positions;
    assert(atomic > 0, 'POSITIONS-1: tokens that are reserved are some');
    assert(
      available[cell] >= atomic || !this.#live || !this.#collateralCheck,
      'POSITIONS-2: tokens are there to reserve',
    );
    available[cell] = addSafe(available[cell], -atomic);
    reserved[cell] = addSafe(reserved[cell], atomic);
  }

  releaseTokens(account: number, market: number, outcome: number, atomic: number): void {
    const cell = this.#touchRow(account, market) * 2 + outcome;
    const { available, reserved } = this.positions;
    assert(atomic >= 0, 'POSITIONS-1: tokens that are released are not negative');
    const left = reserved[cell] - atomic;
    assert(left >= 0, 'POSITIONS-1: no more tokens are released than were reserved');
    reserved[cell] = left;
    available[cell] = addSafe(available[cell], atomic);
  }

  spendReservedTokens(account: number, market: number, outcome: number, atomic: number): void {
    const cell = this.#touchRow(account, market) * 2 + outcome;
    assert(atomic >= 0, 'POSITIONS-1: tokens that are spent are not negative');
    const left = this.positions.reserved[cell] - atomic;
    assert(left >= 0, 'POSITIONS-1: no more tokens are spent than were reserved');
    this.positions.reserved[cell] = left;
  }

  /** Adds to available tokens; a negative number takes from them. */
  addTokens(account: number, market: number, outcome: number, atomic: number): void {
    if (atomic === 0) return;
    assert(outcome === 0 || outcome === 1, 'POSITIONS-1: a market has two outcomes');
    const cell = this.#touchRow(account, market) * 2 + outcome;
    this.positions.available[cell] = addSafe(this.positions.available[cell], atomic);
  }

  /**
   * Returns true if the current command touched one of the account's positions: the position's event contains the
   * account's USDC too.
   */
  hasTouchedRow(account: number): boolean {
    return this.#touchedRowOf[account] === this.#commandNumber;
  }

  /** Starts the lists of accounts and rows that the next command touches. */
  startCommand(): void {
    this.#commandNumber++;
    this.touchedAccountCount = 0;
    this.touchedRowCount = 0;
  }

  /** Called after the commit: credits become visible to the other shards. */
  releaseCredits(): void {
    for (let i = 0; i < this.#pendingCount; i++) {
      const account = this.#pendingAccounts[i];
      const micro = this.#pendingMicro[account];
      this.#pendingMicro[account] = 0;
      assert(micro >= 0, 'LEDGER-3: no more is spent of a pending credit than there is');
      if (micro > 0) this.#balances.credit(account, micro);
    }
    this.#pendingCount = 0;
  }

  /**
   * Sets the credits of the batch apart until the log holds its records.
   * @returns the number of all credits ever sealed, for `releaseSealed`.
   */
  sealCredits(): number {
    this.#sealed ??= new SealedCredits();
    const sealed = this.#sealed;
    for (let i = 0; i < this.#pendingCount; i++) {
      const account = this.#pendingAccounts[i];
      const micro = this.#pendingMicro[account];
      this.#pendingMicro[account] = 0;
      assert(micro >= 0, 'LEDGER-3: no more is spent of a pending credit than there is');
      if (micro > 0) sealed.push(account, micro);
    }
    this.#pendingCount = 0;
    return sealed.end;
  }

  /** Makes credits visible to the other shards, up to a number that `sealCredits` has returned. */
  releaseSealed(end: number): void {
    this.#sealed?.release(end, this.#balances);
  }

  /** The number of accounts for which the columns have room. */
  get accountCapacity(): number {
    return this.netMicro.length;
  }

  /** Asserts that no reservation and no pending credit is negative. */
  validate(): void {
    const { count, reserved } = this.positions;
    this.positions.validate();
    this.#sealed?.validate();
    for (let account = 0; account < this.accountCapacity; account++) {
      assert(this.reservedMicro[account] >= 0, 'LEDGER-2: a reservation is not negative');
      assert(this.#pendingMicro[account] >= 0, 'LEDGER-3: a pending credit is not negative');
    }
    for (let cell = 0; cell < count * 2; cell++) {
      assert(reserved[cell] >= 0, 'POSITIONS-1: reserved tokens are not negative');
    }
  }

  /** Call only between batches, when no credit is pending. */
  persist(io: SnapshotIo): void {
    const isReleased = this.#pendingCount === 0 && (this.#sealed === null || this.#sealed.isEmpty);
    assert(isReleased, 'LEDGER-3: credits are released before the state is kept');
    this.netMicro = io.f64(this.netMicro);
    this.reservedMicro = io.f64(this.reservedMicro);
    const n = this.netMicro.length;
    this.#pendingMicro = new Float64Array(n);
    this.#touched = new Float64Array(n);
    this.#touchedRowOf = new Float64Array(n);
    this.positions.persist(io);
  }

  #tryDebit(account: number, micro: number, checked: boolean): boolean {
    assert(micro >= 0, 'LEDGER-1: a debit is not negative');
    this.#ensureAccount(account);
    if (this.#live) {
      const fromPending = Math.min(this.#pendingMicro[account], micro);
      const fromSealed = this.#sealed === null ? 0 : Math.min(this.#sealed.of(account), micro - fromPending);
      const fromCell = micro - fromPending - fromSealed;
      if (fromCell > 0) {
        if (!checked) this.#balances.debit(account, fromCell);
        else if (!this.#balances.tryDebit(account, fromCell)) return false;
      }
      // The account stays in the pending list even at zero; `releaseCredits` skips it.
      this.#pendingMicro[account] = this.#pendingMicro[account] - fromPending;
      if (fromSealed > 0) this.#sealed?.spend(account, fromSealed);
    }
    this.#touchAccount(account);
    this.netMicro[account] = addSafe(this.netMicro[account], -micro);
    return true;
  }

  #touchAccount(account: number): void {
    this.#ensureAccount(account);
    if (this.#touched[account] === this.#commandNumber) return;
    this.#touched[account] = this.#commandNumber;
    if (this.touchedAccountCount === this.touchedAccounts.length) {
      this.touchedAccounts = extend(this.touchedAccounts, new Uint32Array(this.touchedAccountCount * 2));
    }
    this.touchedAccounts[this.touchedAccountCount++] = account;
  }

  #touchRow(account: number, market: number): number {
    this.#ensureAccount(account);
    const row = this.positions.rowOf(account, market);
    if (this.positions.touched[row] === this.#commandNumber) return row;
    this.positions.touched[row] = this.#commandNumber;
    if (this.touchedRowCount === this.touchedRows.length) {
      this.touchedRows = extend(this.touchedRows, new Uint32Array(this.touchedRowCount * 2));
    }
    this.touchedRows[this.touchedRowCount++] = row;
    this.#touchedRowOf[account] = this.#commandNumber;
    return row;
  }

  #ensureAccount(account: number): void {
    if (account < this.netMicro.length) return;
    let n = this.netMicro.length * 2;
    while (n <= account) n *= 2;
    this.netMicro = extend(this.netMicro, new Float64Array(n));
    this.reservedMicro = extend(this.reservedMicro, new Float64Array(n));
    this.#pendingMicro = extend(this.#pendingMicro, new Float64Array(n));
    this.#touched = extend(this.#touched, new Float64Array(n));
    this.#touchedRowOf = extend(this.#touchedRowOf, new Float64Array(n));
  }
}
