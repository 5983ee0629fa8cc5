/**
 * Users, their wallets and the delegates of wallets: in memory for the request path, written through to control.db.
 * Owner: the gateway thread. Addresses are 0x and 40 lowercase hex digits everywhere in here.
 *
 * Invariants:
 *   ACCOUNTS-1  Account indexes are dense from 1; 0 is the fee account and never a user.
 *   ACCOUNTS-2  A wallet belongs to exactly one account, for ever.
 *   ACCOUNTS-3  A delegate link starts at a wallet that belongs to an account.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { assert } from '../../shared/base/assert.ts';
import { MAX_ACCOUNTS } from '../../shared/base/codes.ts';
import type { ControlDatabase } from './database.ts';

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
  /** The wallets in the order in which they were linked; the first is the primary one. */
  readonly wallets: string[];
};

export type NewUser = {
  readonly displayName: string | null;
  readonly email: string | null;
  readonly role: string;
  readonly referredBy: number | null;
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

const NO_ACCOUNT = 0;
const CODE_ALPHABET = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789';
const CODE_CHARACTERS = 8;

export class Accounts {
  readonly #database: ControlDatabase;
  /** Position is the account index; position 0 stays empty. */
  readonly #users: (User | undefined)[] = [undefined];
  readonly #byId = new Map<string, User>();
  readonly #byReferralCode = new Map<string, User>();
  readonly #ownerOfWallet = new Map<string, number>();
  readonly #signersOfWallet = new Map<string, Set<string>>();
  readonly #insertUser;
  readonly #insertWallet;
  readonly #insertDelegate;

  constructor(database: ControlDatabase) {
    this.#database = database;
    this.#insertUser = database.prepare<UserRow>(
      `INSERT INTO users (account_index, id, display_name, email, role, referral_code, referred_by, created_ms)
       VALUES ($account_index, $id, $display_name, $email, $role, $referral_code, $referred_by, $created_ms)`,
    );
    this.#insertWallet = database.prepare<[string, number]>(
      'INSERT INTO wallets (address, account_index) VALUES (?, ?)',
    );
    this.#insertDelegate = database.prepare<[string, string]>(
      'INSERT OR IGNORE INTO delegates (maker, signer) VALUES (?, ?)',
    );
    this.#load();
  }

  get count(): number {
    return this.#users.length - 1;
  }

  get isFull(): boolean {
    return this.#users.length >= MAX_ACCOUNTS;
  }

  byId(id: string): User | undefined {
    return this.#byId.get(id);
  }

  byReferralCode(code: string): User | undefined {
    return this.#byReferralCode.get(code);
  }

  idOf(accountIndex: number): string {
    const user = this.#users[accountIndex];
    assert(user !== undefined, 'ACCOUNTS-1: an account index belongs to a user');
    return user.id;
  }

  /** The account of a wallet, or 0 when it belongs to no account. */
  ownerOf(address: string): number {
    return this.#ownerOfWallet.get(address) ?? NO_ACCOUNT;
  }

  maySign(maker: string, signer: string): boolean {
    return maker === signer || this.#signersOfWallet.get(maker)?.has(signer) === true;
  }

  /** The caller has checked that the wallet is free and the table is not full. */
  create(fields: NewUser, nowMs: number): User {
    assert(!this.isFull, 'ACCOUNTS-1: account indexes fit the balance cells');
    const user: User = {
      index: this.#users.length,
      id: randomUUID(),
      displayName: fields.displayName,
      email: fields.email,
      role: fields.role,
      referralCode: this.#freeReferralCode(),
      referredBy: fields.referredBy,
      createdMs: nowMs,
      wallets: [],
    };
    this.#database.transaction(() => {
      this.#insertUser.run(toRow(user));
      if (fields.wallet !== null) this.#insertWallet.run(fields.wallet, user.index);
    })();
    this.#add(user);
    if (fields.wallet !== null) this.#addWallet(fields.wallet, user);
    return user;
  }

  /** The caller has checked that the wallet is free. */
  addWallet(user: User, address: string): void {
    assert(this.ownerOf(address) === NO_ACCOUNT, 'ACCOUNTS-2: a wallet is linked once');
    this.#insertWallet.run(address, user.index);
    this.#addWallet(address, user);
  }

  /** Lets `signer` sign orders that `maker` pays for. A repeated call changes nothing. */
  addDelegate(maker: string, signer: string): void {
    assert(this.ownerOf(maker) !== NO_ACCOUNT, 'ACCOUNTS-3: a delegate link starts at a linked wallet');
    this.#insertDelegate.run(maker, signer);
    this.#addDelegate(maker, signer);
  }

  #load(): void {
    const users = this.#database.prepare<[], UserRow>('SELECT * FROM users ORDER BY account_index').all();
    for (const row of users) this.#add(fromRow(row));
    const wallets = this.#database
      .prepare<[], { address: string; account_index: number }>(
        'SELECT address, account_index FROM wallets ORDER BY sequence',
      )
      .all();
    for (const row of wallets) {
      const user = this.#users[row.account_index];
      assert(user !== undefined, 'ACCOUNTS-2: a wallet belongs to a user');
      this.#addWallet(row.address, user);
    }
    const delegates = this.#database
      .prepare<[], { maker: string; signer: string }>('SELECT maker, signer FROM delegates')
      .all();
    for (const row of delegates) this.#addDelegate(row.maker, row.signer);
  }

  #add(user: User): void {
    assert(user.index === this.#users.length, 'ACCOUNTS-1: account indexes are dense');
    this.#users.push(user);
    this.#byId.set(user.id, user);
    this.#byReferralCode.set(user.referralCode, user);
  }

  #addWallet(address: string, user: User): void {
    user.wallets.push(address);
    this.#ownerOfWallet.set(address, user.index);
  }

  #addDelegate(maker: string, signer: string): void {
    const signers = this.#signersOfWallet.get(maker);
    if (signers === undefined) this.#signersOfWallet.set(maker, new Set([signer]));
    else signers.add(signer);
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
