/**
 * Users and their wallets. Wallets and grants are in memory for the request path (walletTable.ts), written through to
 * control.db; what else there is of a user is read from that file when it is asked for.
 * Owner: the gateway thread. Addresses are 0x and 40 lowercase hex digits everywhere in here.
 *
 * Invariants:
 *   ACCOUNTS-1  Account indexes are dense from 1; 0 is the fee account and never a user.
 *   ACCOUNTS-2  A wallet belongs to exactly one account, for ever, also while it is not linked.
 *   ACCOUNTS-3  A wallet is linked as long as it has a grant for itself. Delegates' grants exist only for linked
 *               wallets.
 *   ACCOUNTS-4  An account, its first wallet, its referrer and what the caller keeps about it are one transaction. The
 *               referrer is an older account, and never changes.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { assert } from '../../shared/base/assert.ts';
import { MAX_ACCOUNTS, UNKNOWN_GRANT } from '../../shared/base/codes.ts';
import { PartedWords } from '../../shared/base/partedWords.ts';
import type { TakenRows } from '../../shared/records/changedRows.ts';
import type { ControlDatabase } from '../base/database.ts';
import { type Changes, SYNCED_AT_ONCE } from '../base/laterSync.ts';
import { type Grant, Grants } from './grantsStore.ts';
import { NO_WALLET, WalletTable } from './walletTable.ts';

export type User = {
  readonly index: number;
  readonly id: string;
  readonly displayName: string | null;
  readonly email: string | null;
  readonly role: string;
  /** Other users sign up with this code. */
  readonly referralCode: string;
  /** The account index of the referrer. */
  readonly referredBy: number | null;
  readonly createdMs: number;
  /** The wallets that are linked at present, in the order in which they came; the first is the primary one. */
  readonly wallets: readonly string[];
};

export type NewUser = {
  readonly displayName: string | null;
  readonly email: string | null;
  readonly role: string;
  /** As the person entered it; a code that belongs to no account is ignored (RULES.md 14.74). */
  readonly referralCode: string | null;
  readonly wallet: string | null;
};

type UserRow = {
  account_index: number;
  id: string;
  display_name: string | null;
  email: string | null;
  role: string;
  referral_code: string;
  referred_by: number | null;
  created_ms: number;
};

type WalletRow = { address: string; account_index: number };

const NO_ACCOUNT = 0;
/** The words of an account: the first and the last that signed up with its code, and the next one of its referrer. */
const REFERRAL = { FIRST: 0, LAST: 1, NEXT: 2 } as const;
const REFERRAL_WORDS = 4;
const CODE_ALPHABET = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789';
const CODE_CHARACTERS = 8;

export class Accounts {
  /** They say who may sign for which wallet. */
  readonly grants: Grants;
  readonly #database: ControlDatabase;
  readonly #changes: Changes;
  readonly #wallets = new WalletTable();
  readonly #referrals = new PartedWords();
  #count = 0;
  readonly #insertUser;
  readonly #insertWallet;
  readonly #selectWallet;
  readonly #select;
  readonly #selectById;
  readonly #selectId;
  readonly #selectIndexByCode;
  readonly #list;

