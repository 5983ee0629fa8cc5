/** The ledger rail in a fiat world: the token in the books of the exchange, whose balances are the model's own. */

import assert from 'node:assert/strict';
import { LedgerRail } from '../../gateway/fiat/ledgerRail.ts';
import { RailTransactions } from '../../gateway/fiat/railTransactionsStore.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { MOVEMENT } from '../../shared/base/codes.ts';
import { E } from '../../shared/base/errors.ts';
import type { TransferAuthorization } from '../../shared/crypto/eip3009.ts';
import { isDigestSignedBy } from '../../shared/crypto/walletSignature.ts';
import type { Random } from '../support/random.ts';
import { CONTRACT, type ModelExchange, template } from './fiatExchange.ts';
import type { Gates, Life } from './fiatGates.ts';
import { change, type MovedRow, PROVIDER, type Process, START_MICRO, WALLETS, type WorldRail } from './fiatRail.ts';

const PAGE = 3;
const BLOCK_MS = 1000;
const CONFIRMATIONS = 32;
const SPARED_MICRO = 10_000_000;
const UNKNOWN = { movement: null, code: E.OUTCOME_UNKNOWN };

/** The journals of the exchange: each reference is carried out once, and durable at once. */
class Books {
  readonly balances = new Map<number, number>(template.accounts.map((account) => [account, START_MICRO]));
  /** USDC that customers have spent elsewhere. */
  readonly outside = new Map<number, number>();
  readonly #done = new Set<string>();

  of(account: number): number {
    return this.balances.get(account)!;
  }

  move(account: number, kind: number, amountMicro: number, reference: string): boolean {
    const key = `${account}|${kind}|${reference}`;
    if (this.#done.has(key)) return true;
    const left = this.of(account) + (kind === MOVEMENT.DEPOSIT ? amountMicro : -amountMicro);
    if (left < 0) return false;
    this.balances.set(account, left);
    this.#done.add(key);
    return true;
  }

  /** Below zero the customer brings some back. */
  spend(account: number, amountMicro: number): void {
    if (this.of(account) < amountMicro) return;
    this.balances.set(account, this.of(account) - amountMicro);
    this.outside.set(account, (this.outside.get(account) ?? 0) + amountMicro);
  }
}

type Row = Omit<MovedRow, 'block'> & {
  readonly state: string;
  readonly kind: string;
  readonly reference: string | null;
  readonly credited_ms: number | null;
  readonly block_ms: number;
};

type Options = {
  readonly exchange: () => ModelExchange;
  readonly clock: Clock;
  readonly gates: Gates;
  readonly random: Random;
};

export class LedgerWorldRail implements WorldRail {
  readonly #options: Options;
  readonly #books = new Books();
  #rail!: LedgerRail;
  /** Of 100 movements, the number that end without an answer, carried out or not. */
  #silencePercent = 0;

  constructor(options: Options) {
    this.#options = options;
  }

  readonly node = (): Life => this.#options.exchange().life;

