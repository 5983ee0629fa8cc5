/**
 * Pages of the catalogue, from the gateway to the projector: control.db is locked by the gateway's connection, so the
 * projector asks for the changes after the revision it has, one page after the other, over a channel between the two
 * threads. A question that finds nothing newer is answered at the next change.
 */

/** The projector's question. */
export type CatalogQuestion = { readonly after: number };

export type CatalogPage = {
  /** The revision after which the page starts: that of the question, or 0. */
  readonly after: number;
  /** The last revision in it. */
  readonly revision: number;
  /** The catalogue has more changes than these. */
  readonly hasMore: boolean;
  /** The catalogue is an older one than that of the question: what is known of it is void. */
  readonly startsOver: boolean;
  /** The number of markets now: indexes from here on belong to no market. */
  readonly marketCount: number;
  /** Each is as it is now, once. */
  readonly markets: readonly CatalogMarket[];
  readonly events: readonly CatalogEvent[];
};

export type CatalogMarket = {
  readonly index: number;
  readonly uuid: Uint8Array;
  /** Index of its event. */
  readonly event: number | null;
  readonly title: string;
  readonly description: string;
  readonly category: string;
  /** Index in DEPLOY_STATUS_NAMES. */
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
