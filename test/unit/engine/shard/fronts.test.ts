/**
 * A real shard's thread that serves three gateway threads at once: this one, and two fronts with links and views of
 * their own. One of the fronts is ended in the middle, and another takes its place.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { LiveShard } from '../../../../bench/liveShard.ts';
import { bytesOf, signOrder, TOKENS, USDC } from '../../../../bench/signedOrders.ts';
import { MARKET_STATUS, MOVEMENT, OUTCOME, SIDE, STAGE, TIME_IN_FORCE } from '../../../../shared/base/codes.ts';
import { E, OK } from '../../../../shared/base/errors.ts';
import { ADDRESS_BYTES } from '../../../../shared/base/hex.ts';
import { STRIPPED_BEFORE } from '../../../../shared/base/stripTypes.ts';
import { OrderSigner } from '../../../../shared/client/orderSigner.ts';
import { DOMAIN_NAME, DOMAIN_VERSION, ZERO_ADDRESS } from '../../../../shared/crypto/eip712.ts';
import { COMMAND, PLACE_BIT_AUTHORIZED, packKind } from '../../../../shared/wire/commands.ts';
import { writeSafe } from '../../../../shared/wire/record.ts';
import { eventually } from '../../../support/eventually.ts';
import { FLOW_TICKS_PER_UNIT } from '../../../support/flow.ts';
import type { FrontNews, FrontOptions, FrontOrder, PreparedOrder } from '../../../support/frontThread.ts';
import { Random } from '../../../support/random.ts';
import { RecordWriter } from '../../../support/recordWriter.ts';
import { seedOr, timesOf } from '../../../support/seeds.ts';
import { stateOfViews } from '../../../support/viewsState.ts';

const ACCOUNTS = 6;
const ORDERS_OF_EACH = timesOf({ suite: 60, soak: 1500 });
const DAY_MS = 86_400_000;
const DOMAIN = { name: DOMAIN_NAME, version: DOMAIN_VERSION, chainId: 1, verifyingContract: ZERO_ADDRESS };
const { PLACE } = COMMAND;

/** Buys of one token at half a USDC: buys of Yes and of No match. */
function prepare(signer: OrderSigner, firstSalt: number, count: number): PreparedOrder[] {
  const address = bytesOf(signer.address, ADDRESS_BYTES);
  return Array.from({ length: count }, (_, index) => {
    const { salt, signature } = signOrder(signer, firstSalt + index);
    const record = new Uint32Array(PLACE.BYTES / 4);
    const bytes = new Uint8Array(record.buffer);
    new DataView(record.buffer).setUint32(PLACE.salt * 4 + 28, salt);
    bytes[PLACE.tokenId * 4 + 31] = 7;
    bytes.set(address, PLACE.makerAddress * 4);
    bytes.set(address, PLACE.signerAddress * 4);
    bytes.set(signature, PLACE.signature * 4);
    const outcome = salt % 3 === 0 ? OUTCOME.NO : OUTCOME.YES;
    record[PLACE.kind] = packKind(SIDE.BUY, outcome, TIME_IN_FORCE.GTC, PLACE_BIT_AUTHORIZED);
    writeSafe(record, PLACE.makerAmount, USDC);
    writeSafe(record, PLACE.takerAmount, TOKENS);
    return { account: 1 + (salt % ACCOUNTS), record };
  });
}

async function openMarkets({ engine }: LiveShard): Promise<void> {
  for (const [index, ticksPerUnit] of FLOW_TICKS_PER_UNIT.entries()) {
    const opening = { status: MARKET_STATUS.ACTIVE, feeBps: 0, startMs: 0, endMs: Date.now() + DAY_MS };
    const idBytes = new Uint8Array(16).fill(index + 1);
    const terms = { index, shard: 0, idBytes, ticksPerUnit, minOrderAtomic: TOKENS, opening };
    assert.equal((await engine.openMarket(terms, opening.status, opening.feeBps, STAGE.OPEN)).code, OK);
  }
  for (let account = 1; account <= ACCOUNTS; account++) {
    const reference = new Uint8Array(32).fill(account);
    assert.equal((await engine.funds(account, MOVEMENT.DEPOSIT, 10_000 * USDC, reference)).code, OK);
  }
}

/** A front's thread, and what it has reported. */
class Front {
  readonly news: FrontNews[] = [];
  readonly #sent: SharedArrayBuffer;
  readonly #worker: Worker;
  #failure: unknown;

