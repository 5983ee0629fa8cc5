/**
 * Streams over kill -9 of the leader: frames of both kinds have the same numbers and the same contents on every member,
 * so a client goes on at the next leader, or at a standby, where it was (RULES.md 18.3). The markets are in two shards.
 *
 *     SOAK=on SEED=7 node shared/run.mjs --test test/cluster/streams.test.ts
 */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { OrderMarket } from '../../shared/client/order.ts';
import { RequestSigner } from '../../shared/client/requestSigner.ts';
import type { BookEvent } from '../../shared/client/stream/bookStream.ts';
import { ExchangeStream } from '../../shared/client/stream/exchangeStream.ts';
import type { UserEvent } from '../../shared/client/stream/userStream.ts';
import { startCluster } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { NO_POSTGRES } from '../support/postgres.ts';
import { seededRandom } from '../support/random.ts';
import { seedOr, timesOf } from '../support/seeds.ts';
import type { Json } from '../support/server.ts';
import { StreamClient } from '../support/streamClient.ts';
import { makeTrader, marketPerShard, type Trader, type TraderOptions } from '../support/traders.ts';
import { streamHeaders } from '../support/witnessReads.ts';

const CYCLES = timesOf({ suite: 0, soak: 2 });

const SEED = seedOr(20_261_126);
const COMMANDS = 150;
const SHARDS = 2;
/** With front threads as well. */
const GATEWAYS = ['1', '3'];
const SCOPES = ['read:account', 'trade:orders', 'trade:bulk', 'stream:market', 'stream:user'] as const;
const options = { skip: NO_POSTGRES || (CYCLES === 0 && 'only with SOAK=on: every takeover takes seconds') };
type Cluster = Awaited<ReturnType<typeof startCluster>>;
type Server = Cluster['leader'];

/** The frames of one sequence, a market's or an account's private ones, wherever they were seen. */
class Frames {
  readonly #byNumber = new Map<number, Json>();
  readonly #name: string;

  constructor(name: string) {
    this.#name = name;
  }

  get last(): number {
    return Math.max(0, ...this.#byNumber.keys());
  }

  get count(): number {
    return this.#byNumber.size;
  }

  add(number: number, { ...frame }: Json): void {
    const before = this.#byNumber.get(number);
    // Only a member that had a subscriber with checksums then has kept the frame with its own.
    if (before !== undefined && (before.data.checksum === undefined || frame.data.checksum === undefined)) {
      frame.data = { ...frame.data, checksum: before.data.checksum ?? frame.data.checksum };
      before.data = { ...before.data, checksum: frame.data.checksum };
    }
    if (before === undefined) this.#byNumber.set(number, frame);
    else assert.deepEqual(frame, before, `${this.#name}: frame ${number} is the same everywhere`);
  }
}

/** Everything that an account and the public have seen of two markets, over all connections to all members. */
class Observer {
  readonly user = new Frames('private');
  readonly markets = new Map<string, Frames>();
  trader: Trader;
  readonly #t: TestContext;

  constructor(t: TestContext, trader: Trader, markets: OrderMarket[]) {
    this.#t = t;
    this.trader = trader;
    for (const { id } of markets) this.markets.set(id, new Frames(id));
  }

  /** A connection that goes on after the last frames, or that has everything sent again. */
  async connect({ baseUrl }: Server, isAnew = false): Promise<Connection> {
    this.trader = this.trader.reconnected();
    const client = await StreamClient.openSigned(this.#t, baseUrl, () => streamHeaders(this.trader));
    const from = new Map([...this.markets].map(([id, { last }]) => [id, isAnew ? 0 : last]));
    const connection = new Connection(this, client, isAnew ? 0 : this.user.last, from);
    await client.subscribe({
      markets: [...from.keys()],
      checksum: true,
      from_sequence: Object.fromEntries(from),
      user: true,
      user_since: connection.user,
    });
    return connection;
  }
}

class Connection {
  readonly client: StreamClient;
  /** The last numbers that came over this connection. */
  user: number;
  readonly markets: Map<string, number>;
  /** The frames that came in the place of others. */
  books = 0;
  readonly #observer: Observer;

