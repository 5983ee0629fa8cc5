/**
 * The accounts at the exchange for which orders are placed. This program has an API key of each, and a delegate key of
 * its own that signs in the name of the account's wallet: no private key of a client ever comes here.
 *
 * Invariants:
 *   POLYACCOUNTS-1  An account is opened for a wallet that has signed (ClobAuth), and only with play money; otherwise
 *                   it has to be there, and its owner has to have made the delegate.
 *   POLYACCOUNTS-2  Play money is given once: the deposit has a reference that is the wallet's.
 */
import type { AdminClient } from '../../../shared/client/admin.ts';
import { ExchangeClient } from '../../../shared/client/client.ts';
import { ApiError } from '../../../shared/client/http.ts';
import { addressOf } from '../../../shared/client/privateKey.ts';
import type { Scope } from '../../../shared/client/types.ts';
import { Refusal } from './reply.ts';
import type { AccountRow, PolymarketStore } from './store.ts';

const READS: readonly Scope[] = ['read:account', 'stream:market', 'stream:user'];
const CHANGES: readonly Scope[] = ['trade:orders', 'trade:bulk', 'manage:account'];
const CONFLICT = 409;
const REFERENCE = 'play money of ';

type AccountsOptions = {
  readonly store: PolymarketStore;
  readonly admin: AdminClient;
  readonly baseUrl: string;
  /** Of the delegate. */
  readonly privateKey: string;
  readonly isPlay: boolean;
  readonly playMicro: bigint;
  readonly mostAccounts: number;
};

export class Accounts {
  readonly #options: AccountsOptions;
  readonly #delegate: string;
  readonly #opening = new Map<string, Promise<AccountRow>>();
  readonly #clients = new Map<string, ExchangeClient>();

  constructor(options: AccountsOptions) {
    this.#options = options;
    this.#delegate = addressOf(options.privateKey);
  }

  close(): void {
    for (const client of this.#clients.values()) client.close();
  }

  /** The account of a wallet that has just signed; opened if there is none yet. */
  open(address: string): Promise<AccountRow> {
    const known = this.#options.store.account(address);
    if (known !== undefined) return Promise.resolve(known);
    const before = this.#opening.get(address);
    if (before !== undefined) return before;
    const opening = this.#open(address).finally(() => this.#opening.delete(address));
    this.#opening.set(address, opening);
    return opening;
  }

  /** The client of an account that has been opened. */
  client(address: string): ExchangeClient {
    const before = this.#clients.get(address);
    if (before !== undefined) return before;
    const row = this.#options.store.account(address);
    if (row === undefined) throw new Refusal(401, 'Unauthorized: the account is gone');
    const { key_id: keyId, secret, passphrase } = row;
    const { baseUrl, privateKey: wallet } = this.#options;
    const client = new ExchangeClient({ baseUrl, credentials: { keyId, secret, passphrase }, wallet });
    this.#clients.set(address, client);
    return client;
  }

  /** After a refusal that says that what the client keeps of a market is old. */
  forget(address: string): void {
    this.#clients.get(address)?.close();
    this.#clients.delete(address);
  }

  /** With play money any proxy or Safe; otherwise one that the account itself has as a wallet. */
  async mayFund(address: string, funder: string): Promise<boolean> {
    const row = this.#options.store.account(address);
    if (row === undefined) return false;
    if (this.#options.isPlay) return true;
    const { linked_wallets } = await this.#options.admin.user(row.user_id);
    return linked_wallets.some((wallet) => wallet.toLowerCase() === funder);
  }

  /** POLYACCOUNTS-1, POLYACCOUNTS-2. */
  async #open(address: string): Promise<AccountRow> {
    const { store, admin, isPlay, playMicro, mostAccounts } = this.#options;
    if (store.accountCount() + this.#opening.size >= mostAccounts) {
      throw new Refusal(503, 'no more accounts are opened here: POLYMARKET_MOST_ACCOUNTS');
    }
    const userId = (await this.#userOf(address)) ?? (isPlay ? await this.#newUser(address) : null);
    if (userId === null) throw new Refusal(403, 'the exchange has no account with this wallet');
    if (isPlay) await allowed(admin.addDelegate(userId, address, this.#delegate));
    else await this.#assertDelegate(userId, address);
    const key = await admin.createApiKey(userId, { scopes: [...READS, ...CHANGES], tier: 'market_maker' });
    const { key_id, secret, passphrase } = key;
    const row: AccountRow = { address, user_id: userId, key_id, secret, passphrase, is_funded: isPlay ? 1 : 0 };
    if (isPlay) {
      const reference = `${REFERENCE}${address}`;
      await admin.deposit(userId, { amount_usdc_micro: String(playMicro), reference });
    }
    store.putAccount(row);
    return row;
  }

  async #userOf(address: string): Promise<string | null> {
    const { users } = await this.#options.admin.listUsers({ wallet: address });
    return users.at(0)?.id ?? null;
  }

  async #newUser(address: string): Promise<string> {
    return (await this.#options.admin.createUser({ wallet_address: address })).id;
  }

  async #assertDelegate(userId: string, address: string): Promise<void> {
    const { delegates } = await this.#options.admin.listDelegates(userId);
    const own = this.#delegate.toLowerCase();
    const isOwn = ({ maker, signer }: { maker: string; signer: string }): boolean =>
      maker.toLowerCase() === address && signer.toLowerCase() === own;
    if (delegates.some(isOwn)) return;
    throw new Refusal(403, `the owner of the account has not made ${this.#delegate} its delegate`);
  }
}

/** A delegate that is there already is as good. */
async function allowed(adding: Promise<unknown>): Promise<void> {
  await adding.catch((error: unknown) => {
    if (!(error instanceof ApiError && error.status === CONFLICT)) throw error;
  });
}
