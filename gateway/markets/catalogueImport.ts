/**
 * Imports lines of a catalogue (RULES.md 9.40): each creates or changes an event or a market, creates an event set, or
 * equals the present state. Lines are independent: one that fails does not stop the others. The thread is blocked for
 * less than a millisecond at a time, except by the one transaction of a set; lines are executed in groups, whose
 * markets share the syncs of control.db and the journals. Owner: the gateway thread.
 *
 * Invariants:
 *   IMPORT-1  One import at a time: no other import runs between the look-up of a key and the resulting change.
 *   IMPORT-2  A line sees the effects of the lines before it.
 *   IMPORT-3  A report is returned once everything in it survives a power cut.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  type EventFields,
  type ImportReport,
  type LineReport,
  type LineResult,
  type MarketFields,
  REQUIRED_OF_EVENT,
  REQUIRED_OF_MARKET,
  type SetFields,
} from '../../shared/api/catalogue.ts';
import type { NewMarket as GivenMarket } from '../../shared/api/markets.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import type { Administrator } from '../base/principal.ts';
import type { Refusal } from '../base/refusal.ts';
import { errorFields } from '../http/respond.ts';
import type { Catalog, EventEntry, MarketEntry, NewMarket } from './catalog.ts';
import { changeOfEvent, changeOfMarket, type PresentTerms } from './catalogueChanges.ts';
import { idOfProvided, isBlank, linesOf, parseLine } from './catalogueLines.ts';
import type { EventSetCommands } from './eventSetCommands.ts';
import { isSet } from './eventSets.ts';
import type { MarketChange, MarketCommands } from './marketCommands.ts';
import { completeEventDetails } from './marketDetails.ts';
import { invalidField, readNewMarket, readNewMembers } from './newMarket.ts';
import { type ReliedTerms, refuseAlone, type SecondOperator, type TermsChange } from './reliedTerms.ts';

type States = {
  has(marketIndex: number): boolean;
  status(marketIndex: number): PresentTerms['status'];
  feeBps(marketIndex: number): number;
  startMs(marketIndex: number): number;
  endMs(marketIndex: number): number;
};

type CatalogueImportDeps = {
  readonly catalog: Catalog;
  readonly states: States;
  readonly marketCommands: Pick<MarketCommands, 'openMany' | 'change'>;
  readonly eventSets: Pick<EventSetCommands, 'open'>;
  readonly terms: Pick<ReliedTerms, 'ofMarket' | 'ofEvent' | 'noteAlone'>;
  readonly fourEyes: SecondOperator;
  /** Checkpoints the write-ahead log of control.db if it has become long. */
  readonly checkpoint: () => void;
  readonly defaultFeeBps: number;
  readonly clock: Clock;
};

type Report = { -readonly [K in keyof LineReport]: LineReport[K] };

/** Markets whose commands are in flight together: far fewer than a shard's ring has room for. */
const GROUP_MARKETS = 128;
/** Reading a line takes up to a tenth of this; a turn ends with the line that exceeds it. */
const TURN_MS = 0.4;
/** A change writes one row in a transaction of its own. */
const CHANGED_PER_TURN = 3;

export class CatalogueImport {
  readonly #deps: CatalogueImportDeps;
  #lastImport: Promise<unknown> = Promise.resolve();

  constructor(deps: CatalogueImportDeps) {
    this.#deps = deps;
  }

  /** IMPORT-1. @param body lines of JSON */
  run(body: Buffer, administrator: Administrator): Promise<ImportReport> {
    const report = this.#lastImport.then(() => new ImportRun(this.#deps, administrator).run(body));
    this.#lastImport = report.catch(() => undefined);
    return report;
  }
}

type WantedChange = {
  readonly market: MarketEntry;
  readonly change: MarketChange;
  readonly report: Report;
  readonly terms: TermsChange | null;
};

class ImportRun {
  readonly #deps: CatalogueImportDeps;
  readonly #administrator: Administrator;
  readonly #reports: Report[] = [];
  /** The group being collected: IMPORT-2 holds because a key occurs in it at most once. */
  readonly #ids = new Set<string>();
  #opens: { readonly market: NewMarket | MarketEntry; readonly report: Report }[] = [];
  #changes: WantedChange[] = [];

  constructor(deps: CatalogueImportDeps, administrator: Administrator) {
    this.#deps = deps;
    this.#administrator = administrator;
  }

