/**
 * Users, their wallets and who may sign for a wallet: in memory for the request path, written through to control.db.
 * Owner: the gateway thread. Addresses are 0x and 40 lowercase hex digits everywhere in here.
 *
 * Invariants:
 *   A1  Account indexes are dense from 1; 0 is the fee account and never a user.
 *   A2  A wallet belongs to exactly one account, for ever.
 *   A3  A delegate link starts at a wallet that belongs to an account.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { assert } from '../../shared/assert.ts';
import { MAX_ACCOUNTS } from '../../shared/codes.ts';
import type { ControlDatabase } from './database.ts';

export type User = {
  readonly index: number;
  readonly id: string;
  readonly displayName: string | null;
  readonly email: string | null;
  readonly role: string;
  /** The user's own code, for others to sign up with. */
  readonly referralCode: string;
  /** Account index of the referrer. */
  readonly referredBy: number | null;
  readonly createdMs: number;
  /** In the order they were linked; the first is the primary one. */
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

const NOBODY = 0;
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
    assert(user !== undefined, 'A1: an account index belongs to a user');
    return user.id;
  }

  /** The account of a wallet, or 0 when it is nobody's. */
  ownerOf(address: string): number {
    return this.#ownerOfWallet.get(address) ?? NOBODY;
  }

  maySign(maker: string, signer: string): boolean {
    return maker === signer || this.#signersOfWallet.get(maker)?.has(signer) === true;
  }

  /** The caller has found the wallet free and the table not full. */
  create(fields: NewUser, nowMs: number): User {
    assert(!this.isFull, 'A1: account indexes fit the balance cells');
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
    this.#remember(user);
    if (fields.wallet !== null) this.#rememberWallet(fields.wallet, user);
    return user;
  }

  /** The caller has found the wallet free. */
  addWallet(user: User, address: string): void {
    assert(this.ownerOf(address) === NOBODY, 'A2: a wallet is linked once');
    this.#insertWallet.run(address, user.index);
    this.#rememberWallet(address, user);
  }

  /** Lets `signer` sign orders that `maker` pays for. Saying it twice changes nothing. */
  addDelegate(maker: string, signer: string): void {
    assert(this.ownerOf(maker) !== NOBODY, 'A3: a delegate link starts at a linked wallet');
    this.#insertDelegate.run(maker, signer);
    this.#rememberDelegate(maker, signer);
  }

  #load(): void {
    const users = this.#database.prepare<[], UserRow>('SELECT * FROM users ORDER BY account_index').all();
    for (const row of users) this.#remember(fromRow(row));
    const wallets = this.#database
      .prepare<[], { address: string; account_index: number }>(
        'SELECT address, account_index FROM wallets ORDER BY sequence',
      )
      .all();
    for (const row of wallets) {
      const user = this.#users[row.account_index];
      assert(user !== undefined, 'A2: a wallet belongs to a user');
      this.#rememberWallet(row.address, user);
    }
    const delegates = this.#database
      .prepare<[], { maker: string; signer: string }>('SELECT maker, signer FROM delegates')
      .all();
    for (const row of delegates) this.#rememberDelegate(row.maker, row.signer);
  }

  #remember(user: User): void {
    assert(user.index === this.#users.length, 'A1: account indexes are dense');
    this.#users.push(user);
    this.#byId.set(user.id, user);
    this.#byReferralCode.set(user.referralCode, user);
  }

  #rememberWallet(address: string, user: User): void {
    user.wallets.push(address);
    this.#ownerOfWallet.set(address, user.index);
  }

  #rememberDelegate(maker: string, signer: string): void {
    const signers = this.#signersOfWallet.get(maker);
    if (signers === undefined) this.#signersOfWallet.set(maker, new Set([signer]));
    else signers.add(signer);
  }

  #freeReferralCode(): string {
    for (;;) {
      // 32 letters, so a byte's low five bits choose without a bias.
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
