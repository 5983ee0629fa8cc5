/**
 * How fast is the shard of a market that gets all orders, alone and with a verifier thread? And for how many signature
 * checks does a cancel wait that arrives in the middle of one? The bench runs the shard's own loop on the main thread,
 * with real rings, signatures and matching; the journal stores nothing.
 */
import { Worker } from 'node:worker_threads';
import { Engine } from '../engine/core/engine.ts';
import type { JournalStore } from '../engine/journal/journalStore.ts';
import { Gateways } from '../engine/shard/gateways.ts';
import { ShardLoop } from '../engine/shard/loop.ts';
import { Outlet } from '../engine/shard/outlet.ts';
import { OfferedChecks } from '../engine/verify/checkBoard.ts';
import { Kernel } from '../engine/verify/kernel/kernel.ts';
import { KernelDigests } from '../engine/verify/kernelDigests.ts';
import { ShardChecks } from '../engine/verify/shardChecks.ts';
import type { BatchVerifier } from '../engine/verify/verifier.ts';
import { assert } from '../shared/base/assert.ts';
import { CLOSE_REASON, MARKET_STATUS, MOVEMENT, OUTCOME, SIDE, TIME_IN_FORCE } from '../shared/base/codes.ts';
import { STRIPPED_BEFORE } from '../shared/base/stripTypes.ts';
import { OrderSigner } from '../shared/client/orderSigner.ts';
import { DOMAIN_NAME, DOMAIN_VERSION, hasherFor, ZERO_ADDRESS } from '../shared/crypto/eip712.ts';
import { createKeccak } from '../shared/crypto/fastKeccak.ts';
import { Balances, createBalances } from '../shared/wire/balances.ts';
import { createCheckBoard } from '../shared/wire/checkLayout.ts';
import {
  ANY_COMMAND,
  COMMAND,
  claimCommand,
  NO_MARKET,
  PLACE_BIT_AUTHORIZED,
  packKind,
} from '../shared/wire/commands.ts';
import { Progress } from '../shared/wire/progress.ts';
import { writeSafe } from '../shared/wire/record.ts';
import { RingProducer } from '../shared/wire/ring.ts';
import { createRingBuffer } from '../shared/wire/ringLayout.ts';
import type { VerifierOptions } from '../shared/wire/threads.ts';
import { atLeast, atMost, type Report, type Row, STOLEN, StealMeter } from './report.ts';
import { type SignedOrder, signOrder, TOKENS, USDC } from './signedOrders.ts';

const ORDERS = 2000;
const ROUNDS = 5;
const RING_BYTES = 1 << 20;
const ACCOUNT = 1;
const NOW_MS = 1_800_000_000_000;
const CANCEL_EVERY = 20;
const DOMAIN = { name: DOMAIN_NAME, version: DOMAIN_VERSION, chainId: 137, verifyingContract: ZERO_ADDRESS };

const CPU = 'shard us/order';

type Run = { readonly 'orders/s': number; readonly [CPU]: number };

const keccak = await createKeccak();

export async function run(): Promise<Report> {
  const signer = new OrderSigner(`0x${'11'.repeat(32)}`, DOMAIN, keccak);
  const orders = Array.from({ length: ORDERS }, (_, salt) => signOrder(signer, salt));
  const board = createCheckBoard(1);
  const workerData: VerifierOptions = { checkBoard: board, verifier: 'kernel' };
  const alone: Run[] = [];
  const helped: Run[] = [];
  const steal = new StealMeter();
  const worker = new Worker(new URL('../engine/verify/main.ts', import.meta.url), {
    workerData,
    execArgv: STRIPPED_BEFORE,
  });
  try {
    new HotShard(orders, board).drain();
    // The two alternate, so that other load on the machine affects both.
    for (let round = 0; round < ROUNDS; round++) {
      alone.push(timeOf(new HotShard(orders, null)));
      helped.push(timeOf(new HotShard(orders, board)));
    }
  } finally {
    await worker.terminate();
  }
  const waits = cancelWaits(orders);
  const stolen = steal.percent();
  const [fastest, fastestHelped] = [best(alone), best(helped)];
  const rows: Row[] = [
    { what: 'shard alone', ...fastest, 'checks a cancel waits for': waits, [STOLEN]: stolen },
    { what: 'with one verifier thread', ...fastestHelped, [STOLEN]: stolen },
  ];
  return {
    bench: 'hotMarket',
    settings: `${ORDERS} signed orders in one market's ring, verifier kernel, no gateway, nothing journaled`,
    rows,
    goals: [
      atLeast('orders/s with a helper / alone', fastestHelped['orders/s'] / fastest['orders/s'], 1.5),
      atLeast('shard processor time an order, alone / with a helper', fastest[CPU] / fastestHelped[CPU], 1.5),
      atMost('signature checks a cancel waits for', waits, 1),
    ],
  };
}

