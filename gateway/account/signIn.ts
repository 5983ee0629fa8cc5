/**
 * Turns a proof of a person's identity into a session (RULES.md 15.9): finds the person's account, or makes a new one,
 * and opens a session. The caller has checked the proof. Owner: the gateway thread.
 *
 * Invariants:
 *   SIGNIN-1  An account is found only by a linked wallet, or by issuer and subject.
 *   SIGNIN-2  A referral code counts when the account is made, and never later.
 */
import { ERRORS } from '../../shared/base/errors.ts';
import type { Refusal } from '../base/refusal.ts';
import type { Accounts, NewUser, User } from './accounts.ts';
import type { Identities, Identity } from './identitiesStore.ts';
import type { OpenedSession, Sessions } from './sessions.ts';

export type Proof = {
  /** The method of sign-in, as lists of sessions show it: `wallet`, `privy`, or a provider's name. */
  readonly method: string;
  /** The wallet that has signed, in lower case; null if a provider identifies the person. */
  readonly wallet: string | null;
  /** Null when a wallet has signed. */
  readonly identity: Identity | null;
  /** Kept with a new account; a provider must have verified the address. */
  readonly email: string | null;
  readonly displayName: string | null;
};

type SignInOptions = {
  readonly accounts: Accounts;
  readonly identities: Identities;
  readonly sessions: Sessions;
};

type SignedIn = OpenedSession & { readonly isNew: boolean };

export class SignIn {
  readonly #options: SignInOptions;

  constructor(options: SignInOptions) {
    this.#options = options;
  }

  /** False if `open` would make an account. */
  isKnown(proof: Proof): boolean {
    return this.#find(proof) !== null;
  }

  /**
   * Durable once `sessions.durable` resolves.
   * @param referralCode as the person entered it; null for none
   * @param userAgent empty if not named
   */
  open(proof: Proof, referralCode: string | null, userAgent: string, nowMs: number): SignedIn | Refusal {
    const { accounts, sessions } = this.#options;
    const known = this.#find(proof);
    if (known !== null && 'row' in known) return known;
    if (known === null && accounts.isFull) return { row: ERRORS.ENGINE_BUSY, message: 'there is no room for accounts' };
    const user = known ?? this.#signUp(proof, referralCode, nowMs);
    return { ...sessions.open(user, proof.method, userAgent, nowMs), isNew: known === null };
  }

  /** SIGNIN-1. Null for a person without an account. */
  #find({ wallet, identity }: Proof): User | Refusal | null {
    const { accounts, identities } = this.#options;
    if (wallet === null) {
      const account = identity === null ? null : identities.accountOf(identity);
      return account === null ? null : accounts.byIndex(account);
    }
    const owner = accounts.ownerOf(wallet);
    if (owner === 0) return null;
    if (accounts.grants.isLinked(wallet)) return accounts.byIndex(owner);
    return { row: ERRORS.WALLET_REMOVED };
  }

  /** SIGNIN-2 */
  #signUp({ wallet, identity, email, displayName }: Proof, referralCode: string | null, nowMs: number): User {
    const { accounts, identities } = this.#options;
    const fields: NewUser = { displayName, email, role: 'user', referralCode, wallet };
    return accounts.signUp(fields, nowMs, ({ index }) => {
      if (identity !== null) identities.keep(identity, index, nowMs);
    });
  }
}
