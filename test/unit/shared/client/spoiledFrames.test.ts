/**
 * The client's stream before a server that spoils frames of every kind (RULES.md 8). However a frame is spoiled, in the
 * end the book is the server's, and each private event came once, or a gap stands for it.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RequestSigner } from '../../../../shared/client/requestSigner.ts';
import { BookReplica } from '../../../../shared/client/stream/bookReplica.ts';
import type { StreamSocket } from '../../../../shared/client/stream/connection.ts';
import { ExchangeStream } from '../../../../shared/client/stream/exchangeStream.ts';
import type { UserEvent } from '../../../../shared/client/stream/userStream.ts';
import { eventually } from '../../../support/eventually.ts';
import { Random } from '../../../support/random.ts';
import type { Json } from '../../../support/server.ts';

const SEED = Number(process.env['FRAMES_SEED'] ?? 7);
const WORLDS = Number(process.env['FRAMES_WORLDS'] ?? 3);
const SPOILED = 40;
const TURN_MS = 2;
const SIGNER = new RequestSigner({ keyId: 'key-1', secret: 'c2VjcmV0LXNlY3JldA', passphrase: 'open sesame' });
const VALUES = [null, true, -1, 1e300, 1.5, '', 'x', '9'.repeat(5000), '1E+999999', 'NaN', [], {}, [[]], { code: 5 }];
const TEXTS = ['', '{', 'null', '[]', '"x"', '5', 'NaN', '['.repeat(100_000), '{"channel":{}}', '{}', '\0'];

class Line implements StreamSocket {
  onopen: ((event: never) => void) | null = null;
  onmessage: ((event: never) => void) | null = null;
  onclose: ((event: never) => void) | null = null;
  onerror: ((event: never) => void) | null = null;
  isOpen = true;
  readonly #exchange: Exchange;

  constructor(exchange: Exchange) {
    this.#exchange = exchange;
    setImmediate(() => this.isOpen && this.onopen?.(undefined as never));
  }

  send(message: string): void {
    setImmediate(() => this.isOpen && this.#exchange.asked(this, JSON.parse(message)));
  }

  close(): void {
    this.isOpen = false;
  }

  lose(): void {
    this.isOpen = false;
    this.onclose?.({ code: 1006 } as never);
  }

  receive(data: unknown): void {
    if (this.isOpen) this.onmessage?.({ data } as never);
  }
}

/** One market and one account. It spoils frames until their number is reached, and is well then. */
class Exchange {
  readonly levels = new Map<string, Json>();
  readonly deltas: Json[] = [];
  readonly user: Json[] = [];
  spoiled = 0;
  line: Line | null = null;
  readonly #random: Random;
  readonly #replica = new BookReplica();

