/**
 * An exchange for the settlement bench: an engine whose fills were signed by their traders, its journal, and a local
 * chain on which the same traders have deposited. Settlement runs in this process, so that its processor time can be
 * separated from the node's, and its calls are counted.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type Database from 'better-sqlite3';
import { type Hex, hexToBytes, parseEther, toHex } from 'viem';
import { Journal } from '../engine/journal/journal.ts';
import { News } from '../engine/settlement/news.ts';
import { Settlement } from '../engine/settlement/settlement.ts';
import { openSettlementDb } from '../engine/settlement/settlementDb.ts';
import { assert } from '../shared/base/assert.ts';
import { MARKET_STATUS, OUTCOME, SIDE, SIDE_NAMES } from '../shared/base/codes.ts';
import { chainKey } from '../shared/chain/key.ts';
import { ChainNode } from '../shared/chain/node.ts';
import { HttpRpc, type Rpc } from '../shared/chain/rpc.ts';
import type { OrderDraft } from '../shared/client/order.ts';
import { OrderSigner } from '../shared/client/orderSigner.ts';
import { COMMAND, claimCommand } from '../shared/wire/commands.ts';
import { Progress } from '../shared/wire/progress.ts';
import { CHAIN_ID, type ChainMarket, ChainRig, key, ROLES } from '../test/chain/rig.ts';
import { amountsOf, writeMarketOpen, writePlacement } from '../test/support/commandBodies.ts';
import { EngineRig } from '../test/support/engineRig.ts';
import { TEST_KEY } from '../test/support/journalKey.ts';

const OPERATOR = toHex(0x5e77, { size: 32 });
const DEPLOYER = toHex(0xdeb1, { size: 32 });
const RESOLVER = toHex(0x4e50, { size: 32 });
const FEE_BPS = 50;
const TICKS_PER_UNIT = 100;
const [TICKS, LOTS] = [60, 10_000];
const START_MICRO = 1_000_000_000;
const SETS = 400_000_000;
const YEAR_MS = 365 * 86_400_000;
const FINAL_BLOCKS = 70;

class CountingRpc implements Rpc {
  calls = 0;
  /** Balances that are compared with the ledger: a fixed number per round, however many trades there are. */
  views = 0;
  readonly #rpc: Rpc;

  constructor(rpc: Rpc) {
    this.#rpc = rpc;
  }

  call(method: string, params: readonly unknown[]): Promise<unknown> {
    if (method === 'eth_call') this.views++;
    else this.calls++;
    return this.#rpc.call(method, params);
  }
}

export class SettlementExchange {
  readonly chain: ChainRig;
  readonly db: Database.Database;
  readonly settlement: Settlement;
  readonly rpc: CountingRpc;
  readonly #directory = mkdtempSync(join(tmpdir(), 'bench-settlement-'));
  readonly #engine = new EngineRig();
  readonly #journal: Journal;
  readonly #progress = new Progress(Progress.create(1));
  readonly #market: ChainMarket;
  readonly #signers: readonly OrderSigner[];
  #written = 0;
  #salt = 0;

  /** @param traders half of them have tokens to sell */
  static async start(traders: number): Promise<SettlementExchange> {
    const chain = await ChainRig.start();
    const { address } = chainKey(OPERATOR);
    for (const each of [address, chainKey(DEPLOYER).address]) {
      await chain.client.setBalance({ address: each, value: parseEther('1000') });
    }
    const role = await chain.call('exchange', 'OPERATOR_ROLE', []);
    await chain.exchange(ROLES.admin, 'grantRole', [role, address]);
    const exchange = new SettlementExchange(chain, await chain.createMarket(), traders);
    await exchange.#fund();
    return exchange;
  }

