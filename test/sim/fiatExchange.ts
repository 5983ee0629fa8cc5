/**
 * The exchange of the fiat model: the real sessions, driver, relayer and ledger rail over a real SQLite, with books and
 * a disk of the model's own. It can be killed, or lose its power, at any moment.
 */

import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { Fiat } from '../../gateway/fiat/fiat.ts';
import { LedgerRail } from '../../gateway/fiat/ledgerRail.ts';
import type { FiatProvider } from '../../gateway/fiat/provider.ts';
import { Accounts } from '../../gateway/store/accounts.ts';
import { openControlDatabase } from '../../gateway/store/database.ts';
import { FiatSessions } from '../../gateway/store/fiatSessions.ts';
import { FiatTransfers } from '../../gateway/store/fiatTransfers.ts';
import { FiatWebhooks } from '../../gateway/store/fiatWebhooks.ts';
import { RailTransactions } from '../../gateway/store/railTransactions.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { MOVEMENT } from '../../shared/base/codes.ts';
import { E } from '../../shared/base/errors.ts';
import { addressOf } from '../../shared/client/privateKey.ts';
import { temporaryDirectory } from '../support/directory.ts';
import type { Random } from '../support/random.ts';
import { type Gates, Life } from './fiatGates.ts';

/** Two customers and the provider. */
export const KEYS = ['c1', 'c2', 'd3'].map((byte) => `0x${byte.repeat(32)}`);
export const WALLETS = KEYS.map(addressOf);
export const PROVIDER = WALLETS[2];
export const CUSTOMERS = [0, 1];
export const START_MICRO = 1_000_000_000;
const CONTRACT = '0xab27b729d9cc4cb1c00960700446924159e9298d';
const NEW_USER = { displayName: null, email: null, role: 'user', referralCode: null };

type Template = { readonly bytes: Buffer; readonly accounts: readonly number[] };

/** A control.db with the accounts of the model, made once. */
export const template: Template = makeTemplate();

function makeTemplate(): Template {
  const database = openControlDatabase(join(temporaryDirectory(), 'control.db'));
  const accounts = new Accounts(database);
  const indexes = WALLETS.map((wallet) => accounts.signUp({ ...NEW_USER, wallet }, 1).index);
  database.pragma('journal_mode = DELETE');
  const bytes = database.serialize();
  database.close();
  return { bytes, accounts: indexes };
}

/** The journals of the exchange: each reference is carried out once, and durable at once. */
export class Books {
  readonly balances = new Map<number, number>(template.accounts.map((account) => [account, START_MICRO]));
  readonly done = new Map<string, number>();
  /** USDC that customers have spent elsewhere. */
  readonly outside = new Map<number, number>();

  of(account: number): number {
    return this.balances.get(account)!;
  }

  move(account: number, kind: number, amountMicro: number, reference: string): boolean {
    const key = `${account}|${kind}|${reference}`;
    if (this.done.has(key)) return true;
    const left = this.of(account) + (kind === MOVEMENT.DEPOSIT ? amountMicro : -amountMicro);
    if (left < 0) return false;
    this.balances.set(account, left);
    this.done.set(key, amountMicro);
    return true;
  }

  /** Below zero the customer brings some back. */
  spend(account: number, amountMicro: number): void {
    if (this.of(account) < amountMicro) return;
    this.balances.set(account, this.of(account) - amountMicro);
    this.outside.set(account, (this.outside.get(account) ?? 0) + amountMicro);
  }
}

type ExchangeOptions = {
  readonly books: Books;
  readonly clock: Clock;
  readonly gates: Gates;
  readonly random: Random;
  readonly provider: () => FiatProvider;
};

export class ModelExchange {
  readonly #options: ExchangeOptions;
  life = new Life();
  database!: ReturnType<typeof openControlDatabase>;
  ledger!: LedgerRail;
  fiat!: Fiat;
  webhooks!: FiatWebhooks;
  /** Of 100 movements so many are carried out, or not, without an answer. */
  silencePercent = 0;
  #disk: Buffer = template.bytes;
  #written = 0;
  #durable = 0;

