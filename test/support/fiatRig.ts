/** Cashing in and out over a control.db of the test's own, books of the test's own, and a clock that the test moves. */

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { privateKeyToAccount } from 'viem/accounts';
import { Accounts, type User } from '../../gateway/account/accounts.ts';
import { type ControlDatabase, openControlDatabase } from '../../gateway/base/database.ts';
import { Fiat } from '../../gateway/fiat/fiat.ts';
import { type FiatSession, FiatSessions } from '../../gateway/fiat/fiatSessionsStore.ts';
import { FiatStatements } from '../../gateway/fiat/fiatStatementsStore.ts';
import { FiatTransfers, type Intent } from '../../gateway/fiat/fiatTransfersStore.ts';
import { FiatWebhooks } from '../../gateway/fiat/fiatWebhooksStore.ts';
import { LedgerRail } from '../../gateway/fiat/ledgerRail.ts';
import type { ProviderTransaction } from '../../gateway/fiat/provider.ts';
import type { Rail } from '../../gateway/fiat/rail.ts';
import { RailTransactions } from '../../gateway/fiat/railTransactionsStore.ts';
import type { NewFiatSession } from '../../gateway/fiat/service.ts';
import { MOVEMENT } from '../../shared/base/codes.ts';
import { E } from '../../shared/base/errors.ts';
import { toHex } from '../../shared/base/hex.ts';
import { type TransferAuthorization, transferDigest, transferTypedData } from '../../shared/crypto/eip3009.ts';
import { isDigestSignedBy } from '../../shared/crypto/walletSignature.ts';
import { temporaryDirectory } from './directory.ts';
import { EvmWorld } from './evmWorld.ts';
import { usdcCall } from './fakeUsdc.ts';
import { FakeFiatProvider, providerRow } from './fiatProvider.ts';
import { ManualClock } from './manualClock.ts';

const FIAT_START_MS = 1_790_000_000_000;
const EXCHANGE = '0xab27b729d9cc4cb1c00960700446924159e9298d';
const BLOCK_MS = 1000;
const FUNDS_MICRO = 1_000_000_000;

export const customerWallet = privateKeyToAccount(`0x${'c1'.repeat(32)}`);
const providerWallet = privateKeyToAccount(`0x${'d2'.repeat(32)}`);
export const CUSTOMER = customerWallet.address.toLowerCase();
export const PROVIDER = providerWallet.address.toLowerCase();

const CHAIN = {
  startMs: FIAT_START_MS,
  balances: new Map([CUSTOMER, PROVIDER].map((wallet) => [wallet, FUNDS_MICRO])),
};
const CHAIN_JOURNAL = 'chain.jsonl';

/** Balances that carry out each reference once, as the shards do. */
class TestBooks {
  readonly balances: Map<number, number>;
  readonly #done: Set<string>;
  readonly #path: string;
  /** The next answers: the books carry it out or not, and do not say. */
  silence: 'none' | 'done' | 'not_done' = 'none';

  /** @param path if given, completed transfers are stored there at once, for another process. */
  constructor(path: string) {
    this.#path = path;
    const { balances, done } = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : { balances: [], done: [] };
    this.balances = new Map(balances);
    this.#done = new Set(done);
  }

  availableMicro(account: number): number {
    return this.balances.get(account) ?? 0;
  }

  get totalMicro(): number {
    return [...this.balances.values()].reduce((sum, each) => sum + each, 0);
  }

  async move(account: number, kind: number, amountMicro: number, reference: string) {
    const key = `${account}|${kind}|${reference}`;
    if (this.silence === 'not_done') return { movement: null, code: E.OUTCOME_UNKNOWN };
    if (!this.#done.has(key)) {
      const change = kind === MOVEMENT.DEPOSIT ? amountMicro : -amountMicro;
      const left = this.availableMicro(account) + change;
      if (left < 0) return { movement: null, code: E.INSUFFICIENT_BALANCE };
      this.balances.set(account, left);
      this.#done.add(key);
      writeFileSync(this.#path, JSON.stringify({ balances: [...this.balances], done: [...this.#done] }));
    }
    return this.silence === 'done' ? { movement: null, code: E.OUTCOME_UNKNOWN } : { movement: {} };
  }
}

type RailKind = Rail['name'];
/** Sessions cannot distinguish the rails, so their tests run on both. */
export const RAILS: readonly RailKind[] = ['ledger', 'evm'];

type RigOptions = {
  /** Default: the ledger. */
  readonly on?: RailKind;
  /** Finality of the chain, in blocks. */
  readonly finality?: number;
  /** Default: a new one. */
  readonly evm?: EvmWorld;
  /** Files of an earlier rig; default: a new directory. */
  readonly directory?: string;
  readonly rail?: (rail: Rail) => Rail;
  /** Beside the rig's own. */
  readonly providers?: readonly FakeFiatProvider[];
};

/** The chain that a rig in this directory was on, when its process was killed. */
export function chainLeftIn(directory: string): Promise<EvmWorld> {
  return EvmWorld.again({ ...CHAIN, finality: 0, journal: join(directory, CHAIN_JOURNAL) });
}

export class FiatRig {
  readonly clock = new ManualClock(FIAT_START_MS);
  readonly path: string;
  readonly books: TestBooks;
  readonly provider = new FakeFiatProvider('fake', { ADDRESS: PROVIDER });
  readonly warnings: object[] = [];
  mayBroadcast = true;
  readonly frozen = new Set<number>();
  database!: ControlDatabase;
  customer!: User;
  company!: User;
  rows!: RailTransactions;
  ledger!: LedgerRail;
  /** The rail itself, below anything that a test has put over it. */
  rail!: Rail;
  /** For rigs on an EVM. */
  readonly evm: EvmWorld | null;
  fiat!: Fiat;
  /** Signatures that the ledger rail has had verified. */
  verified = 0;
  accounts!: Accounts;
  readonly #options: RigOptions;

