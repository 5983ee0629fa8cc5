/**
 * The callers who wait for the answer to a query. Several may wait for the same answer: its query then has the turn of
 * whichever of them comes first, so that no caller is held up by other queries of one of them.
 * Owner: the gateway thread.
 */

/** The account of the caller, or the address of one without credentials: each has turns of its own. */
export type Lane = number | string;

/** One who waits for an answer, such as a call. */
export type Asker = {
  readonly lane: Lane;
  /** Its client has gone away. */
  readonly isGone: boolean;
};

export class Askers implements Asker {
  readonly lane: Lane;
  readonly #askers: Asker[];
  readonly #lanes: Set<Lane>;
  /** Called with each further lane, by the queries that wait for their turn. */
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

  /** All of them have gone. */
  get isGone(): boolean {
    return this.#askers.every((asker) => asker.isGone);
  }

  /** One more waits for the same answer. */
  join(asker: Asker): void {
    this.#askers.push(asker);
    for (const lane of lanesOf(asker)) this.#add(lane);
    this.#follow(asker);
  }

  /** A part of an answer has the turns of all who wait for the whole one, also of those who come later. */
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
