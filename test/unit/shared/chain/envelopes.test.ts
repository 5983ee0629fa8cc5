/** The nonce stream of a key (shared/chain/envelopes.ts) on a chain that fails in every way. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { type Hex, toHex } from 'viem';
import { EnvelopeRows } from '../../../../shared/chain/envelopeRows.ts';
import { Envelopes, MOST_OPEN } from '../../../../shared/chain/envelopes.ts';
import { feesFor } from '../../../../shared/chain/fees.ts';
import { chainKey } from '../../../../shared/chain/key.ts';
import { ChainNode } from '../../../../shared/chain/node.ts';
import { NodeUnreachable } from '../../../../shared/chain/rpc.ts';
import { Crash, Crashes } from '../../../support/crashes.ts';
import { FakeChain, type FakeContract } from '../../../support/fakeChain.ts';
import { Random } from '../../../support/random.ts';
import { seedOr, timesOf } from '../../../support/seeds.ts';

const KEY = chainKey(toHex(7, { size: 32 }));
const GWEI = 1_000_000_000n;

/** Counts how often each job's data was carried out. */
class Counter implements FakeContract {
  readonly done = new Map<Hex, number>();
  run(data: Hex) {
    this.done.set(data, (this.done.get(data) ?? 0) + 1);
    return { isSuccess: true, logs: [] };
  }
  view(): Hex {
    return '0x';
  }
}

class Rig {
  readonly random: Random;
  readonly chain: FakeChain<Counter>;
  readonly db = new Database(':memory:');
  readonly states = new Map<number, string>();
  readonly finals: number[] = [];
  nowMs = 1_800_000_000_000;
  readonly crashes = new Crashes();
  envelopes!: Envelopes;
  readonly #chainId: number;
  /** Receipts that the node gives, whatever the chain has. */
  readonly kept = new Map<unknown, unknown>();

  constructor(
    seed: number,
    options: ConstructorParameters<typeof FakeChain<Counter>>[2] & { readonly chainId?: number } = {},
  ) {
    this.random = new Random(seed);
    this.chain = new FakeChain(this.random, () => new Counter(), options);
    this.#chainId = options.chainId ?? 137;
    this.restart();
  }

  /** A job whose transaction is in a block. @returns its receipt */
  async mined(job: number): Promise<{ transactionHash: Hex }> {
    await this.step();
    this.reserve(job);
    await this.step();
    this.chain.mine();
    await this.step();
    assert.equal(this.states.get(job), 'mined');
    return this.chain.head.transactions.at(-1)!.receipt as { transactionHash: Hex };
  }

  restart(): void {
    this.crashes.stepsLeft = Number.POSITIVE_INFINITY;
    const rows = new EnvelopeRows(this.crashes.around(this.db), KEY.address);
    const call = (method: string, params: readonly unknown[]): Promise<unknown> => {
      const isKept = method === 'eth_getTransactionReceipt' && this.kept.has(params[0]);
      return isKept ? Promise.resolve(this.kept.get(params[0])) : this.chain.call(method, params);
    };
    const node = new ChainNode(this.crashes.aroundCalls({ call }));
    this.envelopes = new Envelopes({
      key: KEY,
      chainId: this.#chainId,
      node,
      rows,
      mostFeeWei: 100_000n * GWEI,
      nowMs: () => this.nowMs,
      jobs: {
        read: async (job) => () => void this.states.set(job, 'mined'),
        unmined: (job) => void this.states.set(job, 'open'),
        lost: (job) => this.reserve(job),
        final: (job) => {
          assert.equal(this.states.get(job), 'mined', 'only what is mined becomes final');
          this.states.set(job, 'final');
          this.finals.push(job);
        },
      },
    });
  }

  reserve(job: number): void {
    this.states.set(job, 'open');
    this.envelopes.reserve(job, { to: KEY.address, data: toHex(job, { size: 32 }), gas: 100_000 });
  }

  /** One check of the chain; calls that the node fails to answer are tried again at the next one. */
  async step(): Promise<void> {
    this.nowMs += 2000;
    try {
      const node = new ChainNode(this.chain);
      const [head, finalized] = [await node.block('latest'), await node.block('finalized')];
      if (head !== null && finalized !== null) await this.envelopes.step({ head, finalized });
    } catch (error) {
      if (error instanceof Crash) this.restart();
      else if (!(error instanceof NodeUnreachable)) throw error;
    }
  }
}

