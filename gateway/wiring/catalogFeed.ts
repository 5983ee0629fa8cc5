/**
 * Brings the catalogue into the read model: the projector asks for the changes after a revision, and gets them page by
 * page (shared/wire/catalogPage.ts), each page in a turn of its own.
 * Owner: the gateway thread.
 *
 * Invariants:
 *   CATALOGFEED-1  A page has every market and event whose latest change is after `after` and not after `revision`.
 *   CATALOGFEED-2  A question is answered once. If nothing is newer, the answer waits for the next change.
 */
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { assert } from '../../shared/base/assert.ts';
import { DEPLOY_STATUS_NAMES } from '../../shared/base/codes.ts';
import type { CatalogEvent, CatalogMarket, CatalogPage, CatalogQuestion } from '../../shared/wire/catalogPage.ts';
import type { Progress } from '../../shared/wire/progress.ts';
import type { Catalog, EventEntry, MarketEntry } from '../markets/catalog.ts';
import { deployStatus } from '../markets/deployments.ts';

/** Pages of this size keep a turn below a millisecond. */
const PAGE_ROWS = 100;
const PAGE_CHARACTERS = 100_000;

type Revised = { readonly revision: number; readonly characters: number; readonly add: (page: Rows) => void };
type Rows = { readonly markets: CatalogMarket[]; readonly events: CatalogEvent[] };

export class CatalogFeed {
  readonly #catalog: Catalog;
  readonly #progress: Progress;
  #port: MessagePort | null = null;
  /** The revision of the waiting question, or null. */
  #asked: number | null = null;
  #isDue = false;

  constructor(catalog: Catalog, progress: Progress) {
    this.#catalog = catalog;
    this.#progress = progress;
    catalog.revisions.changed.subscribe(() => this.#answerSoon());
  }

  /** Opens a channel and returns the projector's end of it; closes the channel of the thread before. */
  connect(): MessagePort {
    this.#port?.close();
    const { port1, port2 } = new MessageChannel();
    port1.on('message', ({ after }: CatalogQuestion) => {
      if (port1 !== this.#port) return;
      this.#asked = after;
      this.#answer();
    });
    port1.unref();
    this.#port = port1;
    this.#asked = null;
    return port2;
  }

  /** Answers in a turn of its own, when the change is complete; all changes of one turn go into one page. */
  #answerSoon(): void {
    if (this.#isDue || this.#asked === null) return;
    this.#isDue = true;
    setImmediate(() => {
      this.#isDue = false;
      this.#answer();
    });
  }

  #answer(): void {
    const { current } = this.#catalog.revisions;
    if (this.#asked === null || this.#port === null || this.#asked === current) return;
    this.#port.postMessage(catalogPage(this.#catalog, this.#asked));
    this.#asked = null;
    this.#progress.ringProjector();
  }
}

export function catalogPage(catalog: Catalog, asked: number): CatalogPage {
  const { revisions } = catalog;
  const startsOver = asked > revisions.current;
  const after = startsOver ? 0 : asked;
  const changes = changesAfter(catalog, after);
  const rows: Rows = { markets: [], events: [] };
  let characters = 0;
  let taken = 0;
  for (const change of changes) {
    if (taken === PAGE_ROWS || (taken > 0 && characters + change.characters > PAGE_CHARACTERS)) break;
    change.add(rows);
    characters += change.characters;
    taken++;
  }
  const hasMore = taken < changes.length;
  const revision = hasMore ? changes[taken - 1].revision : revisions.current;
  assert(revision > after || startsOver, 'CATALOGFEED-2: a page brings its reader further');
  return { after, revision, hasMore, startsOver, marketCount: catalog.markets.length, ...rows };
}

/** Returns the changes in order of revision: all of them, or more than fit into a page. */
function changesAfter(catalog: Catalog, after: number): Revised[] {
  const { revisions } = catalog;
  const limit = PAGE_ROWS + 1;
  const markets = revisions.marketsAfter(after, limit).map(({ index, revision }): Revised => {
    const market = catalog.byIndex(index);
    const { title, description, outcomes } = market.details;
    const characters = title.length + description.length + outcomes.reduce((sum, name) => sum + name.length, 0);
    const add = (page: Rows): void => void page.markets.push(marketRow(catalog, market));
    return { revision, characters, add };
  });
  const events = revisions.eventsAfter(after, limit).map(({ index, revision }): Revised => {
    const event = catalog.events[index];
    const { title, description } = event.details;
    const add = (page: Rows): void => void page.events.push(eventRow(event));
    return { revision, characters: title.length + description.length, add };
  });
  return [...markets, ...events].sort((a, b) => a.revision - b.revision).slice(0, limit);
}

function marketRow(catalog: Catalog, market: MarketEntry): CatalogMarket {
  const { title, description, outcomes, category } = market.details;
  return {
    index: market.index,
    uuid: market.idBytes,
    event: market.eventId === null ? null : catalog.eventById(market.eventId)!.index,
    title,
    description,
    outcomes,
    category,
    deployStatus: DEPLOY_STATUS_NAMES.indexOf(deployStatus(market)),
    updatedMs: market.updatedMs,
  };
}

function eventRow({ index, details }: EventEntry): CatalogEvent {
  const { status, category, sport_league, sport_teams, title, description, start_time } = details;
  return {
    index,
    status,
    category,
    league: sport_league,
    teams: sport_teams ?? [],
    title,
    description,
    startMs: Date.parse(start_time),
  };
}
