/**
 * The private frames of one account, which are the history of its orders, and its reads of its open orders meanwhile.
 *
 * Every place of an exchange has to send the same frames with the same numbers, one after the other (RULES.md 8.9,
 * 18.3). A read of the open orders of a market is explained when it is the state after some of the market's frames:
 *
 *   history   1 ── 2 ── 3 ── 4 ── 5 ── 6 ── 7 ── 8
 *                       └──── one of these ────┘
 *                 the last that was known      the last that had happened
 *                 so long before as it says    when the answer came
 *
 * A leader says nothing, so what it had shown when it was asked counts; a standby, which may show what the log holds a
 * moment before the leader does, says how stale its answer may be compared with all others (RULES.md 18.4, 18.14). A
 * read of one order is explained in the same way, and so is what a read of the balances calls reserved: it is what the
 * open orders of some state lock in each market (RULES.md 3.1).
 */
import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { eventually } from './eventually.ts';
import type { Json } from './server.ts';
import { StreamClient } from './streamClient.ts';
import { areExplained, type LockedAsset, type OpenOrders, type Reserved } from './witnessReserved.ts';

type Frame = {
  readonly number: number;
  readonly text: string;
  readonly market: string;
  readonly hash: string;
  readonly isOpen: boolean;
  readonly remaining: string;
  readonly tokens: number;
  /** When it happened, by the leader's clock, and when each place has shown it: members and clients share one clock. */
  readonly happenedMs: number;
  readonly shownMs: Map<string, number>;
};

type Asked = { readonly place: string; readonly askedMs: number; readonly staleMs: number };
type Read = Asked & { readonly market: string; readonly answeredMs: number; readonly open: OpenOrders };
/** The remainder of an open order, or the reason for none. */
type OrderState = string | 'closed' | 'unknown';
type OrderRead = Asked & { readonly hash: string; readonly answeredMs: number; readonly state: OrderState };
type BalanceRead = Asked & { readonly answeredMs: number; readonly reserved: Reserved };

/** Open orders by market, and tokens in fills by order. */
type Known = { readonly open: ReadonlyMap<string, OpenOrders>; readonly filled: ReadonlyMap<string, number> };
type Acknowledged = { readonly hash: string; readonly isClosed: boolean; readonly atMs: number };
type Place = { readonly baseUrl: string; readonly streamUrl: string };
/** A signature opens one connection. */
type Sign = () => Record<string, string>;

/** A place that has ended while a stream was opened. */
const GONE = /ECONNRESET|ECONNREFUSED|socket hang up|closed with/;
/** Each side of a difference of two times is rounded to a millisecond. */
const ROUNDED_MS = 2;

export class AccountHistory {
  readonly #title: string;
  /** Since the last check, in order; and the state before. */
  readonly #frames: Frame[] = [];
  readonly #before = new Map<string, OpenOrders>();
  #firstNumber = 1;
  /** Orders that were closed before. */
  readonly #closedBefore = new Set<string>();
  readonly #reads: Read[] = [];
  readonly #orderReads: OrderRead[] = [];
  readonly #balanceReads: BalanceRead[] = [];
  /** By order. */
  readonly #locks = new Map<string, LockedAsset>();
  readonly #acknowledged: Acknowledged[] = [];
  readonly #filled = new Map<string, number>();
  readonly #streams: Stream[] = [];

  constructor(title: string) {
    this.#title = title;
  }

  /** Follows the frames of this place from now on, as long as it is there. */
  async follow(place: Place, sign: Sign): Promise<void> {
    try {
      this.#streams.push(await this.#open(place, sign, this.#next - 1));
    } catch (error) {
      // `fetch` says why only in the cause.
      if (!GONE.test(`${error} ${(error as Error).cause}`)) throw error;
    }
  }

