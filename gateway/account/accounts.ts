/**
 * Users and their wallets: in memory for the request path, written through to control.db.
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
import type { TakenRows } from '../../shared/records/changedRows.ts';
import type { ControlDatabase } from '../base/database.ts';
import { type Changes, SYNCED_AT_ONCE } from '../base/laterSync.ts';
import { type Grant, Grants } from './grantsStore.ts';

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
  /** The linked wallets in the order in which they came; the first is the primary one. */
  readonly wallets: string[];
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
const CODE_ALPHABET = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789';
const CODE_CHARACTERS = 8;

export class Accounts {
  /** They say who may sign for which wallet. */
  readonly grants: Grants;
  readonly #database: ControlDatabase;
  readonly #changes: Changes;
  /** Position is the account index; position 0 stays empty. */
  readonly #users: (User | undefined)[] = [undefined];
  readonly #byId = new Map<string, User>();
  readonly #byReferralCode = new Map<string, User>();
  /** The accounts that signed up with the code of an account, oldest first, by its index. */
  readonly #referredBy = new Map<number, number[]>();
  readonly #ownerOfWallet = new Map<string, number>();
  readonly #walletsEver = new Map<number, number>();
  /** By account: its first wallet. */
  readonly #escrows = new Map<number, string>();
  readonly #insertUser;
  readonly #insertWallet;
  readonly #selectUser;
  readonly #selectWallet;

