/** The administrator's commands for event sets (RULES.md 19). Owner: the gateway thread. */
import { randomUUID } from 'node:crypto';
import type { Clock } from '../../shared/base/clock.ts';
import type { MarketStatus } from '../../shared/base/codes.ts';
import { E, ERRORS, errorRow, OK } from '../../shared/base/errors.ts';
import { NO_MARKET } from '../../shared/wire/commands.ts';
import type { Refusal } from '../base/refusal.ts';
import type { SetClient } from '../shardlink/setClient.ts';
import type { Catalog, EventDetails, EventEntry, NewMarket } from './catalog.ts';
import { isSet } from './eventSets.ts';
import type { MarketCommands } from './marketCommands.ts';

type SetCatalog = Pick<
  Catalog,
  'tokens' | 'shardOf' | 'byId' | 'eventById' | 'eventBySlug' | 'createSet' | 'updateMarket' | 'durable'
>;
type Opened = { readonly event: EventEntry } | { readonly refusal: Refusal };

const ON_A_CHAIN: Refusal = {
  row: ERRORS.SETS_UNAVAILABLE,
  message: 'event sets are not available here: the markets of this exchange are on a chain',
};
const NOT_RAISED: Refusal = {
  row: ERRORS.SETS_UNAVAILABLE,
  message: 'event sets are not available here: not every member of the cluster runs a version that has them',
};

export class EventSetCommands {
  readonly #catalog: SetCatalog;
  readonly engine: SetClient;
  readonly #marketCommands: Pick<MarketCommands, 'inTurn' | 'openMany'>;
  readonly #clock: Clock;

  constructor(
    catalog: SetCatalog,
    engine: SetClient,
    marketCommands: Pick<MarketCommands, 'inTurn' | 'openMany'>,
    clock: Clock,
  ) {
    this.#catalog = catalog;
    this.engine = engine;
    this.#marketCommands = marketCommands;
    this.#clock = clock;
  }

  /** @param fields of each market; the event's id is added */
  async open(
    slug: string,
    details: EventDetails,
    fields: readonly NewMarket[],
    eventId: string = randomUUID(),
  ): Promise<Opened> {
    if (!this.#catalog.tokens.takesOthers) return { refusal: ON_A_CHAIN };
    const shard = this.#catalog.shardOf(eventId, null);
    // Under older rules a shard refuses every command for sets; this one names a set that there is not.
    const { code } = await this.engine.settle(NO_MARKET, shard);
    if (code === E.SETS_UNAVAILABLE) return { refusal: NOT_RAISED };
    if (code !== E.MARKET_NOT_FOUND) return { refusal: { row: errorRow(code) } };
    const nowMs = this.#clock.nowMs();
    const made = await this.#marketCommands.inTurn(async () => {
      const used = this.#used(slug, eventId, fields);
      if (used !== null) return { refusal: { row: ERRORS.CONFLICT, message: used } };
      const markets = fields.map((each) => ({ ...each, tokenIds: null }));
      return { event: this.#catalog.createSet(slug, details, markets, nowMs, eventId) };
    });
    if ('refusal' in made) return made;
    const opened = await this.#marketCommands.openMany(made.event.markets);
    const refused = opened.find((each) => 'refusal' in each);
    return refused !== undefined && 'refusal' in refused ? refused : made;
  }

  /** Returns what is used by another event or market; null if the set can be made. */
  #used(slug: string, eventId: string, markets: readonly NewMarket[]): string | null {
    if (this.#catalog.eventBySlug(slug) !== undefined) return 'slug is used by another event';
    if (this.#catalog.eventById(eventId) !== undefined) return 'id is used by another event';
    const ids = markets.flatMap(({ id }) => id ?? []);
    const isUsed = ids.some((id) => this.#catalog.byId(id) !== undefined) || new Set(ids).size < ids.length;
    return isUsed ? 'id is used by another market' : null;
  }

  /** @param payoutsPpm of Yes, by market; null: equal parts. @returns null on success */
  decide(
    event: EventEntry,
    status: MarketStatus,
    payoutsPpm: ReadonlyMap<string, number> | null,
  ): Promise<Refusal | null> {
    if (!isSet(event)) return Promise.resolve({ row: ERRORS.NOT_A_SET });
    const [{ index, shard }] = event.markets;
    const payouts = payoutsPpm === null ? null : event.markets.map(({ id }) => payoutsPpm.get(id) ?? 0);
    return this.#carryOut(event, () => this.engine.decide(index, shard, status, payouts));
  }

  /** Pays every holder who has not claimed. @returns null on success */
  settle(event: EventEntry): Promise<Refusal | null> {
    if (!isSet(event)) return Promise.resolve({ row: ERRORS.NOT_A_SET });
    const [{ index, shard }] = event.markets;
    return this.#carryOut(event, () => this.engine.settle(index, shard));
  }

  async #carryOut(event: EventEntry, command: () => Promise<{ readonly code: number }>): Promise<Refusal | null> {
    return this.#marketCommands.inTurn(async () => {
      const { code } = await command();
      if (code !== OK) return { row: errorRow(code) };
      const nowMs = this.#clock.nowMs();
      for (const market of event.markets) this.#catalog.updateMarket(market, event.id, market.details, nowMs);
      await this.#catalog.durable();
      return null;
    });
  }
}
