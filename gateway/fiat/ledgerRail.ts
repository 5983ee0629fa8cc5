/**
 * The rail in the exchange's books, which simulate an EIP-3009 token. A wallet's USDC is its account's available
 * balance, a block is a tick of the clock, and a transaction is a row that is durable before it has any effect. Owner:
 * the gateway thread.
 *
 *   pending ──block──► included, durable ──debit, once by (from, nonce)──► mined ──32 blocks──► credited
 *                          └──────────── the books refuse ──────────────► reverted
 *
 * Invariants:
 *   LEDGERRAIL-1  The debit's reference names (from, nonce) and the credit's the transaction or its session, so the
 *                 books carry out each once, over every crash and repetition.
 *   LEDGERRAIL-2  A block is final once no transaction that could be in it is undecided: `finalizedBlock` stays below
 *                 every undecided included transaction. A block is never reverted.
 *   LEDGERRAIL-3  The signing domain names the contract of the exchange, never the token's: on the chain of the token a
 *                 signature for the books is worth nothing.
 *   LEDGERRAIL-4  Sender or receiver of every transfer is a provider's wallet, so people cannot pay each other through
 *                 it.
 *   LEDGERRAIL-5  Of two transfers with the same (from, nonce) one is included at a time.
 *   LEDGERRAIL-6  An arrival is listed once all earlier transactions are decided, so no arrival can later appear before
 *                 a cursor.
 *   LEDGERRAIL-7  A transaction has a row only if its signature is right: it is verified once, before it is written.
 *   LEDGERRAIL-8  An account has at most MOST_CANCELLED cancellations, MOST_ENDLESS of them without an end. Each other
 *                 one is deleted with the end of its authorization.
 */

import { MOVEMENT } from '../../shared/base/codes.ts';
import { E } from '../../shared/base/errors.ts';
import { HASH_BYTES, toHex, tryParseHex } from '../../shared/base/hex.ts';
import { CONFIRMATIONS } from '../../shared/chain/depth.ts';
import type { Eip712Domain } from '../../shared/crypto/eip712.ts';
import { cancelDigest, type TransferAuthorization, transferDigest, transferIn } from '../../shared/crypto/eip3009.ts';
import { keccak256 } from '../../shared/crypto/keccak.ts';
import type { AuthorizationState, PreflightFault, RailHead, RailTransaction } from '../../shared/wire/railQuestions.ts';
import { LedgerPayer } from './ledgerPayer.ts';
import type { LedgerRailOptions } from './ledgerRailOptions.ts';
import type { Payer, PayerOffice, Rail } from './rail.ts';
import { ENDLESS, type RailRow } from './railTransactionsStore.ts';

/** Far more than a person has signed at a time. */
const MOST_CANCELLED = 200;
const MOST_ENDLESS = 50;
/** Transactions advanced in one turn: each changes a row of control.db. */
const ADVANCED_A_TURN = 32;
const NOTE_MS = 60_000;
const REFUSED_BY_BOOKS: readonly number[] = [E.INSUFFICIENT_BALANCE, E.ACCOUNT_FROZEN, E.ACCOUNT_CLOSE_ONLY];

export class LedgerRail implements Rail {
  readonly name = 'ledger';
  readonly takesBlocksBack = false;
  readonly lookPauseMs = 500;
  readonly #options: LedgerRailOptions;
  /** When `onError` was last called: a disk that is full fails several times a second. */
  #failedMs = Number.NEGATIVE_INFINITY;
  /** Transactions whose movement is under way. */
  readonly #moving = new Set<string>();

  constructor(options: LedgerRailOptions) {
    this.#options = options;
  }

  async domain(): Promise<Eip712Domain> {
    return this.#domain();
  }