  constructor(seed: number) {
    this.#random = new Random(seed);
    this.#replica.apply(
      this.#frame('book', { outcome_0: { bids: [], asks: [] }, outcome_1: {}, checksum: 0 }) as never,
    );
  }

  get isWell(): boolean {
    return this.spoiled >= SPOILED;
  }

  open(): Line {
    this.line = new Line(this);
    return this.line;
  }

  /** The market trades, the account has an event, and both are numbered in a heartbeat. */
  turn(): void {
    if (!this.isWell) {
      this.#trade();
      this.#send(this.deltas.at(-1));
      this.#send(this.user.at(-1));
    }
    const data = { sequences: { m: this.deltas.length }, user_sequence: this.user.length };
    this.#send({ channel: 'heartbeat', data });
  }

  asked(line: Line, { channel, id, data }: Json): void {
    if (line !== this.line) return;
    if (channel === 'ping') this.#send({ channel: 'pong', id, data: { time: 1 } });
    if (channel !== 'subscribe') return;
    if (data.user) {
      const asked = data.user_since ?? this.user.length;
      // A number that was never given is that of another exchange.
      const since = asked <= this.user.length ? asked : 0;
      this.#send({ channel: 'subscribed', id, data: { markets: [], user: true, user_sequence: since } });
      for (const frame of this.user.slice(since)) this.#send(frame);
      return;
    }
    this.#send({ channel: 'subscribed', id, data: { markets: ['m'], user: false } });
    const since = data.from_sequence.m;
    const isKnown = since !== undefined && since <= this.deltas.length;
    for (const frame of isKnown ? this.deltas.slice(since) : [this.#book()]) this.#send(frame);
  }

  #trade(): void {
    const price = `0.${String(1 + this.#random.below(49)).padStart(2, '0')}`;
    const quantity = this.levels.has(price) ? this.#random.below(3) * 100 : 100;
    const level = { price, token_quantity_atomic: String(quantity), num_orders: Number(quantity > 0) };
    if (quantity > 0) this.levels.set(price, level);
    else this.levels.delete(price);
    const order = { order_id: 'o', outcome_index: 0, side: 'BUY', price, token_quantity_atomic: '1' };
    const change = {
      ...order,
      remaining_token_quantity_atomic: '1',
      level: { ...level, side: 'BUY', outcome_index: 0 },
    };
    const delta = { ...this.#frame('book_delta', { event: 'open', ...change }), sequence: this.deltas.length + 1 };
    assert.equal(this.#replica.apply(delta as never), 'applied');
    this.deltas.push({ ...delta, data: { ...delta.data, checksum: this.#replica.checksum() } });
    const user_sequence = this.user.length + 1;
    const data = { order_id: 'o', market_id: 'm', status: 'open', remaining: '1', reason: String(user_sequence) };
    this.user.push({ channel: 'order_status', user_sequence, timestamp: user_sequence, data });
  }

  #frame(channel: string, data: Json): Json {
    return { channel, market_id: 'm', sequence: this.deltas.length, timestamp: 1, data };
  }

  #book(): Json {
    const bids = [...this.levels.values()].sort((a, b) => (a.price < b.price ? 1 : -1));
    const checksum = this.#replica.checksum();
    return this.#frame('book', { outcome_0: { bids, asks: [] }, outcome_1: { bids: [], asks: [] }, checksum });
  }

  #send(frame: Json): void {
    const { line } = this;
    if (line === null) return;
    const text = JSON.stringify(frame);
    if (this.isWell || this.#random.below(4) > 0) return line.receive(text);
    this.spoiled++;
    const kind = this.#random.below(9);
    if (kind === 0) line.receive(TEXTS[this.#random.below(TEXTS.length)]);
    else if (kind === 1) line.receive(new Uint8Array(this.#random.below(40)).fill(this.#random.below(256)).buffer);
    else if (kind === 2) line.receive(text.slice(0, this.#random.below(text.length)));
    else if (kind === 3) line.lose();
    else if (kind === 4) line.receive(`{"channel":"trade","x":"${'y'.repeat(200_000)}"}`);
    else line.receive(JSON.stringify(this.#withAnother(frame)));
  }

  /** Another value, or none, for one member at any depth; or another number. */
  #withAnother(frame: Json): Json {
    const copy = structuredClone(frame);
    let at = copy;
    for (;;) {
      const names = Object.keys(at);
      const name = names[this.#random.below(names.length)]!;
      const value = at[name];
      if (typeof value === 'object' && value !== null && Object.keys(value).length > 0 && this.#random.below(4) > 0) {
        at = value;
        continue;
      }
      if (!Array.isArray(at) && this.#random.below(3) === 0) delete at[name];
      else if (/sequence$/.test(name) && this.#random.below(2) === 0) at[name] += [-1, 1, 5][this.#random.below(3)]!;
      else at[name] = VALUES[this.#random.below(VALUES.length)];
      return copy;
    }
  }
}

/** Which private events came, since the server last numbered them anew. */
class Seen {
  readonly #numbers = new Set<number>();

  take(event: UserEvent): void {
    if (event.type === 'fill' || event.type === 'order_status') {
      const { user_sequence } = event.frame;
      assert.ok(!this.#numbers.has(user_sequence), `event ${user_sequence} came twice`);
      this.#numbers.add(user_sequence);
    } else if (event.type === 'gap') {
      if (event.cause === 'restarted') this.#numbers.clear();
      else for (let number = event.from; number <= Math.min(event.to!, 100_000); number++) this.#numbers.add(number);
    }
  }

  hasAll(count: number): boolean {
    return Array.from({ length: count }, (_, at) => at + 1).every((number) => this.#numbers.has(number));
  }
}

for (let world = 1; world <= WORLDS; world++) {
  const seed = SEED * 1000 + world;
  test(`after frames spoiled in any way the book is right, and each private event came (seed ${seed})`, async (t) => {
    const exchange = new Exchange(seed);
    const turns = setInterval(() => exchange.turn(), TURN_MS);
    t.after(() => clearInterval(turns));
    const stream = new ExchangeStream({
      baseUrl: 'http://exchange.example/',
      signer: SIGNER,
      openSocket: () => exchange.open(),
      times: { silentAfterMs: 1000, firstRetryMs: 1, mostRetryMs: 5 },
      random: () => 0,
    });
    t.after(() => stream.close());
    const seen = new Seen();
    const book = stream.openBook('m', { verify: 'every' });
    const user = stream.openUser({ since: 0, onEvent: (event) => seen.take(event) });
    const prices = (): string[] => book.levels(0).bids.map(({ price, token_quantity_atomic: q }) => `${price} ${q}`);
    const right = (): string[] =>
      [...exchange.levels.values()].map(({ price, token_quantity_atomic: q }) => `${price} ${q}`);
    await eventually(
      () => `the exchange's state: ${JSON.stringify([book.state, book.sequence, exchange.deltas.length, user])}`,
      async () =>
        exchange.isWell &&
        book.state === 'live' &&
        book.sequence === exchange.deltas.length &&
        user.userSequence === exchange.user.length &&
        seen.hasAll(exchange.user.length),
    );
    assert.deepEqual(prices(), right().sort().reverse(), `seed ${seed}`);
  });
}