const JOBS = timesOf({ suite: 25, soak: 400 });
const SEEDS = timesOf({ suite: 3, soak: 60 });
const first = seedOr(1);

for (let seed = first; seed < first + SEEDS; seed++) {
  test(`every job ends final under crashes, reorganisations and a bad node, seed ${seed}`, async () => {
    const rig = new Rig(seed);
    const { random, chain } = rig;
    let job = 0;
    for (let steps = 0; rig.finals.length < JOBS; steps++) {
      assert.ok(steps < JOBS * 60, `${rig.finals.length} of ${JOBS} jobs are final after ${steps} steps`);
      chain.faults = random.chance(70) ? random.below(30) : 0;
      if (random.chance(20)) chain.baseFee = (GWEI * BigInt(random.between(1, 400))) / 4n;
      if (random.chance(30)) rig.crashes.stepsLeft = random.between(1, 40);
      if (job < JOBS && rig.envelopes.hasRoom) rig.reserve(++job);
      await rig.step();
      if (random.chance(5)) chain.forget();
      if (random.chance(80)) chain.mine(random.between(1, 4));
      if (random.chance(4)) chain.reorganise(random.between(1, 40));
      if (random.chance(2)) chain.useNonceElsewhere(KEY.address);
    }
    for (let number = 1; number <= JOBS; number++) {
      assert.ok(chain.contract.done.has(toHex(number, { size: 32 })), `job ${number} is on the chain`);
      assert.equal(rig.states.get(number), 'final');
    }
  });
}

test('a stuck transaction is replaced by one with the same nonce and a fee one eighth higher', async () => {
  const rig = new Rig(1);
  await rig.step();
  rig.reserve(1);
  await rig.step();
  rig.chain.baseFee = 1000n * GWEI;
  for (let i = 0; i < 20; i++) {
    rig.chain.mine();
    await rig.step();
  }
  assert.equal(rig.states.get(1), 'mined');
  const rows = new EnvelopeRows(rig.db, KEY.address);
  const [before, after] = rows.attempts(0);
  assert.ok(BigInt(after.max_fee_wei) * 8n >= BigInt(before.max_fee_wei) * 9n);
  assert.ok(BigInt(after.priority_fee_wei) * 8n >= BigInt(before.priority_fee_wei) * 9n);
  assert.equal(rig.chain.contract.done.size, 1);
});

test('a nonce that another program has used is noticed, and the job gets another one', async () => {
  const rig = new Rig(1);
  await rig.step();
  rig.reserve(1);
  rig.chain.useNonceElsewhere(KEY.address);
  for (let i = 0; i < 80; i++) {
    await rig.step();
    rig.chain.mine();
  }
  assert.equal(rig.envelopes.foreign, 1);
  assert.equal(rig.states.get(1), 'mined');
});

/** A chain that has given up the blocks of all transactions. */
async function reorganised(): Promise<{ rig: Rig; receipt: { transactionHash: Hex } }> {
  for (let seed = first; ; seed++) {
    const rig = new Rig(seed);
    await rig.mined(1);
    const receipt = await rig.mined(2);
    rig.chain.reorganise(10);
    if (rig.chain.contract.done.size === 0) return { rig, receipt };
  }
}

test('work that a reorganisation removes is open again at the next check, and is carried out once more', async () => {
  const { rig } = await reorganised();
  await rig.step();
  assert.deepEqual(
    [...rig.states],
    [1, 2].map((job) => [job, 'open']),
  );
  rig.chain.mine();
  await rig.step();
  assert.deepEqual(
    [...rig.states],
    [1, 2].map((job) => [job, 'mined']),
  );
});

test('the receipt of a block that the chain has given up is not believed', async () => {
  const { rig, receipt } = await reorganised();
  rig.kept.set(receipt.transactionHash, receipt);
  await rig.step();
  assert.equal(rig.states.get(2), 'open');
});

