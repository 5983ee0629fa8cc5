/**
 * A market with a million holders is resolved and settled while another market of the same shard trades. How long do
 * the orders of the other one wait before and meanwhile, and how long does the settlement take? The shard is a real one
 * with its thread, rings and journal; this thread is the gateway's end: it sends signed orders at a fixed rate and
 * applies all events to the views. A duration counts from the moment at which its order was due.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { request } from '../gateway/shardlink/request.ts';
import { assert } from '../shared/base/assert.ts';
import { MARKET_STATUS, MOVEMENT, OUTCOME, SIDE, TIME_IN_FORCE } from '../shared/base/codes.ts';
import { OK } from '../shared/base/errors.ts';
import { ADDRESS_BYTES } from '../shared/base/hex.ts';
import { PPM } from '../shared/base/payout.ts';
import { OrderSigner } from '../shared/client/orderSigner.ts';
import { DOMAIN_NAME, DOMAIN_VERSION, ZERO_ADDRESS } from '../shared/crypto/eip712.ts';
import { COMMAND, type CommandType, NO_MARKET, PLACE_BIT_AUTHORIZED, packKind } from '../shared/wire/commands.ts';
import { writeSafe } from '../shared/wire/record.ts';
import type { RingProducer } from '../shared/wire/ring.ts';
import { Histogram } from './histogram.ts';
import { LiveShard } from './liveShard.ts';
import { atMost, type Report, type Row, STOLEN, StealMeter } from './report.ts';
import { bytesOf, type SignedOrder, signOrder, TOKENS, USDC } from './signedOrders.ts';

const HOLDERS = 1_000_000;
const HELD_ATOMIC = 1_000_000;
const ORDERS_PER_SECOND = 200;
const SECONDS_BEFORE = 10;
/** More than are sent until the last holder is paid, mostly. */
const ORDERS = 24_000;
/** Commands without a reply while the holders are made. */
const MOST_IN_FLIGHT = 4000;
const [LARGE, OTHER] = [0, 1];
const TRADERS = [HOLDERS + 1, HOLDERS + 2] as const;
const DOMAIN = { name: DOMAIN_NAME, version: DOMAIN_VERSION, chainId: 1, verifyingContract: ZERO_ADDRESS };

/** Goal: the other market's p99 while a million holders are paid, as a multiple of before. */
const MOST_P99_RATIO = 2;

type Phase = {
  readonly name: string;
  readonly seconds: number;
  readonly waits: Histogram;
  readonly stolen: Row[string];
};

export async function run(): Promise<Report> {
  const signer = new OrderSigner(`0x${'11'.repeat(32)}`, DOMAIN);
  const orders = Array.from({ length: ORDERS }, (_, salt) => signOrder(signer, salt));
  const shard = await LiveShard.start();
  try {
    const market = new TwoMarkets(shard, bytesOf(signer.address, ADDRESS_BYTES), orders);
    await market.fill();
    await market.trade('warm-up', () => false, 2);
    const before = await market.trade('before', () => false, SECONDS_BEFORE);
    await market.end();
    const during = await market.trade('while holders are paid', () => market.isSettled, Number.POSITIVE_INFINITY);
    assert(market.isSettled, 'resolution: enough orders for the whole settlement');
    assert(market.paidMicro() === HOLDERS * HELD_ATOMIC, 'resolution: every holder is paid once');
    const after = await market.trade('after', () => false, SECONDS_BEFORE / 2);
    return describe([before, during, after], before, during);
  } finally {
    await shard.stop();
  }
}

class TwoMarkets {
  readonly #shard: LiveShard;
  readonly #maker: Uint8Array;
  readonly #orders: readonly SignedOrder[];
  #sent = 0;

  constructor(shard: LiveShard, maker: Uint8Array, orders: SignedOrder[]) {
    this.#shard = shard;
    this.#maker = maker;
    this.#orders = orders;
  }