  constructor(database: ControlDatabase, changes = SYNCED_AT_ONCE) {
    this.#database = database;
    this.#changes = changes;
    this.grants = new Grants(database, changes, this.#wallets);
    this.#insertUser = database.prepare<UserRow>(
      `INSERT INTO users (account_index, id, display_name, email, role, referral_code, referred_by, created_ms)
       VALUES ($account_index, $id, $display_name, $email, $role, $referral_code, $referred_by, $created_ms)`,
    );
    this.#insertWallet = database.prepare<[string, number]>(
      'INSERT INTO wallets (address, account_index) VALUES (?, ?)',
    );
    this.#select = database.prepare<[number], UserRow>('SELECT * FROM users WHERE account_index = ?');
    this.#selectById = database.prepare<[string], UserRow>('SELECT * FROM users WHERE id = ?');
    this.#selectId = database.prepare<[number], string>('SELECT id FROM users WHERE account_index = ?').pluck();
    this.#selectIndexByCode = database
      .prepare<[string], number>('SELECT account_index FROM users WHERE referral_code = ?')
      .pluck();
    this.#list = database.prepare<[number, number], UserRow>(
      'SELECT * FROM users WHERE account_index > ? ORDER BY account_index LIMIT ?',
    );
    this.#selectWallet = database.prepare<[string], WalletRow>(
      'SELECT address, account_index FROM wallets WHERE address = ?',
    );
    this.#load();
  }

  /** Users and wallets are only ever added; the grants decide which wallets are linked (ACCOUNTS-3). */
  reload(changed: TakenRows): void {
    for (const index of changed.numbersOf('users')) this.#add(index, this.#select.get(index)!.referred_by);
    for (const address of changed.textsOf('wallets')) {
      this.#own(address, this.#selectWallet.get(address)!.account_index);
    }
    this.grants.reload(changed);
  }

  get count(): number {
    return this.#count;
  }

  get isFull(): boolean {
    return this.#count >= MAX_ACCOUNTS - 1;
  }

  /** Up to `limit` users with an index above `after`, in order of creation. */
  list(after: number, limit: number): User[] {
    return this.#list.all(after, limit).map((row) => this.#fromRow(row));
  }

  byId(id: string): User | undefined {
    const row = this.#selectById.get(id);
    return row === undefined ? undefined : this.#fromRow(row);
  }

  /** The account indexes of users who signed up with this account's code, oldest first. */
  referredBy(accountIndex: number): readonly number[] {
    const referred: number[] = [];
    const at = (account: number, word: number): number => this.#referrals.get(account * REFERRAL_WORDS + word);
    for (let each = at(accountIndex, REFERRAL.FIRST); each !== NO_ACCOUNT; each = at(each, REFERRAL.NEXT)) {
      referred.push(each);
    }
    return referred;
  }

  idOf(accountIndex: number): string {
    const id = this.#selectId.get(accountIndex);
    assert(id !== undefined, 'ACCOUNTS-1: an account index belongs to a user');
    return id;
  }

  byIndex(accountIndex: number): User {
    const row = this.#select.get(accountIndex);
    assert(row !== undefined, 'ACCOUNTS-1: an account index belongs to a user');
    return this.#fromRow(row);
  }

  /** The account of a wallet, or 0 when it belongs to no account. */
  ownerOf(address: string): number {
    const wallet = this.#wallets.find(address);
    return wallet === NO_WALLET ? NO_ACCOUNT : this.#wallets.ownerOf(wallet);
  }

  /**
   * The wallet under which the chain holds the account's funds: the first that it ever had, for ever. Null before it
   * had one.
   */
  escrowOf(accountIndex: number): string | null {
    const first = this.#wallets.firstOf(accountIndex);
    return first === NO_WALLET ? null : this.#wallets.addressOf(first);
  }

  /** The first wallet of each account that has one. */
  *escrows(): Generator<string> {
    for (let account = 1; account <= this.#count; account++) {
      const wallet = this.escrowOf(account);
      if (wallet !== null) yield wallet;
    }
  }

  /** The number of the grant under which an order of this account is signed; UNKNOWN_GRANT when there is none. */
  grantOf(accountIndex: number, maker: string, signer: string): number {
    return this.ownerOf(maker) === accountIndex ? this.grants.numberOf(maker, signer) : UNKNOWN_GRANT;
  }

  /**
   * Makes an account (ACCOUNTS-4). The caller has checked that the wallet is free and the table is not full, and
   * answers once `durable` resolves. `keep` writes the caller's facts about the person in the same transaction.
   */
  signUp(fields: NewUser, nowMs: number, keep: (user: User) => void = () => {}): User {
    assert(!this.isFull, 'ACCOUNTS-1: account indexes fit the balance cells');
    const row: UserRow = {
      account_index: this.#count + 1,
      id: randomUUID(),
      display_name: fields.displayName,
      email: fields.email,
      role: fields.role,
      referral_code: this.#freeReferralCode(),
      referred_by: this.#referrer(fields.referralCode),
      created_ms: nowMs,
    };
    const user = this.#fromRow(row);
    let grant: Grant | null = null;
    const insert = this.#database.transaction(() => {
      this.#insertUser.run(row);
      if (fields.wallet !== null) grant = this.#insertLink(fields.wallet, user);
      keep(user);
    });
    this.#changes.write(insert);
    this.#add(user.index, user.referredBy);
    if (grant !== null) this.#link(grant, user);
    return user;
  }

  /** Resolves when all accounts, wallets and delegates added or removed so far are on disk. */
  durable(): Promise<void> {
    return this.#changes.durable();
  }

  /**
   * Links a free wallet, or one of this user's that was removed. Unlike a sign-up it is synced at once: an order of the
   * account may follow in the same turn, and the number of its grant must never be given out again (GRANTS-1).
   */
  addWallet(user: User, address: string): void {
    const owner = this.ownerOf(address);
    assert(owner === NO_ACCOUNT || owner === user.index, 'ACCOUNTS-2: a wallet belongs to one account');
    this.#link(this.#database.transaction(() => this.#insertLink(address, user))(), user);
  }

  /** The number of wallets that the account ever had: each belongs to it for ever. */
  walletsEver(accountIndex: number): number {
    return this.#wallets.of(accountIndex).length;
  }

  /** Lets `signer` sign orders that `maker` pays for; synced as `addWallet`. A repeated call changes nothing. */
  addDelegate(maker: string, signer: string): void {
    assert(this.grants.isLinked(maker), 'ACCOUNTS-3: a delegate is of a linked wallet');
    if (this.grants.numberOf(maker, signer) !== UNKNOWN_GRANT) return;
    this.grants.use(this.grants.insert(maker, signer));
  }

  #insertLink(address: string, user: User): Grant {
    if (this.ownerOf(address) === NO_ACCOUNT) this.#insertWallet.run(address, user.index);
    return this.grants.insert(address, address);
  }

  #link(grant: Grant, user: User): void {
    this.grants.use(grant);
    this.#own(grant.maker, user.index);
  }

  #load(): void {
    const database = this.#database;
    this.#count = database.prepare<[], number>('SELECT count(*) FROM users').pluck().get()!;
    const last = database.prepare<[], number | null>('SELECT max(account_index) FROM users').pluck().get() ?? 0;
    assert(this.#count === last, 'ACCOUNTS-1: account indexes are dense');
    const referred = database.prepare<[], Pick<UserRow, 'account_index' | 'referred_by'>>(
      'SELECT account_index, referred_by FROM users WHERE referred_by IS NOT NULL ORDER BY account_index',
    );
    for (const { account_index, referred_by } of referred.iterate()) this.#refer(account_index, referred_by!);
    const wallets = database.prepare<[], WalletRow>('SELECT address, account_index FROM wallets ORDER BY sequence');
    for (const { address, account_index } of wallets.iterate()) this.#own(address, account_index);
  }

  #own(address: string, accountIndex: number): void {
    this.#wallets.own(this.#wallets.rowOf(address), accountIndex);
  }

  /** ACCOUNTS-3. A wallet that was removed and linked again comes last. */
  #linkedWallets(accountIndex: number): string[] {
    const wallets = this.#wallets;
    const linked = wallets.of(accountIndex).filter((wallet) => wallets.grantOf(wallet) !== UNKNOWN_GRANT);
    linked.sort((a, b) => wallets.grantOf(a) - wallets.grantOf(b));
    return linked.map((wallet) => wallets.addressOf(wallet));
  }

  #add(index: number, referredBy: number | null): void {
    assert(index === this.#count + 1, 'ACCOUNTS-1: account indexes are dense');
    this.#count = index;
    if (referredBy !== null) this.#refer(index, referredBy);
  }

  #refer(index: number, referredBy: number): void {
    const last = this.#referrals.get(referredBy * REFERRAL_WORDS + REFERRAL.LAST);
    const link =
      last === NO_ACCOUNT ? referredBy * REFERRAL_WORDS + REFERRAL.FIRST : last * REFERRAL_WORDS + REFERRAL.NEXT;
    this.#referrals.set(link, index);
    this.#referrals.set(referredBy * REFERRAL_WORDS + REFERRAL.LAST, index);
  }

  /** People copy codes by hand, so case and surrounding spaces are ignored. */
  #referrer(code: string | null): number | null {
    if (code === null) return null;
    return this.#selectIndexByCode.get(code.trim().toUpperCase()) ?? null;
  }

  #freeReferralCode(): string {
    for (;;) {
      // The alphabet has 32 letters, so the low five bits of a byte choose one without bias.
      let code = '';
      for (const byte of randomBytes(CODE_CHARACTERS)) code += CODE_ALPHABET[byte & 31];
      if (this.#selectIndexByCode.get(code) === undefined) return code;
    }
  }

  #fromRow(row: UserRow): User {
    const linked = (): string[] => this.#linkedWallets(row.account_index);
    return {
      index: row.account_index,
      id: row.id,
      displayName: row.display_name,
      email: row.email,
      role: row.role,
      referralCode: row.referral_code,
      referredBy: row.referred_by,
      createdMs: row.created_ms,
      get wallets() {
        return linked();
      },
    };
  }
}