  constructor(observer: Observer, client: StreamClient, user: number, markets: Map<string, number>) {
    this.#observer = observer;
    this.client = client;
    this.user = user;
    this.markets = markets;
  }

  /** Compares new frames with those seen before. */
  take(): void {
    for (const frame of this.client.frames.splice(0)) {
      const { channel, market_id: market, sequence, user_sequence: number } = frame;
      if (number !== undefined) {
        assert.equal(number, this.user + 1, 'private frames follow one another');
        this.#observer.user.add(number, frame);
        this.user = number;
      } else if (channel === 'book') {
        // With checksums a book can follow frames that were kept without them; in place of frames it has another
        // sequence number.
        if (this.markets.get(market) !== sequence) this.books++;
        this.markets.set(market, sequence);
      } else if (channel === 'trade' || channel === 'book_delta') {
        assert.equal(sequence, this.markets.get(market)! + 1, 'public frames follow one another');
        this.#observer.markets.get(market)!.add(sequence, frame);
        this.markets.set(market, sequence);
      }
    }
  }

  /** Resolves once this connection has brought everything that was seen anywhere. */
  async catchUp(): Promise<void> {
    await eventually('every frame', async () => {
      this.take();
      const { user, markets } = this.#observer;
      return this.user >= user.last && [...markets].every(([id, { last }]) => this.markets.get(id)! >= last);
    });
  }
}

/** Orders and cancels in both markets, several at a time. Refusals and lost answers are to be expected. */
async function trade(
  traders: readonly Trader[],
  markets: readonly OrderMarket[],
  random: () => number,
  onAnswer: () => void,
): Promise<void> {
  let sent = 0;
  const one = async (trader: Trader): Promise<void> => {
    while (sent++ < COMMANDS) {
      const market = markets[Math.floor(random() * markets.length)]!;
      const price = `0.${47 + Math.floor(random() * 6)}`;
      const outcomeIndex = random() < 0.5 ? 0 : 1;
      const act = random() < 0.06 ? trader.client.cancelMarket(market.id) : null;
      await (act ?? trader.place(market, { price, size: String(1 + Math.floor(random() * 4)), outcomeIndex })).catch(
        () => undefined,
      );
      onAnswer();
    }
  };
  await Promise.all(traders.flatMap((trader) => [one(trader), one(trader), one(trader)]));
}

for (const gateways of GATEWAYS)
  test(
    `frames have their numbers and contents on every member, ${CYCLES} takeovers, GATEWAYS=${gateways} (SEED=${SEED})`,
    options,
    async (t) => {
      const random = seededRandom(SEED);
      const cluster = await startCluster(t, ['a', 'b'], { GATEWAYS: gateways });
      const markets = await marketPerShard(cluster, SHARDS);
      // Clients that send again would wait for the killed leader for minutes.
      const how: TraderOptions = { scopes: [...SCOPES], depositMicro: 10_000_000_000, retry: false };
      const make = (): Promise<Trader> => makeTrader(cluster, how);
      const observers = [new Observer(t, await make(), markets), new Observer(t, await make(), markets)];
      const client = followWithClient(t, cluster, observers[0]!.trader, markets);
      await client.ready;
      for (let cycle = 0; cycle < CYCLES; cycle++) {
        const killed = cluster.leader;
        const [standby] = cluster.standbys;
        const atLeader = await Promise.all(observers.map((observer) => observer.connect(killed)));
        const atStandby = await Promise.all(observers.map((observer) => observer.connect(standby!)));
        const killAfter = 30 + Math.floor(random() * (COMMANDS - 60));
        let answered = 0;
        let killing: Promise<void> | undefined;
        const traders = observers.map(({ trader }) => trader.reconnected());
        await trade(traders, markets, random, () => {
          if (++answered === killAfter) killing = killed.kill();
        });
        assert.ok(killing !== undefined, 'the cycle got as far as its kill');
        await killing;
        for (const connection of atLeader) connection.take();
        const leader = await cluster.awaitLeader(cluster.standbys);
        const again = await Promise.all(observers.map((observer) => observer.connect(leader)));
        const after = observers.map(({ trader }) => trader.reconnected());
        await trade(after, markets, random, () => {});
        for (const connection of [...again, ...atStandby]) {
          await connection.catchUp();
          assert.equal(connection.books, 0, 'no frame was missing at the next leader');
          connection.client.end();
        }
        await cluster.rejoin(killed);
        // The former leader has numbered some of them itself, and the others as a standby.
        for (const observer of observers) {
          const { user } = await observeAnew(observer, killed);
          assert.equal(user, observer.user.count);
          const { user: atNext } = await observeAnew(observer, leader);
          assert.equal(atNext, observer.user.count);
        }
      }
      await client.assertWhole(observers[0]!);
    },
  );

/** Everything once more, by a client that has nothing. */
async function observeAnew(observer: Observer, server: Server): Promise<Connection> {
  const connection = await observer.connect(server, true);
  await connection.catchUp();
  connection.client.end();
  return connection;
}

/** The client of the SDK, which has the addresses of all members. */
function followWithClient(t: TestContext, cluster: Cluster, trader: Trader, markets: readonly OrderMarket[]) {
  const baseUrl = cluster.members.map(({ env }) => `http://127.0.0.1:${env['PORT']}`);
  const times = { firstRetryMs: 10, mostRetryMs: 100 };
  const stream = new ExchangeStream({ baseUrl, signer: new RequestSigner(trader.credentials), times });
  t.after(() => stream.close());
  const user: UserEvent[] = [];
  const events = markets.map((): BookEvent[] => []);
  const books = markets.map(({ id }, at) => stream.openBook(id, { onEvent: (event) => events[at]!.push(event) }));
  const account = stream.openUser({ onEvent: (event) => user.push(event) });
  const assertWhole = async (observer: Observer): Promise<void> => {
    // The observers may have gone before the frames of the last answers came.
    await eventually('the last frames', async () => {
      const isThere = books.every((book, at) => (book.sequence ?? 0) >= observer.markets.get(markets[at]!.id)!.last);
      return isThere && (account.userSequence ?? 0) >= observer.user.last;
    });
    // Each of its frames follows the one before; it was shown nothing else except a reconnect.
    const numbers: number[] = [];
    for (const event of user) {
      assert.notEqual(event.type, 'gap');
      if (event.type !== 'fill' && event.type !== 'order_status') continue;
      observer.user.add(event.frame.user_sequence, event.frame);
      numbers.push(event.frame.user_sequence);
    }
    assertConsecutive(numbers);
    assert.equal(numbers.at(-1), observer.user.last);
    for (const [at, ofMarket] of events.entries()) {
      assert.equal(ofMarket.filter(({ type }) => type === 'book').length, 1, 'one book, at the start');
      const frames = ofMarket.flatMap((event) =>
        event.type === 'trade' || event.type === 'delta' ? [event.frame] : [],
      );
      for (const frame of frames) observer.markets.get(markets[at]!.id)!.add(frame.sequence, frame);
      assertConsecutive(frames.map(({ sequence }) => sequence));
      assert.equal(books[at]!.checksum(), await checksumAt(t, cluster.leader, markets[at]!));
    }
  };
  return { ready: Promise.all([account.ready(), ...books.map((book) => book.ready())]), assertWhole };
}

function assertConsecutive(numbers: readonly number[]): void {
  assert.deepEqual(
    numbers,
    numbers.map((_, at) => numbers[0]! + at),
  );
}

/** The checksum that the leader sends with the whole book. */
async function checksumAt(t: TestContext, { baseUrl }: Server, { id }: OrderMarket): Promise<number> {
  const client = await StreamClient.open(t, baseUrl);
  await client.subscribe({ markets: [id], snapshot: true });
  const { data } = await client.until(({ channel }) => channel === 'book');
  client.end();
  return data.checksum;
}