  async run(body: Buffer): Promise<ImportReport> {
    let startedMs = performance.now();
    for (const { number, bytes } of linesOf(body)) {
      if (!isBlank(bytes)) await this.#line(number, bytes);
      if (this.#ids.size >= GROUP_MARKETS) await this.#carryOut();
      if (performance.now() - startedMs < TURN_MS) continue;
      await nextTurn();
      startedMs = performance.now();
    }
    await this.#carryOut();
    await this.#deps.catalog.durable();
    const count = (result: LineResult): number => this.#reports.filter((report) => report.result === result).length;
    return {
      created: count('created'),
      updated: count('updated'),
      unchanged: count('unchanged'),
      failed: count('failed'),
      lines: this.#reports,
    };
  }

  async #line(number: number, bytes: Buffer): Promise<void> {
    const report: Report = { line: number, result: 'unchanged' };
    this.#reports.push(report);
    const parsed = parseLine(bytes);
    const refusal =
      'refusal' in parsed
        ? parsed.refusal
        : 'event' in parsed
          ? this.#event(parsed.event, report)
          : 'set' in parsed
            ? await this.#set(parsed.set, report)
            : await this.#market(parsed.market, report);
    if (refusal !== null) fail(report, refusal);
  }

  #event(fields: EventFields, report: Report): Refusal | null {
    const { catalog, clock } = this.#deps;
    const { id: givenId, slug, winners, ...details } = fields;
    report.kind = 'event';
    report.slug = slug;
    const nowMs = clock.nowMs();
    const event = catalog.eventBySlug(slug);
    if (winners !== event?.details.winners && winners !== undefined)
      return invalidField('event.winners', 'left out: an event set is made by a line "event_set"');
    if (event === undefined) {
      const id = givenId?.toLowerCase();
      const missing = REQUIRED_OF_EVENT.find((name) => fields[name] === undefined);
      if (missing !== undefined) return missingField(`event.${missing}`);
      if (id !== undefined && catalog.eventById(id) !== undefined) return USED_ID;
      const complete = completeEventDetails({ ...details, title: fields.title! }, nowMs);
      report.id = catalog.createEvent(slug, complete, nowMs, id).id;
      report.result = 'created';
      return null;
    }
    report.id = event.id;
    const changed = changeOfEvent(event, fields);
    if ('refusal' in changed) return changed.refusal;
    if (changed.change === null) return null;
    const terms = this.#deps.terms.ofEvent(event, changed.change);
    const refusal = terms && refuseAlone(this.#administrator, 'event_terms', terms, this.#deps.fourEyes);
    if (refusal !== null) return refusal;
    catalog.updateEvent(event, { ...event.details, ...changed.change }, nowMs);
    if (terms !== null) this.#deps.terms.noteAlone(this.#administrator, { event_id: event.id }, terms);
    report.result = 'updated';
    return null;
  }