/** The processor time of a shard for a signed order without storing anything: no shard is faster. */
export function shardUsPerOrder(): number {
  const signer = new OrderSigner(`0x${'11'.repeat(32)}`, DOMAIN, keccak);
  const orders = Array.from({ length: ORDERS }, (_, salt) => signOrder(signer, salt));
  new HotShard(orders, null).drain();
  return best(Array.from({ length: ROUNDS }, () => timeOf(new HotShard(orders, null))))[CPU];
}

type Wrap = (kernel: Kernel) => BatchVerifier;
const asItIs: Wrap = (kernel) => kernel;

/** A shard's loop and the producer's end of its rings. */
class HotShard {
  readonly #loop: ShardLoop;
  readonly #producer: RingProducer;
  readonly #engine: Engine;

  constructor(orders: SignedOrder[], board: SharedArrayBuffer | null, wrap: Wrap = asItIs) {
    const [commandRing, eventRing] = [createRingBuffer(RING_BYTES), createRingBuffer(RING_BYTES)];
    const kernel = new Kernel();
    const checks = new ShardChecks({
      digests: new KernelDigests(kernel, hasherFor(DOMAIN, keccak)),
      verifier: wrap(kernel),
      board: board === null ? undefined : new OfferedChecks(board, 0),
    });
    const journal = { append: () => undefined, isStaged: false } as unknown as JournalStore;
    const balances = new Balances(createBalances(1));
    this.#engine = new Engine({
      balances,
      collateralCheck: true,
      checks,
      journal,
    });
    this.#engine.goLive();
    this.#producer = new RingProducer(commandRing);
    this.#loop = new ShardLoop({
      shard: 0,
      engine: this.#engine,
      journal,
      progress: new Progress(Progress.create(1)),
      outlet: new Outlet(this.#engine, new Gateways({ commandRing, eventRing })),
      checks,
      clock: { nowMs: () => NOW_MS },
    });
    this.#prepare();
    for (const order of orders) this.#place(order);
  }

  /** Runs until no command waits. */
  drain(): void {
    const { state, out } = this.#engine;
    for (;;) {
      while (this.#loop.readAhead()) this.#loop.run();
      if (this.#loop.ranCount === 0) break;
      this.#loop.commit();
      out.clear();
    }
    assert(state.orders.openCount > 0, 'hotMarket: right orders rest');
  }

  /** The cancelled order does not exist, which does not change how long the cancel waits. */
  cancel(account: number): void {
    const market = NO_MARKET;
    claimCommand(this.#producer, COMMAND.CANCEL.TYPE, 1, account, NOW_MS, market, CLOSE_REASON.USER);
    this.#producer.publish();
  }

  onCommand(listen: (type: number) => void): void {
    const submit = this.#engine.submit.bind(this.#engine);
    this.#engine.submit = (words, bytes, word) => {
      listen(words[word + ANY_COMMAND.type] & 0xffff);
      submit(words, bytes, word);
    };
  }

  #prepare(): void {
    const { words } = this.#producer;
    const open = claimCommand(this.#producer, COMMAND.MARKET_OPEN.TYPE, 1, 0, NOW_MS, 0, 0);
    words[open + COMMAND.MARKET_OPEN.ticksPerUnit] = 100;
    writeSafe(words, open + COMMAND.MARKET_OPEN.minOrderAtomic, TOKENS);
    writeSafe(words, open + COMMAND.MARKET_OPEN.endMs, 2 * NOW_MS);
    words[open + COMMAND.MARKET_OPEN.status] = MARKET_STATUS.ACTIVE;
    const deposit = MOVEMENT.DEPOSIT;
    const funds = claimCommand(this.#producer, COMMAND.FUNDS.TYPE, 1, ACCOUNT, NOW_MS, NO_MARKET, deposit);
    writeSafe(words, funds + COMMAND.FUNDS.amountMicro, ORDERS * USDC);
    this.#producer.publish();
  }

  #place({ salt, maker, signature }: SignedOrder): void {
    const word = claimCommand(this.#producer, COMMAND.PLACE.TYPE, 1, ACCOUNT, NOW_MS, 0, 0);
    assert(word >= 0, 'hotMarket: all orders fit into the ring');
    const { words, bytes } = this.#producer;
    const at = word * 4;
    bytes[at + COMMAND.PLACE.salt * 4 + 31] = salt;
    bytes[at + COMMAND.PLACE.salt * 4 + 30] = salt >>> 8;
    bytes[at + COMMAND.PLACE.tokenId * 4 + 31] = 7;
    bytes.set(maker, at + COMMAND.PLACE.makerAddress * 4);
    bytes.set(maker, at + COMMAND.PLACE.signerAddress * 4);
    bytes.set(signature, at + COMMAND.PLACE.signature * 4);
    const { BUY } = SIDE;
    words[word + COMMAND.PLACE.kind] = packKind(BUY, OUTCOME.YES, TIME_IN_FORCE.GTC, PLACE_BIT_AUTHORIZED);
    writeSafe(words, word + COMMAND.PLACE.makerAmount, USDC);
    writeSafe(words, word + COMMAND.PLACE.takerAmount, TOKENS);
    this.#producer.publish();
  }
}

/** Processor time is that of the shard alone: on a busy machine the wall clock measures other processes too. */
function timeOf(shard: HotShard): Run {
  const startMs = performance.now();
  const start = process.threadCpuUsage();
  shard.drain();
  const { user, system } = process.threadCpuUsage(start);
  return { 'orders/s': (1000 * ORDERS) / (performance.now() - startMs), [CPU]: (user + system) / ORDERS };
}

/** Each figure is from its least disturbed round. */
function best(runs: readonly Run[]): Run {
  return {
    'orders/s': Math.max(...runs.map((one) => one['orders/s'])),
    [CPU]: Math.min(...runs.map((one) => one[CPU])),
  };
}

/** The most checks, or steps of a batch, that end between a cancel's arrival, in the middle of one, and its run. */
function cancelWaits(orders: SignedOrder[]): number {
  let checks = 0;
  let arrivedAt = -1;
  let most = 0;
  let cancels = 0;
  let sent = 0;
  const noteCheck = (): void => {
    if (checks % CANCEL_EVERY === 0) {
      shard.cancel(ACCOUNT + 1);
      arrivedAt = checks;
      sent++;
    }
    checks++;
  };
  const shard: HotShard = new HotShard(orders, null, (kernel) => ({
    name: kernel.name,
    mostInBatch: kernel.mostInBatch,
    isKnown: (...signer) => kernel.isKnown(...signer),
    beginBatch: () => kernel.beginBatch(),
    addToBatch: (...question) => kernel.addToBatch(...question),
    verdictOf: (index) => kernel.verdictOf(index),
    stepBatch: () => {
      noteCheck();
      return kernel.stepBatch();
    },
    verify: (...question) => {
      noteCheck();
      return kernel.verify(...question);
    },
  }));
  shard.onCommand((type) => {
    if (type !== COMMAND.CANCEL.TYPE) return;
    most = Math.max(most, checks - arrivedAt);
    cancels++;
  });
  shard.drain();
  assert(cancels === sent && sent > 0, 'hotMarket: every cancel has run');
  return most;
}