  constructor(database: ControlDatabase, changes = SYNCED_AT_ONCE) {
    this.#database = database;
    this.#changes = changes;
    this.grants = new Grants(database, changes);
    this.#insertUser = database.prepare<UserRow>(
      `INSERT INTO users (account_index, id, display_name, email, role, referral_code, referred_by, created_ms)
       VALUES ($account_index, $id, $display_name, $email, $role, $referral_code, $referred_by, $created_ms)`,
    );
    this.#insertWallet = database.prepare<[string, number]>(
      'INSERT INTO wallets (address, account_index) VALUES (?, ?)',
    );
    this.#selectUser = database.prepare<[number], UserRow>('SELECT * FROM users WHERE account_index = ?');
    this.#selectWallet = database.prepare<[string], WalletRow>(
      'SELECT address, account_index FROM wallets WHERE address = ?',
    );
    this.#load();
  }

  /** Users and wallets are only ever added; the grants decide which wallets are linked (ACCOUNTS-3). */
  reload(changed: TakenRows): void {
    for (const index of changed.numbersOf('users')) this.#add(fromRow(this.#selectUser.get(index)!));
    for (const address of changed.textsOf('wallets')) {
      this.#own(address, this.#selectWallet.get(address)!.account_index);
    }
    const makers = this.grants.reload(changed);
    for (const maker of makers) {
      const { wallets } = this.#userAt(this.ownerOf(maker));
      const linked = this.#inOrder([...new Set([...wallets, maker])]);
      wallets.splice(0, wallets.length, ...linked);
    }
  }

  get count(): number {
    return this.#users.length - 1;
  }

  get isFull(): boolean {
    return this.#users.length >= MAX_ACCOUNTS;
  }

  /** Up to `limit` users with an index above `after`, in order of creation. */
  list(after: number, limit: number): User[] {
    return this.#users.slice(after + 1, after + 1 + limit).filter((user) => user !== undefined);
  }

  byId(id: string): User | undefined {
    return this.#byId.get(id);
  }

  /** The account indexes of users who signed up with this account's code, oldest first. */
  referredBy(accountIndex: number): readonly number[] {
    return this.#referredBy.get(accountIndex) ?? [];
  }

  idOf(accountIndex: number): string {
    return this.#userAt(accountIndex).id;
  }

  byIndex(accountIndex: number): User {
    return this.#userAt(accountIndex);
  }

  /** The account of a wallet, or 0 when it belongs to no account. */
  ownerOf(address: string): number {
    return this.#ownerOfWallet.get(address) ?? NO_ACCOUNT;
  }

  /**
   * The wallet under which the chain holds the account's funds: the first that it ever had, for ever. Null before it
   * had one.
   */
  escrowOf(accountIndex: number): string | null {
    return this.#escrows.get(accountIndex) ?? null;
  }

  /** The first wallet of each account that has one. */
  escrows(): string[] {
    return [...this.#escrows.values()];
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
    const user: User = {
      index: this.#users.length,
      id: randomUUID(),
      displayName: fields.displayName,
      email: fields.email,
      role: fields.role,
      referralCode: this.#freeReferralCode(),
      referredBy: this.#referrer(fields.referralCode),
      createdMs: nowMs,
      wallets: [],
    };
    let grant: Grant | null = null;
    const insert = this.#database.transaction(() => {
      this.#insertUser.run(toRow(user));
      if (fields.wallet !== null) grant = this.#insertLink(fields.wallet, user);
      keep(user);
    });
    this.#changes.write(insert);
    this.#add(user);
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
    return this.#walletsEver.get(accountIndex) ?? 0;
  }

  /** Called when the wallet's grants were removed. The wallet stays with its account and may be linked again. */
  unlink(address: string): void {
    assert(!this.grants.isLinked(address), 'ACCOUNTS-3: a linked wallet has a grant for itself');
    const { wallets } = this.#userAt(this.ownerOf(address));
    wallets.splice(wallets.indexOf(address), 1);
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
    if (this.ownerOf(grant.maker) === NO_ACCOUNT) this.#own(grant.maker, user.index);
    user.wallets.push(grant.maker);
  }

  #load(): void {
    const users = this.#database.prepare<[], UserRow>('SELECT * FROM users ORDER BY account_index').all();
    for (const row of users) this.#add(fromRow(row));
    const wallets = this.#database
      .prepare<[], WalletRow>('SELECT address, account_index FROM wallets ORDER BY sequence')
      .all();
    for (const row of wallets) {
      this.#own(row.address, row.account_index);
    }
    const linked = this.#inOrder(wallets.map(({ address }) => address));
    for (const address of linked) this.#userAt(this.ownerOf(address)).wallets.push(address);
  }

  /** The linked wallets in order. A wallet that was removed and linked again comes last. */
  #inOrder(addresses: readonly string[]): string[] {
    const linked = addresses.filter((address) => this.grants.isLinked(address));
    return linked.sort((a, b) => this.grants.numberOf(a, a) - this.grants.numberOf(b, b));
  }

  #own(address: string, accountIndex: number): void {
    this.#ownerOfWallet.set(address, accountIndex);
    this.#walletsEver.set(accountIndex, this.walletsEver(accountIndex) + 1);
    if (!this.#escrows.has(accountIndex)) this.#escrows.set(accountIndex, address);
  }

  #userAt(accountIndex: number): User {
    const user = this.#users[accountIndex];
    assert(user !== undefined, 'ACCOUNTS-1: an account index belongs to a user');
    return user;
  }

  #add(user: User): void {
    assert(user.index === this.#users.length, 'ACCOUNTS-1: account indexes are dense');
    this.#users.push(user);
    this.#byId.set(user.id, user);
    this.#byReferralCode.set(user.referralCode, user);
    if (user.referredBy === null) return;
    const referred = this.#referredBy.get(user.referredBy);
    if (referred === undefined) this.#referredBy.set(user.referredBy, [user.index]);
    else referred.push(user.index);
  }

  /** People copy codes by hand, so case and surrounding spaces are ignored. */
  #referrer(code: string | null): number | null {
    if (code === null) return null;
    return this.#byReferralCode.get(code.trim().toUpperCase())?.index ?? null;
  }

  #freeReferralCode(): string {
    for (;;) {
      // The alphabet has 32 letters, so the low five bits of a byte choose one without bias.
      let code = '';
      for (const byte of randomBytes(CODE_CHARACTERS)) code += CODE_ALPHABET[byte & 31];
      if (!this.#byReferralCode.has(code)) return code;
    }
  }
}

function toRow(user: User): UserRow {
  return {
    account_index: user.index,
    id: user.id,
    display_name: user.displayName,
    email: user.email,
    role: user.role,
    referral_code: user.referralCode,
    referred_by: user.referredBy,
    created_ms: user.createdMs,
  };
}

function fromRow(row: UserRow): User {
  return {
    index: row.account_index,
    id: row.id,
    displayName: row.display_name,
    email: row.email,
    role: row.role,
    referralCode: row.referral_code,
    referredBy: row.referred_by,
    createdMs: row.created_ms,
    wallets: [],
  };
}