test('a transaction is final once its block has 32 confirmations and is finalized, and not before', async () => {
  for (const [finality, blocks] of [
    [64, 64],
    [5, 31],
    [0, 31],
  ]) {
    const rig = new Rig(1, { finality });
    await rig.mined(1);
    for (let after = 1; after < blocks; after++) {
      rig.chain.mine();
      await rig.step();
      assert.equal(rig.states.get(1), 'mined', `${after} blocks later, finalized after ${finality}`);
    }
    rig.chain.mine();
    await rig.step();
    assert.equal(rig.states.get(1), 'final', `${blocks} blocks later, finalized after ${finality}`);
  }
});

test('a replaced transaction may still be the one that is mined', async () => {
  const rig = new Rig(1);
  await rig.step();
  rig.reserve(1);
  await rig.step();
  const rows = new EnvelopeRows(rig.db, KEY.address);
  const [{ hash }] = rows.attempts(0);
  const bytes = rows.bytes(hash);
  rig.chain.baseFee = 1000n * GWEI;
  for (let i = 0; i < 20; i++) await rig.step();
  assert.equal(rows.attempts(0).length, 2);
  rig.chain.forget();
  await rig.chain.call('eth_sendRawTransaction', [bytes]);
  rig.chain.baseFee = GWEI;
  rig.chain.mine();
  await rig.step();
  assert.deepEqual([rig.states.get(1), rig.envelopes.foreign], ['mined', 0]);
});

test('a bounded number of transactions waits for a block', async () => {
  const rig = new Rig(1);
  assert.equal(rig.envelopes.hasRoom, false, 'the nonce is not known yet');
  await rig.step();
  for (let job = 1; job <= MOST_OPEN; job++) rig.reserve(job);
  assert.equal(rig.envelopes.hasRoom, false);
});

test('fees leave room for the base fee to double twice, and stay under the most that may be offered', () => {
  assert.deepEqual(feesFor(10n, 3n, null, 1000n), { maxFeePerGas: 43n, maxPriorityFeePerGas: 3n });
  assert.deepEqual(feesFor(10n, 3n, null, 20n), { maxFeePerGas: 20n, maxPriorityFeePerGas: 3n });
  assert.equal(feesFor(10n, 3n, null, 12n), null);
});

/** A node suggests 1 gwei, as the fake one does, and takes 25; the chain has an id that nothing is known of. */
const LEAST_WEI = 25n * GWEI;
for (const [chainId, words, attempts] of [
  [137, () => 'transaction underpriced', 1],
  [80_002, () => 'transaction underpriced', 1],
  [999, (tip: bigint) => `transaction underpriced: gas tip cap ${tip}, minimum needed ${LEAST_WEI}`, 2],
  [999, (tip: bigint) => `transaction underpriced: tip needed ${LEAST_WEI}, tip permitted ${tip}`, 2],
  [999, () => 'FeeTooLow', 6],
  [999, () => 'Gas price below configured minimum gas price', 6],
] as const) {
  test(`a node that drops low tips takes attempt ${attempts} on chain ${chainId}: ${words(1n)}`, async () => {
    const rig = new Rig(1, { chainId, leastTip: { wei: LEAST_WEI, words } });
    const rows = new EnvelopeRows(rig.db, KEY.address);
    await rig.step();
    for (const job of [1, 2]) {
      rig.reserve(job);
      for (let steps = 0; steps < 20 && rig.states.get(job) === 'open'; steps++) {
        await rig.step();
        rig.chain.mine();
      }
      assert.equal(rig.states.get(job), 'mined');
    }
    assert.equal(rows.attempts(0).length, attempts);
    assert.equal(rows.attempts(1).length, 1, 'what was learnt holds for the next transaction');
  });
}

test('a tip that nobody would pay is forgotten: another node may say less', async () => {
  let wei = 10n ** 18n;
  const leastTip = {
    get wei() {
      return wei;
    },
    words: () => `transaction underpriced: tip needed ${wei}, tip permitted 1`,
  };
  const rig = new Rig(1, { chainId: 999, leastTip });
  await rig.step();
  rig.reserve(1);
  await rig.step();
  assert.equal(rig.envelopes.isAtMostFee, true);
  wei = GWEI;
  for (let steps = 0; steps < 10; steps++) {
    await rig.step();
    rig.chain.mine();
  }
  assert.deepEqual([rig.states.get(1), rig.envelopes.isAtMostFee], ['mined', false]);
});