  constructor(options: RigOptions = {}) {
    this.#options = options;
    const directory = options.directory ?? temporaryDirectory();
    this.path = join(directory, 'control.db');
    this.books = new TestBooks(join(directory, 'books.json'));
    const { on, evm, finality = 0 } = options;
    const journal = options.directory === undefined ? null : join(directory, CHAIN_JOURNAL);
    this.evm = on === 'evm' ? (evm ?? new EvmWorld({ ...CHAIN, finality, journal })) : null;
    this.open();
  }

  /** Everything in memory is made again from the file; the first time, with two accounts. */
  open(path = this.path, providers = [this.provider, ...(this.#options.providers ?? [])]): void {
    this.database?.close();
    this.database = openControlDatabase(path);
    const { clock, database } = this;
    this.accounts = new Accounts(database);
    if (this.accounts.count === 0) {
      for (const wallet of [CUSTOMER, PROVIDER]) {
        this.accounts.signUp({ ...NEW_USER, wallet }, 1);
      }
    }
    if (this.books.balances.size === 0) {
      for (const { index } of this.accounts.list(0, 2)) this.books.balances.set(index, FUNDS_MICRO);
    }
    const [customer, company] = this.accounts.list(0, 2);
    Object.assign(this, { customer, company });
    this.rows = new RailTransactions(database);
    const { accounts } = this;
    this.ledger = new LedgerRail({
      rows: this.rows,
      books: this.books,
      accounts: {
        ownerOf: (address) => accounts.ownerOf(address),
        isLinked: (address) => accounts.grants.isLinked(address),
        mayWithdraw: (account) => !this.frozen.has(account),
      },
      isSigned: async (_account, address, digest, signature) => {
        this.verified++;
        return isDigestSignedBy(address, digest, signature);
      },
      contract: () => ({ chainId: 137, exchange: EXCHANGE }),
      providerAddresses: new Set([PROVIDER]),
      blockMs: BLOCK_MS,
      clock,
      onError: (error) => this.warnings.push(error as object),
    });
    const mayPay = (address: string): boolean => !this.frozen.has(accounts.ownerOf(address));
    this.rail = this.evm?.openRail(clock, mayPay) ?? this.ledger;
    this.fiat = new Fiat({
      sessions: new FiatSessions(database),
      transfers: new FiatTransfers(database),
      webhooks: new FiatWebhooks(database),
      statementRows: new FiatStatements(database),
      providers: new Map(providers.map((each) => [each.name, each])),
      rail: this.#options.rail?.(this.rail) ?? this.rail,
      clock,
      publicUrl: () => 'https://exchange.test',
      isOwnAddress: (address) => address === EXCHANGE,
      mayBroadcast: () => this.mayBroadcast,
      log: { warn: (fields) => this.warnings.push(fields) },
    });
  }

  get nowMs(): number {
    return this.clock.nowMs();
  }

  /** Lets time pass in ticks, and everything that begins in one end. */
  async pass(ms: number, stepMs = 500): Promise<void> {
    for (let passed = 0; passed < ms; passed += stepMs) {
      this.clock.advance(stepMs);
      await this.tick();
    }
  }

  async tick(): Promise<void> {
    if (this.evm === null) this.ledger.tick();
    else this.evm.pass(this.nowMs);
    this.fiat.tick();
    await settled();
  }

  /** A session as an API call would make it. */
  async create(kind: 'onramp' | 'offramp', more: Partial<NewFiatSession> = {}): Promise<FiatSession> {
    const request = {
      account: this.customer.index,
      kind,
      provider: null,
      walletAddress: CUSTOMER,
      amount: '25',
      fiatCurrency: 'USD',
      paymentMethod: null,
      redirectPath: null,
      idempotencyKey: null,
      fingerprint: '',
      ...more,
    };
    const created = await this.fiat.service.create(request, '127.0.0.1');
    if (!('session' in created)) throw new Error(JSON.stringify(created));
    return created.session;
  }

  /** The present session, even after `open`. */
  session({ id }: { readonly id: string }): FiatSession {
    return this.fiat.sessions.find(id)!;
  }

  intent({ id }: { readonly id: string }): Intent {
    return this.fiat.transfers.intentOf(id)!;
  }

  /** The provider has, or now knows more of, the transaction of a session. */
  async provide(session: FiatSession, row: Parameters<typeof providerRow>[0]): Promise<void> {
    this.provider.set(session.partnerReference, this.rowOf(session, row));
    this.fiat.driver.hint(this.session(session));
    await this.pass(500);
  }

  rowOf(session: FiatSession, row: Parameters<typeof providerRow>[0]): ProviderTransaction {
    const usual: Partial<ProviderTransaction> =
      session.kind === 'offramp'
        ? { toAddress: PROVIDER, fromAddress: CUSTOMER, deadlineMs: session.createdMs + 1_800_000 }
        : { toAddress: CUSTOMER, fromAddress: PROVIDER };
    return providerRow({ createdAtMs: session.createdMs, ...usual, ...row });
  }

  /** An off-ramp that waits for the signature of the wallet. */
  async locked(): Promise<FiatSession> {
    const session = await this.create('offramp');
    await this.provide(session, {});
    return session;
  }

  async sign(session: FiatSession): Promise<void> {
    const refusal = await this.authorize(session);
    if (refusal !== null) throw new Error(JSON.stringify(refusal));
    await settled();
  }

  async authorize(session: FiatSession, signature?: string) {
    const intent = this.intent(session);
    const signed = signature ?? (await signTransfer(this.rail, intent));
    return this.fiat.service.authorize(this.session(session), intent.intentId, signed);
  }

  /** The provider's wallet sends USDC to the customer's. @returns the hash. */
  async sendFromProvider(valueMicro: number): Promise<string> {
    const transfer = { from: PROVIDER, to: CUSTOMER, valueMicro, ...this.#validity() };
    return this.#sent(transfer, await signTransfer(this.rail, transfer, providerWallet));
  }

  /** The customer's wallet pays the provider by a transfer of its own. */
  async sendFromCustomer(valueMicro: number): Promise<string> {
    const transfer = { from: CUSTOMER, to: PROVIDER, valueMicro, ...this.#validity() };
    return this.#sent(transfer, await signTransfer(this.rail, transfer));
  }

  async #sent(transfer: TransferAuthorization, signature: string): Promise<string> {
    return this.send('transfer', transfer, signature);
  }

  /** Sends without the relayer, as anyone can. */
  async send(kind: 'transfer' | 'cancel', transfer: TransferAuthorization, signature: string): Promise<string> {
    if (this.evm !== null) return this.evm.chain.sendElsewhere(usdcCall(kind, transfer, signature));
    const sent = await this.ledger.send(kind, transfer, signature);
    if ('fault' in sent) throw new Error(sent.fault);
    return sent.txHash;
  }

  /** USDC of the customer's wallet or account. */
  get customerMicro(): number {
    return this.#microOf(CUSTOMER);
  }

  set customerMicro(micro: number) {
    if (this.evm === null) this.books.balances.set(this.customer.index, micro);
    else this.evm.chain.contract.balances.set(CUSTOMER, micro);
  }

  get providerMicro(): number {
    return this.#microOf(PROVIDER);
  }

  #microOf(wallet: string): number {
    if (this.evm !== null) return this.evm.chain.contract.balances.get(wallet)!;
    return this.books.availableMicro(this.accounts.ownerOf(wallet));
  }

  #validity() {
    const nonce = toHex(crypto.getRandomValues(new Uint8Array(32)));
    return { validAfterSec: 0, validBeforeSec: Math.floor(this.nowMs / 1000) + 3600, nonce };
  }

  /** USDC that left one account and has not reached the other yet. */
  get inFlightMicro(): number {
    return [...this.rows.open()]
      .filter(({ state, kind }) => state === 'mined' && kind === 'transfer')
      .reduce((sum, { valueMicro }) => sum + valueMicro, 0);
  }

  get isConserved(): boolean {
    if (this.evm !== null) return this.customerMicro + this.providerMicro === 2 * FUNDS_MICRO;
    return this.books.totalMicro + this.inFlightMicro === 2 * FUNDS_MICRO;
  }
}

const NEW_USER = { displayName: null, email: null, role: 'user', referralCode: null };

export async function signTransfer(
  rail: Rail,
  transfer: TransferAuthorization,
  wallet = customerWallet,
): Promise<string> {
  const { domain, types, primaryType, message } = transferTypedData(await rail.domain(), transfer);
  const { EIP712Domain: _, ...own } = types;
  // An independent library signs, so that the digest is compared with its own.
  const signature = await wallet.signTypedData({
    domain: { ...domain, verifyingContract: domain.verifyingContract as `0x${string}` },
    types: own,
    primaryType,
    message,
  } as Parameters<typeof wallet.signTypedData>[0]);
  const direct = await wallet.sign({ hash: transferDigest(await rail.domain(), transfer) as `0x${string}` });
  if (signature !== direct) throw new Error('the digest is not that of the typed data');
  return signature;
}

/** Everything that was begun and waits for nothing outside is over. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 30; turn++) await new Promise(setImmediate);
}