  /** Two markets, and a million accounts with a full set of the first. */
  async fill(): Promise<void> {
    for (const index of [LARGE, OTHER]) {
      await this.#request(COMMAND.MARKET_OPEN.TYPE, 0, index, 0, ({ words }, word) => {
        words[word + COMMAND.MARKET_OPEN.uuid] = index + 1;
        words[word + COMMAND.MARKET_OPEN.ticksPerUnit] = 100;
        writeSafe(words, word + COMMAND.MARKET_OPEN.minOrderAtomic, TOKENS);
        writeSafe(words, word + COMMAND.MARKET_OPEN.endMs, Date.now() + 86_400_000);
        words[word + COMMAND.MARKET_OPEN.status] = MARKET_STATUS.ACTIVE;
      });
    }
    for (const trader of TRADERS) await this.#deposit(trader, ORDERS * USDC);
    for (let account = 1; account <= HOLDERS; account++) {
      void this.#deposit(account, HELD_ATOMIC);
      void this.#request(COMMAND.CONVERT.TYPE, account, LARGE, MOVEMENT.SPLIT, ({ words }, word) => {
        writeSafe(words, word + COMMAND.CONVERT.amountAtomic, HELD_ATOMIC);
      });
      while (this.#shard.link.inFlight > MOST_IN_FLIGHT) await sleep(0);
    }
    while (this.#shard.link.inFlight > 0) await sleep(1);
  }

  /** Resolves the large market, and starts its settlement. */
  async end(): Promise<void> {
    const { engine } = this.#shard;
    assert((await engine.decideMarket(LARGE, 0, MARKET_STATUS.RESOLVED, PPM)).code === OK, 'resolution: it is decided');
    assert((await engine.settleMarket(LARGE, 0)).code === OK, 'resolution: it is being settled');
  }

  get isSettled(): boolean {
    return this.#shard.views.markets.status(LARGE) === MARKET_STATUS.SETTLED;
  }

  /** The USDC of all holders, by the events that have arrived here. */
  paidMicro(): number {
    let sum = 0;
    for (let account = 1; account <= HOLDERS; account++) sum += this.#shard.views.accounts.availableMicro(account);
    return sum;
  }

  /** Sends orders that meet, two by two, until it is over or so many seconds have passed. */
  async trade(name: string, isOver: () => boolean, seconds: number): Promise<Phase> {
    const waits = new Histogram();
    const steal = new StealMeter();
    const startMs = performance.now();
    let unanswered = 0;
    let due = startMs;
    const endMs = startMs + seconds * 1000;
    while (!isOver() && due < endMs && this.#sent < this.#orders.length) {
      for (; due <= performance.now() && this.#sent < this.#orders.length; due += 1000 / ORDERS_PER_SECOND) {
        const dueMs = due;
        unanswered++;
        void this.#place(this.#orders[this.#sent++]).then((code) => {
          assert(code === OK, 'resolution: an order of the other market is accepted');
          waits.record((performance.now() - dueMs) * 1e6);
          unanswered--;
        });
      }
      await sleep(1);
    }
    while (unanswered > 0) await sleep(1);
    return { name, seconds: (performance.now() - startMs) / 1000, waits, stolen: steal.percent() };
  }

  #place({ salt, signature }: SignedOrder): Promise<number> {
    const account = TRADERS[salt % 2];
    const outcome = salt % 2 === 0 ? OUTCOME.YES : OUTCOME.NO;
    return this.#request(COMMAND.PLACE.TYPE, account, OTHER, 0, ({ words, bytes }, word) => {
      const at = word * 4;
      new DataView(bytes.buffer).setUint32(bytes.byteOffset + at + COMMAND.PLACE.salt * 4 + 28, salt);
      bytes[at + COMMAND.PLACE.tokenId * 4 + 31] = 7;
      bytes.set(this.#maker, at + COMMAND.PLACE.makerAddress * 4);
      bytes.set(this.#maker, at + COMMAND.PLACE.signerAddress * 4);
      bytes.set(signature, at + COMMAND.PLACE.signature * 4);
      words[word + COMMAND.PLACE.kind] = packKind(SIDE.BUY, outcome, TIME_IN_FORCE.GTC, PLACE_BIT_AUTHORIZED);
      writeSafe(words, word + COMMAND.PLACE.makerAmount, USDC);
      writeSafe(words, word + COMMAND.PLACE.takerAmount, TOKENS);
    });
  }

  #deposit(account: number, micro: number): Promise<number> {
    return this.#request(COMMAND.FUNDS.TYPE, account, NO_MARKET, MOVEMENT.DEPOSIT, ({ words }, word) => {
      writeSafe(words, word + COMMAND.FUNDS.amountMicro, micro);
      words[word + COMMAND.FUNDS.reference] = account;
    });
  }

  async #request(
    type: CommandType,
    account: number,
    market: number,
    flags: number,
    fill: (ring: RingProducer, word: number) => void,
  ): Promise<number> {
    return (await request(this.#shard.link, 0, type, account, market, flags, fill)).code;
  }
}

function describe(phases: readonly Phase[], before: Phase, during: Phase): Report {
  const ratio = during.waits.quantileUs(0.99) / before.waits.quantileUs(0.99);
  return {
    bench: 'resolution',
    settings:
      `${HOLDERS.toLocaleString('en')} holders paid in ${during.seconds.toFixed(1)} s; ${ORDERS_PER_SECOND} signed ` +
      'orders a second in another market of the shard, each second one a trade; synchronous FULL',
    rows: phases.map(({ name, seconds, waits, stolen }) => ({
      phase: name,
      seconds,
      orders: waits.count,
      'p50 us': waits.quantileUs(0.5),
      'p99 us': waits.quantileUs(0.99),
      'max us': waits.maxNs / 1000,
      [STOLEN]: stolen,
    })),
    goals: [atMost('p99 of the other market while holders are paid / before', ratio, MOST_P99_RATIO)],
    plots: [
      {
        title: 'An order of the other market',
        curves: phases.map(({ name, waits }) => ({ name, points: waits.curve() })),
      },
    ],
  };
}
