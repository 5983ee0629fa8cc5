/**
 * The exchange of the fiat model: the real sessions, driver, relayer and rail over a real SQLite, with a disk of the
 * model's own. It can be killed, or lose its power, at any moment.
 */

import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { Accounts } from '../../gateway/account/accounts.ts';
import { openControlDatabase } from '../../gateway/base/database.ts';
import { Fiat } from '../../gateway/fiat/fiat.ts';
import { FiatSessions } from '../../gateway/fiat/fiatSessionsStore.ts';
import { FiatStatements } from '../../gateway/fiat/fiatStatementsStore.ts';
import { FiatTransfers } from '../../gateway/fiat/fiatTransfersStore.ts';
import { FiatWebhooks } from '../../gateway/fiat/fiatWebhooksStore.ts';
import type { FiatProvider } from '../../gateway/fiat/provider.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { type Gates, Life } from './fiatGates.ts';
import { PROVIDER, WALLETS, type WorldRail } from './fiatRail.ts';

export const CONTRACT = '0xab27b729d9cc4cb1c00960700446924159e9298d';
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

type ExchangeOptions = {
  readonly rail: WorldRail;
  readonly clock: Clock;
  readonly gates: Gates;
  readonly provider: () => FiatProvider;
};

export class ModelExchange {
  readonly #options: ExchangeOptions;
  life = new Life();
  database!: ReturnType<typeof openControlDatabase>;
  fiat!: Fiat;
  webhooks!: FiatWebhooks;
  #disk: Buffer = template.bytes;
  #written = 0;
  #durable = 0;

  constructor(options: ExchangeOptions) {
    this.#options = options;
    this.life.end();
  }

  /** @param isPowerCut true: unsynced changes are lost too. */
  end(isPowerCut: boolean): void {
    this.life.end();
    if (!isPowerCut) this.#disk = this.database.serialize();
    this.database.close();
  }

  start(): void {
    const { clock, gates, provider, rail } = this.#options;
    const life = new Life();
    this.life = life;
    this.database = new Sqlite(this.#disk);
    this.database.pragma('foreign_keys = ON');
    this.#written = this.#durable = 0;
    const { database } = this;
    const changes = this.#changes(life, database);
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
      statementRows: new FiatStatements(database, changes),
      providers: new Map([[called.name, called]]),
      rail: rail.open({ life, database, changes }),
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
    this.fiat.tick();
  }

  /** LATERSYNC-1 in small: a sync covers everything written before it was requested. */
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
}
