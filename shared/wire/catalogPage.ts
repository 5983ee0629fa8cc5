/**
 * Pages of the catalogue, from the gateway to the projector: control.db is locked by the gateway's connection, so the
 * projector asks for the changes after its own revision, page by page, over a channel between the two threads. If there
 * is nothing newer, the answer comes at the next change.
 */

/** The projector's question. */
export type CatalogQuestion = { readonly after: number };

export type CatalogPage = {
  /** The revision after which the page starts: the question's revision, or 0. */
  readonly after: number;
  /** The last revision on the page. */
  readonly revision: number;
  /** True if the catalogue has more changes. */
  readonly hasMore: boolean;
  /** True if the catalogue is older than the question's: then the projector discards everything that it knows of it. */
  readonly startsOver: boolean;
  /** The present number of markets: higher indexes belong to no market. */
  readonly marketCount: number;
  /** Each changed market once, as it is now. */
  readonly markets: readonly CatalogMarket[];
  readonly events: readonly CatalogEvent[];
};

export type CatalogMarket = {
  readonly index: number;
  readonly uuid: Uint8Array;
  /** The index of its event. */
  readonly event: number | null;
  readonly title: string;
  readonly description: string;
  readonly outcomes: readonly string[];
  readonly category: string;
  /** The index in DEPLOY_STATUS_NAMES. */
  readonly deployStatus: number;
  readonly updatedMs: number;
};

export type CatalogEvent = {
  readonly index: number;
  readonly status: string;
  readonly category: string;
  readonly league: string | null;
  readonly teams: readonly string[];
  readonly title: string;
  readonly description: string;
  readonly startMs: number;
};