  private constructor(chain: ChainRig, market: ChainMarket, traders: number) {
    this.chain = chain;
    this.#market = market;
    const { exchange, ...contracts } = chain.contracts;
    const domain = { ...chain.domain, verifyingContract: exchange.toLowerCase() };
    this.#signers = Array.from(
      { length: traders },
      (_, index) => new OrderSigner(toHex(index + 1, { size: 32 }), domain),
    );
    const journalPath = join(this.#directory, 'journal-0.db');
    this.#journal = Journal.open({ journalPath, journalSync: 'normal', shard: 0, shards: 1, key: TEST_KEY });
    this.db = openSettlementDb(join(this.#directory, 'settlement.db'));
    this.rpc = new CountingRpc(new HttpRpc(chain.client.chain.rpcUrls.default.http[0]));
    this.settlement = new Settlement({
      db: this.db,
      node: new ChainNode(this.rpc),
      key: chainKey(OPERATOR),
      chainId: CHAIN_ID,
      deployerKey: chainKey(DEPLOYER),
      resolverKey: chainKey(RESOLVER),
      contracts: { exchange: exchange.toLowerCase() as Hex, ...contracts },
      mostFeeWei: 10n ** 15n,
      progress: this.#progress,
      journalPaths: [journalPath],
      keys: [TEST_KEY],
      nowMs: () => Date.now(),
      news: new News(this.db, () => Date.now()),
      limits: { headAgeMs: 30_000, waitMs: 60_000 },
    });
  }

  /** The bytes in use, without free pages of the file. */
  get storedBytes(): number {
    const [pages, free, size] = ['page_count', 'freelist_count', 'page_size'].map(
      (name) => this.db.pragma(name, { simple: true }) as number,
    );
    return (pages - free) * size;
  }

  /** Deposits for all traders, and full sets for the second half. */
  async #fund(): Promise<void> {
    const [engine, half] = [this.#engine, this.#signers.length / 2];
    engine.nowMs = Date.now();
    engine.run((ring) => {
      const word = claimCommand(ring, COMMAND.MARKET_OPEN.TYPE, 7, 0, engine.nowMs, 0, 0);
      writeMarketOpen(ring.words, word, 0, {
        ...{ ticksPerUnit: TICKS_PER_UNIT, feeBps: FEE_BPS, minOrderAtomic: TICKS_PER_UNIT },
        ...{ startMs: engine.nowMs, endMs: engine.nowMs + YEAR_MS, status: MARKET_STATUS.ACTIVE },
      });
      ring.bytes.set(hexToBytes(this.#market.marketId), (word + COMMAND.MARKET_OPEN.uuid) * 4);
    });
    for (const index of this.#signers.keys()) {
      this.settlement.rows.setEscrow(index + 1, key(index + 1).address);
      engine.fund(index + 1, START_MICRO);
      await this.chain.fund(key(index + 1), BigInt(START_MICRO));
      if (index < half) continue;
      // As in a trading market: an account's first token takes more gas than later ones.
      engine.convert(index + 1, 0, SETS);
    }
  }

  /** Makes fills of one maker and one taker each; neighbouring fills belong to different accounts. */
  trade(fills: number): void {
    const half = this.#signers.length / 2;
    for (let fill = 0; fill < fills; fill++) {
      this.#place(half + (fill % half), SIDE.SELL);
      this.#place(fill % half, SIDE.BUY);
    }
    const { rows } = this.#engine.journal;
    while (this.#written < rows.length) this.#journal.append(rows[this.#written++]);
    this.#journal.commit();
    this.#progress.setCommitted(0, this.#journal.lastSequence);
  }

  #place(trader: number, side: number): void {
    const { makerAmount, takerAmount } = amountsOf(side, LOTS, TICKS, TICKS_PER_UNIT);
    const salt = ++this.#salt;
    const signer = this.#signers[trader];
    const draft: OrderDraft = {
      ...{ market_id: '', token_id: String(this.#market.yes), side: SIDE_NAMES[side] },
      ...{ maker_amount: String(makerAmount), taker_amount: String(takerAmount) },
      ...{ nonce: 0, fee_rate_bps: FEE_BPS, outcome_index: 0 },
    };
    const { body } = signer.sign(draft, { salt: String(salt) });
    this.#engine.run((ring) => {
      const { PLACE } = COMMAND;
      const word = claimCommand(ring, PLACE.TYPE, 7, trader + 1, this.#engine.nowMs, 0, 0);
      const terms = { side, outcome: OUTCOME.YES, feeBps: FEE_BPS, salt: 0, makerAmount, takerAmount };
      writePlacement(ring.words, word, terms, false);
      const put = (at: number, bytes: string): void => ring.bytes.set(hexToBytes(bytes as Hex), (word + at) * 4);
      put(PLACE.salt, toHex(salt, { size: 32 }));
      put(PLACE.tokenId, toHex(this.#market.yes, { size: 32 }));
      put(PLACE.makerAddress, signer.address);
      put(PLACE.signerAddress, signer.address);
      put(PLACE.signature, body.signature);
    });
  }

  /** From here on blocks come at this interval and have this gas limit. */
  async mineEvery(seconds: number, gasLimit: number): Promise<void> {
    const { client } = this.chain;
    await client.setBlockGasLimit({ gasLimit: BigInt(gasLimit) });
    await client.setAutomine(false);
    await client.setIntervalMining({ interval: seconds });
  }

  follow(): void {
    while (this.settlement.follow());
  }

  /** Runs rounds with the pause of the thread, until all work is in a block. */
  async settle(pauseMs: number): Promise<void> {
    const left = this.db.prepare<[], number>(
      `SELECT EXISTS (SELECT 1 FROM work WHERE status IN ('pending', 'submitted'))`,
    );
    for (;;) {
      await this.settlement.step();
      if (left.pluck().get() === 0) break;
      await sleep(pauseMs);
    }
  }

  /** Waits until all blocks are final. */
  async finish(): Promise<void> {
    for (let round = 0; round < 4; round++) {
      await this.chain.client.mine({ blocks: FINAL_BLOCKS });
      await this.settlement.step();
    }
    const left = this.db.prepare<[], number>(`SELECT count(*) FROM work WHERE status <> 'settled'`).pluck().get();
    assert(left === 0, 'settlement: everything is settled');
  }

  /** The number of transactions with trades, and the gas of all of them. */
  async batches(): Promise<{ readonly batches: number; readonly gas: bigint }> {
    const hashes = this.db.prepare<[], Hex>('SELECT hash FROM jobs WHERE batch IS NOT NULL').pluck().all();
    let gas = 0n;
    for (const hash of hashes) gas += (await this.chain.client.getTransactionReceipt({ hash })).gasUsed;
    return { batches: hashes.length, gas };
  }

  async stop(): Promise<void> {
    this.settlement.close();
    this.db.close();
    this.#journal.close();
    await this.chain.stop();
    rmSync(this.#directory, { recursive: true });
  }
}