  unfollow(): void {
    for (const stream of this.#streams.splice(0)) stream.end();
  }

  /** An order that may be placed from now on, and the amount that it then locks. */
  sent(hash: string, asset: LockedAsset): void {
    this.#locks.set(hash, asset);
  }

  acknowledged(hash: string, isClosed: boolean): void {
    this.#acknowledged.push({ hash, isClosed, atMs: Date.now() });
  }

  read(read: Omit<Read, 'answeredMs' | 'open'>, orders: readonly Json[]): void {
    const open = new Map(orders.map(({ order_hash, remaining }) => [String(order_hash), String(remaining)]));
    this.#reads.push({ ...read, answeredMs: Date.now(), open });
  }

  /** @param order null where the place does not know it */
  readOrder(read: Asked & { readonly hash: string }, order: Json | null): void {
    const state = order === null ? 'unknown' : isOpen(order.status) ? String(order.remaining) : 'closed';
    this.#orderReads.push({ ...read, answeredMs: Date.now(), state });
  }

  readBalances(read: Asked, reserved: Reserved): void {
    this.#balanceReads.push({ ...read, answeredMs: Date.now(), reserved });
  }

  /**
   * Everything that this place sends, which is what every other has sent, until nothing else is open than this, and
   * these tokens are in fills: of the last orders nothing may be open, and their frames come after the answers.
   */
  async compare(place: Place, sign: Sign, { open, filled }: Known): Promise<void> {
    const stream = await this.#open(place, sign, this.#firstNumber - 1);
    await eventually(`the last private frames of ${this.#title} at ${place.streamUrl}`, async () => {
      stream.requireWell();
      return (
        stream.last >= this.#next - 1 &&
        [...open].every(([id, orders]) => isDeepStrictEqual(this.#last(id), orders)) &&
        [...filled].every(([hash, tokens]) => this.filledOf(hash) >= tokens)
      );
    });
    stream.end();
  }

  #last(market: string): OpenOrders {
    const state = new Map(this.#openIn(market));
    for (const frame of this.#frames) if (frame.market === market) apply(state, frame);
    return state;
  }

  /** Every read is explained. @returns how many there were of open orders, and of balances. */
  check(): { readonly reads: number; readonly balanceReads: number } {
    for (const read of this.#reads) this.#explain(read);
    for (const read of this.#orderReads) this.#explainOrder(read);
    for (const read of this.#balanceReads) this.#explainBalances(read);
    const reads = this.#reads.length;
    const balanceReads = this.#balanceReads.length;
    for (const frame of this.#frames) {
      apply(this.#openIn(frame.market), frame);
      if (!frame.isOpen) this.#closedBefore.add(frame.hash);
    }
    this.#firstNumber = this.#next;
    for (const list of [this.#frames, this.#reads, this.#orderReads, this.#balanceReads, this.#acknowledged]) {
      list.length = 0;
    }
    return { reads, balanceReads };
  }

  /** Tokens of the order in fills. */
  filledOf(hash: string): number {
    return this.#filled.get(hash) ?? 0;
  }

  get #next(): number {
    return this.#firstNumber + this.#frames.length;
  }

  #open(place: Place, sign: Sign, since: number): Promise<Stream> {
    return Stream.open(place, sign, since, (text, number, atMs) => this.#take(place.baseUrl, text, number, atMs));
  }

  /** @param expected the number that follows on this connection */
  #take(place: string, text: string, expected: number, atMs: number): boolean {
    const { channel, user_sequence: number, timestamp, data } = JSON.parse(text);
    if (number === undefined) return false;
    const title = `${this.#title}: private frame ${number}`;
    assert.equal(number, expected, `${title} came in the place of ${expected}`);
    const known = this.#frames[number - this.#firstNumber];
    if (known !== undefined) {
      assert.equal(text, known.text, `${title} is another one than before`);
      if (!known.shownMs.has(place)) known.shownMs.set(place, atMs);
      return true;
    }
    assert.equal(number, this.#next, `${title} follows the last one that was seen`);
    const tokens = channel === 'fill' ? Number(data.token_quantity_atomic) : 0;
    this.#frames.push({
      number,
      text,
      market: data.market_id,
      hash: data.order_hash,
      isOpen: isOpen(data.status),
      remaining: data.remaining,
      tokens,
      happenedMs: timestamp,
      shownMs: new Map([[place, atMs]]),
    });
    this.#filled.set(data.order_hash, this.filledOf(data.order_hash) + tokens);
    return true;
  }

  #explain(read: Read): void {
    const { market, staleMs, open, place } = read;
    if (this.#states(market, read).some((state) => isDeepStrictEqual(state, open))) return;
    const found = JSON.stringify([...open]);
    const what = `${this.#title}: the open orders ${found} of market ${market} at ${place}`;
    assert.fail(`${what}, ${staleMs} ms stale, are not explained by the history, ${this.#around(read)}`);
  }

  #explainBalances(read: BalanceRead): void {
    const { place, staleMs, reserved } = read;
    const states = new Map([...reserved.tokens.keys()].map((market) => [market, this.#states(market, read)]));
    if (areExplained(reserved, states, this.#locks)) return;
    const found = JSON.stringify({ usdc: reserved.usdcMicro, tokens: [...reserved.tokens] });
    const what = `${this.#title}: the reserved balances ${found} at ${place}`;
    assert.fail(`${what}, ${staleMs} ms stale, are not explained by the history, ${this.#around(read)}`);
  }

  /** The states of a market that a read can have seen; the first is the state after the last frame that was known. */
  #states(market: string, read: Asked & { readonly answeredMs: number }): OpenOrders[] {
    const frames = this.#framesOf(market);
    const least = this.#leastFor(read, frames);
    const state = new Map(this.#openIn(market));
    const states = least === 0 ? [new Map(state)] : [];
    for (const frame of frames) {
      if (frame.happenedMs > read.answeredMs + ROUNDED_MS) break;
      apply(state, frame);
      if (frame.number >= least) states.push(new Map(state));
    }
    return states;
  }

  /**
   * Only these follow one another in time: a shard whose frames wait, as they do after it was lost until the projector
   * has caught up, gets its numbers after frames of other shards that happened later.
   */
  #framesOf(market: string): Frame[] {
    return this.#frames.filter((frame) => frame.market === market);
  }

  #explainOrder(read: OrderRead): void {
    const { hash, answeredMs, staleMs, state, place } = read;
    const market = this.#frames.find((frame) => frame.hash === hash)?.market;
    const frames = market === undefined ? [] : this.#framesOf(market);
    const least = this.#leastFor(read, frames);
    let found = this.#stateBefore(hash);
    let isExplained = least === 0 && found === state;
    for (const frame of frames) {
      if (isExplained || frame.happenedMs > answeredMs + ROUNDED_MS) break;
      if (frame.hash === hash) found = frame.isOpen ? frame.remaining : 'closed';
      isExplained = frame.number >= least && found === state;
    }
    if (isExplained) return;
    const what = `${this.#title}: the order ${hash}, read as ${state} at ${place}`;
    assert.fail(`${what}, ${staleMs} ms stale, is not explained by the history, ${this.#around(read)}`);
  }

  /** For a failure report: what a read can have seen, and what was known then. */
  #around(read: Asked & { readonly answeredMs: number }): string {
    const since = (ms: number): string => `${ms - read.askedMs} ms`;
    const open = [...this.#before].map(([market, orders]) => {
      const least = this.#leastFor(read, this.#framesOf(market));
      return `${market}, after frame ${least}, open before: ${JSON.stringify([...orders])}`;
    });
    const frames = this.#frames.map(({ number, market, hash, isOpen, remaining, happenedMs, shownMs }) => {
      const shown = [...shownMs].map(([place, ms]) => `${place} ${since(ms)}`).join(', ');
      const state = isOpen ? `open ${remaining}` : 'closed';
      return `${number} ${market} ${hash} ${this.#locks.get(hash)} ${state} at ${since(happenedMs)}, shown ${shown}`;
    });
    const answers = this.#acknowledged.map(({ hash, isClosed, atMs }) => {
      return `${hash} ${isClosed ? 'closed' : 'placed'} at ${since(atMs)}`;
    });
    const lines = [...open, ...frames, 'answered:', ...answers].join('\n');
    return `and came after ${since(read.answeredMs)}:\n${lines}`;
  }

  #stateBefore(hash: string): OrderState {
    for (const open of this.#before.values()) if (open.has(hash)) return open.get(hash)!;
    return this.#closedBefore.has(hash) ? 'closed' : 'unknown';
  }

  /**
   * The number of the last frame that the read has to reflect: it had been shown, or its change had been answered. 0 if
   * there is none.
   */
  #leastFor({ place, askedMs, staleMs }: Asked, frames: readonly Frame[]): number {
    const knownMs = askedMs - staleMs - ROUNDED_MS;
    const answered = this.#acknowledged.filter(({ atMs }) => atMs <= knownMs);
    const placed = new Set(answered.map(({ hash }) => hash));
    const closed = new Set(answered.filter(({ isClosed }) => isClosed).map(({ hash }) => hash));
    const seen = new Set<string>();
    let least = 0;
    for (const { number, hash, isOpen, shownMs } of frames) {
      const isFirst = !seen.has(hash);
      seen.add(hash);
      const atMs = staleMs === 0 ? (shownMs.get(place) ?? Number.POSITIVE_INFINITY) : Math.min(...shownMs.values());
      if (atMs <= knownMs || (isFirst && placed.has(hash)) || (!isOpen && closed.has(hash))) least = number;
    }
    return least;
  }

  #openIn(market: string): OpenOrders {
    const open = this.#before.get(market) ?? new Map<string, string>();
    this.#before.set(market, open);
    return open;
  }
}