  constructor(options: ExchangeOptions) {
    this.#options = options;
    this.life.end();
  }

  /** @param isPowerCut what was not synced is lost too. */
  end(isPowerCut: boolean): void {
    this.life.end();
    if (!isPowerCut) this.#disk = this.database.serialize();
    this.database.close();
  }

  start(): void {
    const { clock, gates, provider } = this.#options;
    const life = new Life();
    this.life = life;
    this.database = new Sqlite(this.#disk);
    this.database.pragma('foreign_keys = ON');
    this.#written = this.#durable = 0;
    const { database } = this;
    const changes = this.#changes(life, database);
    const owners = new Map(WALLETS.map((wallet, index) => [wallet, template.accounts[index]]));
    this.ledger = new LedgerRail({
      rows: new RailTransactions(database, changes),
      books: {
        availableMicro: (account) => this.#options.books.of(account),
        move: (...fields) => this.#move(life, fields),
      },
      accounts: {
        ownerOf: (address) => owners.get(address) ?? 0,
        isLinked: (address) => owners.has(address),
        mayWithdraw: () => true,
      },
      contract: () => ({ chainId: 137, exchange: CONTRACT }),
      providerAddresses: new Set([PROVIDER]),
      blockMs: 1000,
      clock,
      onError: () => {},
    });
    this.webhooks = new FiatWebhooks(database, changes);
    const remote = provider();
    const called: FiatProvider = {
      name: remote.name,
      ledgerAddress: PROVIDER,
      createLaunch: (request, signal) => gates.call(life, () => remote.createLaunch(request, signal)),
      listTransactions: (...fields) => gates.call(life, () => remote.listTransactions(...fields)),
      verifyWebhook: (...fields) => remote.verifyWebhook(...fields),
    };
    this.fiat = new Fiat({
      sessions: new FiatSessions(database, changes),
      transfers: new FiatTransfers(database),
      webhooks: this.webhooks,
      providers: new Map([[called.name, called]]),
      rail: this.ledger,
      clock,
      publicUrl: () => 'https://exchange.test',
      isOwnAddress: (address) => address === CONTRACT,
      mayBroadcast: () => true,
      log: { warn: () => {} },
    });
  }

  /** @param rest of the question, from its FROM. */
  count(rest: string): number {
    return this.database.prepare<[], number>(`SELECT count(*) ${rest}`).pluck().get()!;
  }

  tick(): void {
    if (this.life.isOver) return;
    this.ledger.tick();
    this.fiat.tick();
  }

  /** LATERSYNC-1 in small: a sync holds what was written before it was asked for. */
  #changes(life: Life, database: ReturnType<typeof openControlDatabase>) {
    const { gates } = this.#options;
    return {
      isDurable: true,
      write: (change: () => void) => {
        if (life.isOver) throw new Error('the process has ended');
        change();
        this.#written++;
      },
      durable: async () => {
        if (life.isOver) return gates.call(life, () => {});
        const written = this.#written;
        const bytes = written > this.#durable ? database.serialize() : null;
        await gates.call(life, () => {});
        if (bytes === null || written <= this.#durable) return;
        this.#disk = bytes;
        this.#durable = written;
      },
    };
  }

  async #move(life: Life, [account, kind, amountMicro, reference]: [number, number, number, string]) {
    const { gates, books, random } = this.#options;
    return gates.call(life, () => {
      const isSilent = random.chance(this.silencePercent);
      if (isSilent && random.chance(50)) return UNKNOWN;
      const isDone = books.move(account, kind, amountMicro, reference);
      if (isSilent) return UNKNOWN;
      return isDone ? { movement: {} } : { movement: null, code: E.INSUFFICIENT_BALANCE };
    });
  }
}

const UNKNOWN = { movement: null, code: E.OUTCOME_UNKNOWN };