  constructor(shard: LiveShard, front: number, options: FrontOptions) {
    this.#sent = options.sent;
    this.#worker = new Worker(new URL('../../../support/frontThread.ts', import.meta.url), {
      workerData: options,
      execArgv: STRIPPED_BEFORE,
    });
    this.#worker.on('message', (message: FrontNews) => this.news.push(message));
    this.#worker.on('error', (error) => {
      this.#failure = error;
    });
    const send = (message: unknown, transfer: ArrayBuffer[] = []): void => this.#worker.postMessage(message, transfer);
    shard.fronts.add(front, { send, onCutOff: () => assert.fail('a front that reads is not cut off') });
  }

  get sent(): number {
    return Atomics.load(new Int32Array(this.#sent), 0);
  }

  ask(order: FrontOrder): void {
    this.#worker.postMessage(order);
  }

  next<K extends string>(name: K): Promise<Extract<FrontNews, { readonly [field in K]: unknown }>> {
    return eventually(name, async () => {
      assert.equal(this.#failure, undefined);
      const index = this.news.findIndex((news) => name in news);
      return index >= 0 && (this.news.splice(index, 1)[0] as Extract<FrontNews, { readonly [field in K]: unknown }>);
    });
  }

  async kill(): Promise<void> {
    await this.#worker.terminate();
  }

  async stop(): Promise<void> {
    const ended = once(this.#worker, 'exit');
    this.ask('stop');
    await ended;
  }
}

test('three gateway threads trade on one shard: each gets its own replies, and all show the same', async () => {
  const seed = seedOr(20);
  console.log(`seed ${seed}`);
  const random = new Random(seed);
  const signer = new OrderSigner(`0x${'01'.repeat(32)}`, DOMAIN);
  const orders = [0, 1, 2].map((part) => prepare(signer, 1 + part * ORDERS_OF_EACH, ORDERS_OF_EACH));
  const shard = await LiveShard.start();
  const optionsOf = (front: number): FrontOptions => {
    return { orders: orders[front]!, seed: random.next(), sent: new SharedArrayBuffer(4) };
  };
  try {
    await openMarkets(shard);
    const first = new Front(shard, 1, optionsOf(1));
    const doomedOptions = optionsOf(2);
    const doomed = new Front(shard, 2, doomedOptions);
    await Promise.all([first.next('attached'), doomed.next('attached')]);
    doomed.ask({ send: ORDERS_OF_EACH });
    first.ask({ send: ORDERS_OF_EACH });
    const own = orders[0]!.map(({ account, record }) => {
      return new Promise<number>((resolve) => {
        assert.equal(
          shard.engine.place(0, account, 0, new RecordWriter(record), ({ code }) => resolve(code), null),
          OK,
        );
      });
    });
    // One front dies in the middle of sending; everything in its ring by then is carried out.
    const killAt = 1 + random.below(ORDERS_OF_EACH - 2);
    while (doomed.sent < killAt) await new Promise(setImmediate);
    await doomed.kill();
    shard.fronts.remove(2);
    const successor = new Front(shard, 2, doomedOptions);
    await successor.next('attached');
    successor.ask({ send: ORDERS_OF_EACH - doomed.sent });
    const [ofFirst, ofSuccessor] = await Promise.all([first.next('replied'), successor.next('replied')]);
    for (const { replied, sentCommands } of [ofFirst, ofSuccessor]) assert.equal(replied, sentCommands);
    assert.deepEqual(new Set([...ofFirst.codes, ...(await Promise.all(own))]), new Set([OK]));
    // The front may have died between an order and the note that it was sent.
    const refused = ofSuccessor.codes.filter((code) => code !== OK);
    assert.ok(refused.length <= 1 && refused.every((code) => code === E.DUPLICATE_ORDER), `refused: ${refused}`);
    assert.equal(await placeAgain(shard, orders[2]!), ORDERS_OF_EACH, 'what was in the ring was carried out');

    const shown = shard.views.appliedSequence(0);
    for (const front of [first, successor]) {
      front.ask({ show: shown });
      assert.deepEqual((await front.next('views')).views, stateOfViews(shard.views));
    }
    await Promise.all([first.stop(), successor.stop()]);
  } finally {
    await shard.stop();
  }
});

/** Sends orders once more. @returns how many the shard knows. */
async function placeAgain(shard: LiveShard, orders: readonly PreparedOrder[]): Promise<number> {
  const codes = await Promise.all(
    orders.map(({ account, record }) => {
      return new Promise<number>((resolve) => {
        assert.equal(
          shard.engine.place(0, account, 0, new RecordWriter(record), ({ code }) => resolve(code), null),
          OK,
        );
      });
    }),
  );
  return codes.filter((code) => code === E.DUPLICATE_ORDER).length;
}