function isOpen(status: string): boolean {
  return status === 'open' || status === 'partially_filled';
}

function apply(open: OpenOrders, { hash, isOpen, remaining }: Frame): void {
  if (isOpen) open.set(hash, remaining);
  else open.delete(hash);
}

type Take = (text: string, expected: number, atMs: number) => boolean;

/** One connection, which brings the frames after a number. */
class Stream {
  /** The number of its last frame. */
  last: number;
  readonly #client: StreamClient;
  #problem: unknown = null;

  static async open({ streamUrl }: Place, sign: Sign, since: number, take: Take): Promise<Stream> {
    const client = await StreamClient.openSigned({ after: () => {} }, streamUrl, sign);
    const stream = new Stream(client, since, take);
    await client.subscribe({ user: true, user_since: since });
    return stream;
  }

  private constructor(client: StreamClient, since: number, take: Take) {
    this.#client = client;
    this.last = since;
    client.socket.on('message', (data) => {
      if (this.#problem !== null) return;
      try {
        if (take(String(data), this.last + 1, Date.now())) this.last++;
      } catch (error) {
        this.#problem = error;
      }
    });
  }

  requireWell(): void {
    if (this.#problem !== null) throw this.#problem;
  }

  end(): void {
    this.#client.end();
    this.requireWell();
  }
}
