/** The parts of cashing in and out, made once for the routes and the periodic tasks. */
import type { Clock } from '../../shared/base/clock.ts';
import { errorMessage } from '../../shared/base/thrown.ts';
import { ProviderDown } from '../http/providerCalls.ts';
import { FiatChanges } from './changes.ts';
import { DailyStatements } from './dailyStatements.ts';
import { FiatDriver } from './driver.ts';
import type { FiatSessions } from './fiatSessionsStore.ts';
import type { FiatStatements } from './fiatStatementsStore.ts';
import type { FiatTransfers } from './fiatTransfersStore.ts';
import type { FiatWebhooks } from './fiatWebhooksStore.ts';
import { OffRamps } from './offramp.ts';
import { OnRamps } from './onramp.ts';
import type { FiatProvider } from './provider.ts';
import { type Payer, type Rail, RailDown } from './rail.ts';
import { FiatService } from './service.ts';
import { Settlement } from './settlement.ts';
import { Statements } from './statements.ts';

type FiatOptions = {
  readonly sessions: FiatSessions;
  readonly transfers: FiatTransfers;
  readonly webhooks: FiatWebhooks;
  readonly statementRows: FiatStatements;
  readonly providers: ReadonlyMap<string, FiatProvider>;
  readonly rail: Rail;
  readonly clock: Clock;
  readonly publicUrl: () => string;
  readonly isOwnAddress: (address: string) => boolean;
  /** True while this process may send transactions: in a cluster, while it is the leader in its epoch. */
  readonly mayBroadcast: () => boolean | Promise<boolean>;
  readonly log: { warn(fields: object, message: string): void };
};

const NOTE_MS = 60_000;

export class Fiat {
  readonly rail: Rail;
  readonly sessions: FiatSessions;
  readonly transfers: FiatTransfers;
  readonly webhooks: FiatWebhooks;
  readonly statementRows: FiatStatements;
  readonly statements: Statements;
  readonly providers: ReadonlyMap<string, FiatProvider>;
  readonly service: FiatService;
  readonly driver: FiatDriver;
  readonly payer: Payer;
  readonly #daily: DailyStatements;
  readonly #options: FiatOptions;
  /** The time of the last log line about each subject. */
  readonly #notedMs = new Map<string, number>();

  constructor(options: FiatOptions) {
    const { sessions, transfers, clock, rail } = options;
    this.#options = options;
    this.rail = rail;
    this.sessions = sessions;
    this.transfers = transfers;
    this.webhooks = options.webhooks;
    this.providers = options.providers;
    const changes = new FiatChanges(sessions, clock);
    this.statementRows = options.statementRows;
    this.statements = new Statements({ ...options, statements: options.statementRows, changes });
    const onRamps = new OnRamps({ sessions, transfers, changes, rail });
    this.payer = rail.payer({
      ...options,
      mayLeave: (id) => {
        const session = sessions.find(id);
        return session !== undefined && settlement.mayLeave(session);
      },
    });
    const { payer } = this;
    const offRamps = new OffRamps({ ...options, changes, payer });
    const settlement = new Settlement({ ...options, changes, offRamps, payer });
    const onFailure = (what: string, name: string, error: unknown): void => this.#note(what, name, error);
    const { statements, statementRows: rows } = this;
    this.#daily = new DailyStatements({ ...options, statements, rows, onFailure });
    this.driver = new FiatDriver({
      ...options,
      changes,
      onRamps,
      offRamps,
      settlement,
      lookPauseMs: rail.lookPauseMs,
      onFailure,
    });
    this.service = new FiatService({ ...options, changes, driver: this.driver });
  }

  tick(): void {
    this.driver.tick();
    void this.#daily.tick();
  }

  /**
   * Logs once a minute per subject, however many sessions wait for it. Only errors of our own classes are known to
   * contain no secret.
   */
  #note(what: string, name: string, error: unknown): void {
    const nowMs = this.#options.clock.nowMs();
    if (nowMs - (this.#notedMs.get(name) ?? Number.NEGATIVE_INFINITY) < NOTE_MS) return;
    this.#notedMs.set(name, nowMs);
    const isDown = error instanceof ProviderDown || error instanceof RailDown;
    const fields = isDown ? { reason: errorMessage(error) } : { err: error };
    this.#options.log.warn(
      { [what]: name, ...fields },
      'cashing in and out waits for this rail or provider, and tries again',
    );
  }
}
