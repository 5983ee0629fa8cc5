/**
 * The callers who wait for the answer to a query. Several callers may wait for the same answer: its query then runs in
 * the first turn that any of them gets, so that other queries of one caller delay none of the others.
 * Owner: the gateway thread.
 */

/** The account of the caller, or the address of a caller without credentials. Each lane has turns of its own. */
export type Lane = number | string;

/** A caller who waits for an answer, such as a request. */
export type Asker = {
  readonly lane: Lane;
  /** True if the caller's client has disconnected. */
  readonly isGone: boolean;
};

export class Askers implements Asker {
  readonly lane: Lane;
  readonly #askers: Asker[];
  readonly #lanes: Set<Lane>;
  /** Called with each further lane. The queries that wait for their turn are registered here. */
  readonly waiting = new Set<(lane: Lane) => void>();

  constructor(first: Asker) {
    this.lane = first.lane;
    this.#askers = [first];
    this.#lanes = new Set(lanesOf(first));
    this.#follow(first);
  }

  static of(asker: Asker): Askers {
    return asker instanceof Askers ? asker : new Askers(asker);
  }

  get lanes(): ReadonlySet<Lane> {
    return this.#lanes;
  }

  /** True if all callers have gone. */
  get isGone(): boolean {
    return this.#askers.every((asker) => asker.isGone);
  }

  /** Adds a caller who waits for the same answer. */
  join(asker: Asker): void {
    this.#askers.push(asker);
    for (const lane of lanesOf(asker)) this.#add(lane);
    this.#follow(asker);
  }

  /** A part of an answer has the turns of all who wait for the whole answer, including later callers. */
  #follow(asker: Asker): void {
    if (asker instanceof Askers) asker.waiting.add((lane) => this.#add(lane));
  }

  #add(lane: Lane): void {
    if (this.#lanes.has(lane)) return;
    this.#lanes.add(lane);
    for (const added of this.waiting) added(lane);
  }
}

function lanesOf(asker: Asker): Iterable<Lane> {
  return asker instanceof Askers ? asker.lanes : [asker.lane];
}