  open({ life, database, changes }: Process): LedgerRail {
    const owners = new Map(WALLETS.map((wallet, index) => [wallet, template.accounts[index]]));
    this.#rail = new LedgerRail({
      rows: new RailTransactions(database, changes),
      books: {
        availableMicro: (account) => this.#books.of(account),
        move: (...fields) => this.#move(life, fields),
      },
      accounts: {
        ownerOf: (address) => owners.get(address) ?? 0,
        isLinked: (address) => owners.has(address),
        mayWithdraw: () => true,
      },
      isSigned: async (_account, address, digest, signature) => isDigestSignedBy(address, digest, signature),
      contract: () => ({ chainId: 137, exchange: CONTRACT }),
      providerAddresses: new Set([PROVIDER]),
      blockMs: BLOCK_MS,
      clock: this.#options.clock,
      onError: () => {},
    });
    return this.#rail;
  }

  tick(): void {
    if (!this.node().isOver) this.#rail.tick();
  }

  domain() {
    return this.#rail.domain();
  }

  async send(kind: 'transfer' | 'cancel', transfer: TransferAuthorization, signature: string): Promise<boolean> {
    return 'txHash' in (await this.#rail.send(kind, transfer, signature));
  }

  moment() {
    return this.#rail.head();
  }

  authorization(from: string, nonce: string) {
    return this.#rail.authorization(from, nonce);
  }

  async arrivals(cursor: string) {
    return this.#rail.arrivals(accountOf(PROVIDER), cursor, PAGE);
  }

  balanceMicro(wallet: string): number {
    return this.#books.of(accountOf(wallet));
  }

  spend(customer: number): void {
    const account = template.accounts[customer];
    const spent = this.#books.outside.get(account) ?? 0;
    this.#books.spend(account, spent > 0 ? -spent : Math.max(0, this.#books.of(account) - SPARED_MICRO));
  }

  hashes(): readonly string[] | null {
    return this.node().isOver ? null : this.#rows().map(({ tx_hash }) => tx_hash);
  }

  misbehave(): null {
    this.#silencePercent = this.#options.random.pick([0, 0, 30]);
    return null;
  }

  heal(): void {
    this.#silencePercent = 0;
  }

  get isBusy(): boolean {
    const open = "state IN ('pending', 'included') OR (state = 'mined' AND credited_ms IS NULL)";
    return this.#options.exchange().count(`FROM rail_transactions WHERE ${open}`) > 0;
  }

  moved(): readonly MovedRow[] {
    return this.#rows()
      .filter(({ state, kind }) => state === 'mined' && kind === 'transfer')
      .map((row) => ({ ...row, block: Math.floor(row.block_ms / BLOCK_MS) }));
  }

  wasFinal(txHash: string, atMs: number): boolean {
    const { block } = this.moved().find(({ tx_hash }) => tx_hash === txHash)!;
    return Math.floor(atMs / BLOCK_MS) - block + 1 >= CONFIRMATIONS;
  }

  /** Under its own reference, unless the deposit was in the books before the provider named the transaction. */
  isCredited(txHash: string, session: string): boolean {
    const { credited_ms, reference } = this.#rows().find(({ tx_hash }) => tx_hash === txHash)!;
    if (credited_ms === null) return false;
    assert.ok([`fiat:${session}`, `rail:${txHash}`].includes(reference!), reference!);
    return true;
  }

  assertMoney(): void {
    const { balances, outside } = this.#books;
    const isQuiet = this.#rows().every(({ state }) => state !== 'pending' && state !== 'included');
    assert.ok(isQuiet, 'the rail is quiet');
    const total = (of: ReadonlyMap<number, number>) => [...of.values()].reduce((sum, each) => sum + each, 0);
    assert.equal(total(balances) + total(outside), template.accounts.length * START_MICRO, 'money in the books');
    for (const wallet of WALLETS) {
      const account = accountOf(wallet);
      const expected = START_MICRO + change(this.moved(), wallet) - (outside.get(account) ?? 0);
      assert.equal(this.#books.of(account), expected, `money of ${wallet}`);
    }
  }

  #rows(): Row[] {
    const sql = `SELECT tx_hash, kind, from_address AS "from", to_address AS "to", value_micro AS value, nonce, state,
      reference, credited_ms, block_ms FROM rail_transactions`;
    return this.#options.exchange().database.prepare<[], Row>(sql).all();
  }

  async #move(life: Life, [account, kind, amountMicro, reference]: [number, number, number, string]) {
    const { gates, random } = this.#options;
    return gates.call(life, () => {
      const isSilent = random.chance(this.#silencePercent);
      if (isSilent && random.chance(50)) return UNKNOWN;
      const isDone = this.#books.move(account, kind, amountMicro, reference);
      if (isSilent) return UNKNOWN;
      return isDone ? { movement: {} } : { movement: null, code: E.INSUFFICIENT_BALANCE };
    });
  }
}

function accountOf(wallet: string): number {
  return template.accounts[WALLETS.indexOf(wallet)]!;
}