  /** A set is made as a whole; once it is known, its line changes nothing. */
  async #set(fields: SetFields, report: Report): Promise<Refusal | null> {
    const { catalog, clock, defaultFeeBps, eventSets } = this.#deps;
    const { id, slug, title, category = 'Other', markets, ...terms } = fields;
    report.kind = 'event_set';
    report.slug = slug;
    await this.#carryOut();
    const known = catalog.eventBySlug(slug);
    if (known !== undefined) {
      report.id = known.id;
      return isSame(known, fields) ? await this.#openMissing(known, report) : OTHER_SET;
    }
    const nowMs = clock.nowMs();
    const read = readNewMembers({ category }, terms, markets, { nowMs, defaultFeeBps });
    if ('refusal' in read) return read.refusal;
    const opened = await eventSets.open(
      slug,
      completeEventDetails({ title, category }, nowMs),
      read.markets,
      id?.toLowerCase(),
    );
    if ('refusal' in opened) return opened.refusal;
    report.id = opened.event.id;
    report.result = 'created';
    return null;
  }

  /** Completes a set whose shard was away when it was made. */
  async #openMissing({ markets }: EventEntry, report: Report): Promise<Refusal | null> {
    const missing = markets.filter(({ index }) => !this.#deps.states.has(index));
    if (missing.length === 0) return null;
    report.result = 'created';
    const opened = await this.#deps.marketCommands.openMany(missing);
    return opened.flatMap((each) => ('refusal' in each ? each.refusal : []))[0] ?? null;
  }

  async #market(fields: MarketFields, report: Report): Promise<Refusal | null> {
    report.kind = 'market';
    const id = idOf(fields);
    if (id === null) return missingField('market.id');
    report.id = id;
    if (this.#ids.has(id)) await this.#carryOut();
    const eventId = this.#eventIdOf(fields);
    if (typeof eventId === 'object' && eventId !== null) return eventId;
    const market = this.#deps.catalog.byId(id);
    if (market === undefined) return this.#new(id, fields, eventId ?? null, report);
    if (this.#deps.states.has(market.index)) return this.#known(market, fields, eventId, report);
    return this.#open(id, market, report);
  }

  /** Undefined if the line does not name the market's event. */
  #eventIdOf({ event_slug, event_id }: MarketFields): string | null | undefined | Refusal {
    if (event_slug !== undefined && event_id !== undefined) {
      return invalidField('event_slug', 'event_slug or event_id, not both');
    }
    const given = event_slug ?? event_id;
    if (given === undefined || given === null) return event_slug === undefined ? event_id : event_slug;
    const { catalog } = this.#deps;
    const event = event_slug == null ? catalog.eventById(given) : catalog.eventBySlug(given);
    return event?.id ?? { row: ERRORS.RESOURCE_NOT_FOUND, message: 'event not found' };
  }

  #new(id: string, fields: MarketFields, eventId: string | null, report: Report): Refusal | null {
    const { clock, defaultFeeBps } = this.#deps;
    const { id: _, event_slug: _slug, status, ...given } = fields;
    const missing = REQUIRED_OF_MARKET.find((name) => fields[name] === undefined);
    if (missing !== undefined) return missingField(`market.${missing}`);
    if (status !== undefined && status !== 'draft' && status !== 'pending' && status !== 'active') {
      return invalidField('status', 'draft, pending or active');
    }
    // All that is required is there.
    const described = { ...given, status } as GivenMarket;
    const read = readNewMarket(described, eventId, { nowMs: clock.nowMs(), defaultFeeBps });
    return 'refusal' in read ? read.refusal : this.#open(id, { ...read.market, id }, report);
  }

  #open(id: string, market: NewMarket | MarketEntry, report: Report): null {
    report.result = 'created';
    this.#ids.add(id);
    this.#opens.push({ market, report });
    return null;
  }

  #known(
    market: MarketEntry,
    fields: MarketFields,
    eventId: string | null | undefined,
    report: Report,
  ): Refusal | null {
    const { states } = this.#deps;
    const { index } = market;
    const present = {
      status: states.status(index),
      feeBps: states.feeBps(index),
      startMs: states.startMs(index),
      endMs: states.endMs(index),
    };
    const changed = changeOfMarket(market, present, fields, eventId);
    if ('refusal' in changed) return changed.refusal;
    if (changed.change === null) return null;
    const terms = this.#deps.terms.ofMarket(market, changed.change);
    // A field that can never change has its own refusal.
    const isAsked = terms !== null && !('outcomes' in terms.after);
    const refusal = isAsked ? refuseAlone(this.#administrator, 'market_terms', terms, this.#deps.fourEyes) : null;
    if (refusal !== null) return refusal;
    report.result = 'updated';
    this.#ids.add(market.id);
    this.#changes.push({ market, change: changed.change, report, terms });
    return null;
  }

  /** Opens and changes the markets of the group. */
  async #carryOut(): Promise<void> {
    const opens = this.#opens;
    const changes = this.#changes;
    this.#opens = [];
    this.#changes = [];
    this.#ids.clear();
    const { marketCommands } = this.#deps;
    if (opens.length > 0) {
      const opened = await marketCommands.openMany(opens.map(({ market }) => market));
      for (const [at, each] of opened.entries()) if ('refusal' in each) fail(opens[at].report, each.refusal);
    }
    const refusals: Promise<Refusal | null>[] = [];
    for (const { market, change } of changes) {
      const changed = marketCommands.change(market, change);
      // All are awaited below; until then a failure has no other listener.
      changed.catch(() => undefined);
      refusals.push(changed);
      if (refusals.length % CHANGED_PER_TURN === 0) await nextTurn();
    }
    for (const [at, refusal] of (await Promise.all(refusals)).entries()) {
      const { market, report, terms } = changes[at];
      if (refusal !== null) fail(report, refusal);
      else if (terms !== null) this.#deps.terms.noteAlone(this.#administrator, { market_id: market.id }, terms);
    }
    // Otherwise the periodic checkpoint would find the pages of several seconds, and block the thread for a tenth of a
    // second.
    this.#deps.checkpoint();
  }
}

const OTHER_SET: Refusal = {
  row: ERRORS.CONFLICT,
  message: 'slug is used by an event that is no set, or by a set with another id or other markets',
};
const USED_ID: Refusal = { row: ERRORS.CONFLICT, message: 'id is used by another event' };

/** True for this set with these markets, by their ids, or by their titles where the line has no ids. */
function isSame(event: EventEntry, { id: ofEvent = event.id, markets }: SetFields): boolean {
  if (!isSet(event) || event.id !== ofEvent.toLowerCase() || event.markets.length !== markets.length) return false;
  return markets.every(({ id, title }, place) => {
    const known = event.markets[place];
    return id === undefined ? known.details.title === title : known.id === id.toLowerCase();
  });
}

/** The key of the market, or null when the line has none. */
function idOf({ id, external_source = 'native', external_event_id }: MarketFields): string | null {
  if (id !== undefined) return id.toLowerCase();
  // Many markets have no name at their provider: an empty name would make them the same market.
  return external_event_id == null || external_event_id === ''
    ? null
    : idOfProvided(external_source, external_event_id);
}

function missingField(field: string): Refusal {
  const name = field.slice(field.indexOf('.') + 1);
  return { row: ERRORS.VALIDATION_ERROR, message: `missing field: ${name}`, details: { field, rule: 'required' } };
}

function fail(report: Report, refusal: Refusal): void {
  report.result = 'failed';
  Object.assign(report, errorFields(refusal));
}