  #domain(): Eip712Domain {
    const { chainId, exchange } = this.#options.contract();
    return { name: 'USD Coin', version: '2', chainId, verifyingContract: exchange };
  }

  async isReachable(address: string): Promise<boolean> {
    const { accounts, providerAddresses } = this.#options;
    return providerAddresses.has(address) && accounts.isLinked(address);
  }

  async balanceMicro(address: string): Promise<number> {
    const account = this.#options.accounts.ownerOf(address);
    return account === 0 ? 0 : this.#options.books.availableMicro(account);
  }

  async isSignedBy(address: string, digest: string, signature: string): Promise<boolean> {
    const bytes = new Uint8Array(HASH_BYTES);
    return tryParseHex(digest, HASH_BYTES, bytes, 0) && this.#isSigned(address, bytes, signature);
  }

  async preflight(transfer: TransferAuthorization, signature: string): Promise<PreflightFault | null> {
    const sent = { ...transfer, signature, kind: 'transfer' } as const;
    const fault = this.#faultOf(sent, this.#options.clock.nowMs());
    if (fault !== null) return fault;
    if (!(await this.#isRightlySigned(sent))) return 'signature';
    return (await this.balanceMicro(transfer.from)) < transfer.valueMicro ? 'insufficient_balance' : null;
  }

  async head(): Promise<RailHead> {
    const { clock, blockMs } = this.#options;
    const nowMs = clock.nowMs();
    const finalizedMs = Math.min(nowMs, this.#options.rows.oldestUndecidedMs - blockMs);
    return {
      block: this.#blockOf(nowMs),
      finalizedBlock: this.#blockOf(finalizedMs),
      finalizedSec: Math.floor(finalizedMs / 1000),
    };
  }

  payer(office: PayerOffice): Payer {
    return new LedgerPayer(this, office);
  }

  /** Accepts a transaction of any sender. @returns its hash, or the reason for its refusal */
  async send(
    kind: RailRow['kind'],
    transfer: TransferAuthorization,
    signature: string,
  ): Promise<{ readonly txHash: string } | { readonly fault: SendFault }> {
    const { rows } = this.#options;
    const txHash = hashOf(kind, transfer, signature);
    const isSent = (row: RailRow | undefined): boolean => row !== undefined && row.state !== 'reverted';
    if (isSent(rows.find(txHash))) return { txHash };
    const sent = { ...transfer, signature, kind };
    const faultBefore = this.#sendFaultOf(sent);
    if (faultBefore !== null) return { fault: faultBefore };
    if (!(await this.#isRightlySigned(sent))) return { fault: 'signature' };
    // The state may have changed meanwhile.
    const known = rows.find(txHash);
    if (isSent(known)) return { txHash };
    const fault = this.#sendFaultOf(sent);
    if (fault !== null) return { fault };
    if (known === undefined)
      rows.add(this.#rowOf({ ...transferIn(transfer), txHash, kind, accountNonce: null, fee: 0, signature }));
    else rows.change(known, { state: 'pending', reason: null, blockMs: null });
    await rows.durable();
    return { txHash };
  }

  /** Returns the hash of the transfer, and when it was first sent; null if it was not. */
  sentMs(transfer: TransferAuthorization, signature: string): { txHash: string; sentMs: number } | null {
    const row = this.#options.rows.find(hashOf('transfer', transfer, signature));
    return row === undefined ? null : { txHash: row.txHash, sentMs: row.receivedMs };
  }

  async transaction(txHash: string): Promise<RailTransaction | null> {
    const row = this.#options.rows.find(txHash);
    if (row === undefined || row.state === 'replaced') return null;
    const { from, to, valueMicro, nonce, reason } = row;
    const isDecided = row.state === 'mined' || row.state === 'reverted';
    const moves = row.state === 'mined' && row.kind === 'transfer';
    return {
      txHash,
      status: isDecided ? (row.state as 'mined' | 'reverted') : 'pending',
      block: isDecided ? this.#blockOf(row.blockMs!) : null,
      transfers: moves ? [{ from, to, valueMicro, nonce }] : [],
      reason,
    };
  }

  async authorization(from: string, nonce: string): Promise<AuthorizationState> {
    const row = this.#options.rows.ofNonce(from, nonce).find(({ state }) => state === 'mined');
    if (row === undefined) return { state: 'unused' };
    const { kind, txHash, blockMs } = row;
    return { state: kind === 'cancel' ? 'cancelled' : 'used', txHash, block: this.#blockOf(blockMs!) };
  }

  get providerAddresses(): readonly string[] {
    return [...this.#options.providerAddresses];
  }

  /**
   * Transfers that have arrived in the wallets of the account, oldest first (LEDGERRAIL-6).
   * @param after an earlier cursor, or ''.
   */
  arrivals(account: number, after: string, limit: number): { arrivals: Arrival[]; cursor: string } {
    const [blockMs = '0', txHash = ''] = after === '' ? [] : after.split('-');
    const before = { blockMs: Math.min(this.#options.clock.nowMs(), this.#options.rows.oldestUndecidedMs), limit };
    const rows = this.#options.rows.arrivals(account, { blockMs: Number(blockMs), txHash }, before);
    const last = rows.at(-1);
    const arrivals = rows.map((row) => ({ ...row, block: this.#blockOf(row.blockMs!) }));
    return { arrivals, cursor: last === undefined ? after : `${last.blockMs}-${last.txHash}` };
  }

  async creditDeposit(txHash: string, wallet: string, reference: string): Promise<number | null> {
    const { rows } = this.#options;
    const row = rows.find(txHash);
    if (row?.state !== 'mined' || row.kind !== 'transfer' || row.to !== wallet) return null;
    if (row.creditedMs !== null) return row.valueMicro;
    if (row.reference === null) rows.change(row, { reference });
    return null;
  }

  /** Called several times a second. */
  tick(): void {
    const { clock, rows, onError } = this.#options;
    const nowMs = clock.nowMs();
    const block = this.#blockOf(nowMs);
    rows.sweep(Math.floor(nowMs / 1000));
    let advanced = 0;
    for (const row of rows.nextOpen()) {
      if (advanced === ADVANCED_A_TURN) break;
      if (this.#moving.has(row.txHash)) continue;
      const isDue =
        row.state === 'pending' ? this.#isNext(row, block) : row.state === 'included' || this.#isFinal(row, block);
      if (!isDue) continue;
      advanced++;
      this.#moving.add(row.txHash);
      this.#advance(row, nowMs)
        .catch((error) => {
          if (nowMs - this.#failedMs < NOTE_MS) return;
          this.#failedMs = nowMs;
          onError(error);
        })
        .finally(() => this.#moving.delete(row.txHash));
    }
  }

  async #advance(row: RailRow, nowMs: number): Promise<void> {
    const { rows } = this.#options;
    if (row.state === 'mined') {
      await this.#credit(row, nowMs);
      return;
    }
    let included = row;
    if (row.state === 'pending') {
      // LEDGERRAIL-7: a row of an earlier version that a relayer had sent is verified here.
      const isSigned = row.accountNonce === null || (await this.#isRightlySigned(row));
      if (rows.find(row.txHash)?.state !== 'pending') return;
      const fault = isSigned ? this.#faultOf(row, nowMs) : 'signature';
      if (fault !== null) {
        if (row.kind === 'cancel') rows.remove(row);
        else rows.change(row, { state: 'reverted', reason: fault, blockMs: nowMs });
        return;
      }
      if (row.kind === 'cancel') {
        rows.change(row, { state: 'mined', blockMs: nowMs });
        await rows.durable();
        return;
      }
      included = rows.change(row, { state: 'included', blockMs: nowMs });
    }
    await rows.durable();
    await this.#debit(included);
  }

  /** LEDGERRAIL-1. If the books give no answer, they are asked again. */
  async #debit(row: RailRow): Promise<void> {
    const { rows, books } = this.#options;
    const { fromAccount, valueMicro, from, nonce } = row;
    const moved = await books.move(fromAccount, MOVEMENT.WITHDRAWAL, valueMicro, `rail:${from}:${nonce}`);
    if (moved.movement !== null) rows.change(row, { state: 'mined' });
    else if (REFUSED_BY_BOOKS.includes(moved.code)) {
      const reason = moved.code === E.INSUFFICIENT_BALANCE ? 'insufficient_balance' : 'blocked';
      rows.change(row, { state: 'reverted', reason });
    }
  }

  /** LEDGERRAIL-1. */
  async #credit(row: RailRow, nowMs: number): Promise<void> {
    const { rows, books } = this.#options;
    const reference = row.reference ?? `rail:${row.txHash}`;
    const named = row.reference === null ? rows.change(row, { reference }) : row;
    await rows.durable();
    const moved = await books.move(row.toAccount, MOVEMENT.DEPOSIT, row.valueMicro, reference);
    if (moved.movement !== null) rows.change(named, { creditedMs: nowMs });
  }

  /** A transaction waits for the next block, and for another transaction with the same authorization. */
  #isNext({ receivedMs, txHash, from, nonce }: RailRow, block: number): boolean {
    const { rows } = this.#options;
    if (this.#blockOf(receivedMs) >= block) return false;
    return !rows.ofNonce(from, nonce).some((row) => row.txHash !== txHash && row.state === 'included');
  }

  #isFinal({ blockMs }: RailRow, block: number): boolean {
    return block - this.#blockOf(blockMs!) + 1 >= CONFIRMATIONS;
  }

  /** The faults that need no verification of a signature, so they are checked first; null if there are none. */
  #sendFaultOf(row: Sent): SendFault | null {
    const { clock, books, accounts, rows } = this.#options;
    const nowMs = clock.nowMs();
    const fault = this.#faultOf(row, nowMs);
    if (fault !== null) return fault;
    const account = accounts.ownerOf(row.from);
    // Rows of transfers stay for ever, so a transfer that would only be reverted is not stored.
    if (row.kind === 'transfer') {
      return books.availableMicro(account) < row.valueMicro ? 'insufficient_balance' : null;
    }
    const { all, endless } = rows.cancelledBy(account);
    if (row.validBeforeSec !== ENDLESS && row.validBeforeSec * 1000 <= nowMs) return 'not_in_time';
    const isOneTooMany = all >= MOST_CANCELLED || (row.validBeforeSec === ENDLESS && endless >= MOST_ENDLESS);
    return isOneTooMany ? 'too_many_cancellations' : null;
  }

  #isRightlySigned(row: Sent): Promise<boolean> {
    const domain = this.#domain();
    const digest = row.kind === 'cancel' ? cancelDigest(domain, row.from, row.nonce) : transferDigest(domain, row);
    return this.#isSigned(row.from, Buffer.from(digest.slice(2), 'hex'), row.signature);
  }

  #isSigned(address: string, digest: Uint8Array, signature: string): Promise<boolean> {
    const { accounts, isSigned } = this.#options;
    return isSigned(accounts.ownerOf(address), address, digest, signature);
  }

  /** Null if only the signature and the balance are left to check. */
  #faultOf(row: Sent, nowMs: number): PreflightFault | null {
    const { from, to, validAfterSec, validBeforeSec, nonce, kind } = row;
    const { accounts, providerAddresses, rows } = this.#options;
    const nowSec = Math.floor(nowMs / 1000);
    if (kind === 'transfer' && !(nowSec > validAfterSec && nowSec < validBeforeSec)) return 'not_in_time';
    if (rows.ofNonce(from, nonce).some(({ state }) => state === 'mined')) return 'nonce_used';
    const isAllowed = kind === 'cancel' || providerAddresses.has(from) || providerAddresses.has(to);
    if (!isAllowed || !accounts.isLinked(from) || (kind === 'transfer' && !accounts.isLinked(to))) return 'blocked';
    if (kind === 'transfer' && !accounts.mayWithdraw(accounts.ownerOf(from))) return 'blocked';
    return null;
  }

  #rowOf(fields: Omit<RailRow, 'fromAccount' | 'toAccount' | 'state' | 'reason' | 'receivedMs' | LaterField>): RailRow {
    const { accounts, clock } = this.#options;
    return {
      ...fields,
      fromAccount: accounts.ownerOf(fields.from),
      toAccount: accounts.ownerOf(fields.to),
      state: 'pending',
      reason: null,
      receivedMs: clock.nowMs(),
      blockMs: null,
      reference: null,
      creditedMs: null,
    };
  }

  /** The block of a transaction follows from its time, whatever the setting was when it arrived. */
  #blockOf(ms: number): number {
    return Math.floor(ms / this.#options.blockMs);
  }
}

function hashOf(kind: RailRow['kind'], transfer: TransferAuthorization, signature: string): string {
  return toHex(keccak256(Buffer.from(JSON.stringify({ kind, ...transferIn(transfer), signature }))));
}

type Arrival = Pick<RailRow, 'txHash' | 'from' | 'to' | 'valueMicro' | 'nonce'> & { readonly block: number };
type Sent = TransferAuthorization & Pick<RailRow, 'kind' | 'signature'>;
export type SendFault = PreflightFault | 'too_many_cancellations';
type LaterField = 'blockMs' | 'reference' | 'creditedMs';
