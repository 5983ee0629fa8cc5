/**
 * An exchange on the chain of a rig, without HTTP: engines with their journals on disk, and settlement
 * (engine/settlement) that follows them. A test moves everything itself: commands, rounds of settlement, and blocks.
 * Settlement may crash at any step (`crashes`), and begins again from what it has stored.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type Hex, hexToBytes, type PrivateKeyAccount, parseEther, toHex } from 'viem';
import { Journal } from '../../engine/journal/journal.ts';
import { ShardKey } from '../../engine/journal/shardKey.ts';
import { News } from '../../engine/settlement/news.ts';
import { isDifferent } from '../../engine/settlement/reconciliation.ts';
import { RefusedTrades } from '../../engine/settlement/refusedTrades.ts';
import { Settlement } from '../../engine/settlement/settlement.ts';
import { openSettlementDb } from '../../engine/settlement/settlementDb.ts';
import type { Verifier } from '../../engine/verify/verifier.ts';
import { FEE_ACCOUNT, MARKET_STATUS, MOVEMENT, OUTCOME } from '../../shared/base/codes.ts';
import { OK } from '../../shared/base/errors.ts';
import { type ChainKey, chainKey } from '../../shared/chain/key.ts';
import { ChainNode } from '../../shared/chain/node.ts';
import { marketIds, outcomeTokenIds } from '../../shared/chain/outcomeTokens.ts';
import { HttpRpc, NodeUnreachable, type Rpc, RpcError } from '../../shared/chain/rpc.ts';
import { Balances, createBalances } from '../../shared/wire/balances.ts';
import {
  COMMAND,
  type CommandType,
  claimCommand,
  EXTENDED_PLACE,
  type REPLACE_MODE,
  withFee,
} from '../../shared/wire/commands.ts';
import { Progress } from '../../shared/wire/progress.ts';
import { writeSafe } from '../../shared/wire/record.ts';
import { isExtended, type PlacementFields, writeMarketOpen, writePlacement } from '../support/commandBodies.ts';
import { Crash, Crashes } from '../support/crashes.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { type CommandResult, EngineRig } from '../support/engineRig.ts';
import { TEST_KEY, TEST_SECRET } from '../support/journalKey.ts';
import { MoneyGateway } from '../support/moneyGateway.ts';
import { send } from './deploy.ts';
import { CHAIN_ID, type ChainMarket, type ChainOrder, type ChainRig, CONTRACT_OF, key, ROLES, USDC } from './rig.ts';

export const OPERATOR = toHex(0x5e77, { size: 32 });
export const DEPLOYER = toHex(0xdeb1, { size: 32 });
export const RESOLVER = toHex(0x4e50, { size: 32 });
export const PAYER = toHex(0x9a1e, { size: 32 });
export const FINAL_BLOCKS = 70;
export const FEE_BPS = 50;
/** The fee of a movement on the chain. */
export const FEE_MICRO = 25_000;
const YEAR_MS = 365 * 86_400_000;
const KEYS = [TEST_KEY, await ShardKey.create({ ...TEST_SECRET, keyedFrom: [1, 1] }, 1)];

type MarketTerms = { readonly ticksPerUnit: number; readonly feeBps: number; readonly minOrderAtomic: number };
type SignedPlacement = Omit<PlacementFields, 'salt' | 'authorized'> & {
  readonly account: number;
  readonly market: number;
  readonly salt?: bigint;
  readonly nonce?: number;
  /** Not the account's own wallet. */
  readonly signer?: PrivateKeyAccount;
  /** Named as the signer by the order; the key that signs unless it is given. */
  readonly namedSigner?: Hex;
  /** The signature as it is sent. */
  readonly changed?: (signature: Hex) => Hex;
  /** The order that gives way, and how. */
  readonly old?: Uint32Array;
  readonly mode?: (typeof REPLACE_MODE)[keyof typeof REPLACE_MODE];
};

type ExchangeOptions = {
  readonly chain: ChainRig;
  /** Each has the wallet of the key of this number. */
  readonly accounts: readonly number[];
  readonly markets: readonly MarketTerms[];
  readonly shards?: number;
  /** Without one, all signatures count as valid. */
  readonly verifier?: Verifier;
  /** The node as settlement sees it. */
  readonly around?: (rpc: Rpc) => Rpc;
  /** The operator pays, one payment a transaction. */
  readonly isWithoutPayer?: boolean;
  readonly payBounds?: { readonly accountMicro: number; readonly allMicro: number };
  readonly aroundKey?: (key: ChainKey) => ChainKey;
};

export class FollowedExchange {
  readonly chain: ChainRig;
  readonly accounts: readonly number[];
  readonly terms: readonly MarketTerms[];
  readonly markets: ChainMarket[] = [];
  /** By shard. */
  readonly engines: readonly EngineRig[];
  readonly crashes = new Crashes();
  readonly db = openSettlementDb(':memory:');
  readonly progressMemory: SharedArrayBuffer;
  readonly progress: Progress;
  readonly journalPaths: readonly string[];
  readonly operator = chainKey(OPERATOR);
  readonly deployer = chainKey(DEPLOYER);
  readonly payer = chainKey(PAYER);
  readonly resolver = chainKey(RESOLVER);
  readonly gateway: MoneyGateway;
  settlement: Settlement;
  compared = 0;
  restarts = 0;
  unwound = 0;
  nowMs: number;
  readonly #options: ExchangeOptions;
  readonly #journals: readonly Journal[];
  readonly #written: number[];
  #news!: News;

  constructor(options: ExchangeOptions) {
    const { chain, accounts, markets, shards = 1, verifier } = options;
    this.#options = options;
    this.chain = chain;
    this.accounts = accounts;
    this.terms = markets;
    const balances = shards === 1 ? undefined : new Balances(createBalances());
    this.engines = Array.from({ length: shards }, () => new EngineRig({ balances, verifier }));
    this.progressMemory = Progress.create(shards);
    this.progress = new Progress(this.progressMemory);
    const directory = temporaryDirectory();
    this.journalPaths = this.engines.map((_, shard) => join(directory, `journal-${shard}.db`));
    this.#journals = this.journalPaths.map((journalPath, shard) =>
      Journal.open({ journalPath, journalSync: 'normal', shard, shards, key: KEYS[shard] }),
    );
    this.#written = this.engines.map(() => 0);
    this.nowMs = this.engines[0].nowMs;
    this.gateway = new MoneyGateway({
      accountOf: (wallet) => accounts.find((account) => key(account).address.toLowerCase() === wallet) ?? null,
      move: (account, movement, amount, reference, market) =>
        this.#shardOf(account, market).move(account, movement, amount, reference, market ?? undefined).reply.code,
    });
    this.settlement = this.#start();
  }

  #start(): Settlement {
    const { chain, engines, journalPaths, progress } = this;
    const { exchange, payments, ...contracts } = chain.contracts;
    const { around = (rpc) => rpc, aroundKey = (key) => key, isWithoutPayer = false, payBounds } = this.#options;
    const rpc = around(new HttpRpc(chain.client.chain.rpcUrls.default.http[0]));
    this.crashes.stepsLeft = Number.POSITIVE_INFINITY;
    const db = this.crashes.around(this.db);
    this.#news = new News(db, () => this.nowMs);
    return new Settlement({
      ...{ db, news: this.#news, progress, journalPaths, payBounds },
      ...{
        key: aroundKey(this.operator),
        deployerKey: aroundKey(this.deployer),
        resolverKey: aroundKey(this.resolver),
      },
      payer: isWithoutPayer ? null : { key: aroundKey(this.payer), contract: payments.toLowerCase() as Hex },
      limits: { headAgeMs: 30_000, waitMs: 60_000 },
      node: new ChainNode(this.crashes.aroundCalls(rpc)),
      chainId: CHAIN_ID,
      contracts: { exchange: exchange.toLowerCase() as Hex, ...contracts },
      mostFeeWei: 10n ** 15n,
      keys: KEYS.slice(0, engines.length),
      nowMs: () => this.nowMs,
    });
  }

  get engine(): EngineRig {
    return this.engines[0];
  }

  engineOf(market: number): EngineRig {
    return this.engines[market % this.engines.length];
  }

  #shardOf(account: number, market: number | null): EngineRig {
    return market === null ? this.engines[account % this.engines.length] : this.engineOf(market);
  }

  /** The keys of settlement may do their work. Once on a chain, whose snapshots keep it. */
  static async grantRights(chain: ChainRig): Promise<void> {
    const keys = [OPERATOR, DEPLOYER, PAYER, RESOLVER].map((secret) => chainKey(secret).address);
    const [operator, deployer, payer, resolver] = keys;
    for (const address of keys) await chain.client.setBalance({ address, value: parseEther('1000') });
    for (const [contract, role, address] of [
      ['exchange', 'OPERATOR_ROLE', operator],
      ['resolutions', 'PROPOSER_ROLE', resolver],
      ['marketFactory', 'DEPLOYER_ROLE', deployer],
      ['payments', 'PAYER_ROLE', payer],
    ] as const) {
      const grant = [await chain.call(contract, role, []), address];
      await send(chain.client, ROLES.admin, chain.contracts[contract], CONTRACT_OF[contract], 'grantRole', grant);
    }
  }

  openMarkets(): void {
    for (const _ of this.terms) this.openMarket();
  }

  /** Opens the next market. The chain does not know it yet: settlement deploys traded markets. */
  openMarket(): void {
    const index = this.markets.length;
    const market = marketOf(this.chain, index);
    this.markets.push(market);
    const engine = this.engineOf(index);
    engine.run((ring) => {
      const { nowMs } = engine;
      const word = claimCommand(ring, COMMAND.MARKET_OPEN.TYPE, 7, 0, nowMs, index, 0);
      const hours = { startMs: nowMs, endMs: nowMs + YEAR_MS, status: MARKET_STATUS.ACTIVE };
      writeMarketOpen(ring.words, word, index, { ...this.terms[index], ...hours });
      ring.bytes.set(hexToBytes(market.marketId), (word + COMMAND.MARKET_OPEN.uuid) * 4);
    });
  }

  /** Signs an order for the contract of the rig and places it, or has it take the place of another one. */
  async place(placement: SignedPlacement): Promise<CommandResult> {
    const { account, market, side = 0, outcome = OUTCOME.YES, makerAmount, takerAmount, changed } = placement;
    const { salt, nonce = 0, old, mode = 0, namedSigner } = placement;
    const maker = key(account);
    const { signer = maker } = placement;
    const { yes, no } = this.markets[market];
    const [tokens, micro] = side === 0 ? [takerAmount, makerAmount] : [makerAmount, takerAmount];
    const fields: Partial<ChainOrder> & { by: PrivateKeyAccount } = {
      by: signer,
      signer: namedSigner ?? signer.address,
      nonce: BigInt(nonce),
      expiration: BigInt(placement.expirationSec ?? 0),
      feeRateBps: BigInt(placement.feeBps),
      minTakerNet: BigInt(placement.minTakerNet ?? 0),
    };
    if (salt !== undefined) fields.salt = salt;
    const tokenId = outcome === OUTCOME.YES ? yes : no;
    const signed = await this.chain.order(maker, side, tokenId, BigInt(tokens), BigInt(micro), fields);
    const { order } = signed;
    const signature = changed === undefined ? signed.signature : changed(signed.signature);
    const isLong = isExtended(placement) || old !== undefined;
    const engine = this.engineOf(market);
    return engine.run((ring) => {
      const { PLACE, REPLACE } = COMMAND;
      const type: CommandType = old === undefined ? PLACE.TYPE : REPLACE.TYPE;
      const bytes = isLong && old === undefined ? EXTENDED_PLACE.BYTES : undefined;
      const flags = old === undefined ? 0 : mode;
      const word = claimCommand(ring, type, 7, account, engine.nowMs, market, flags, bytes);
      writePlacement(ring.words, word, { ...placement, salt: 0 }, isLong);
      writeSafe(ring.words, word + PLACE.nonce, nonce);
      const put = (at: number, hex: Hex): void => ring.bytes.set(hexToBytes(hex), (word + at) * 4);
      put(PLACE.salt, toHex(order.salt, { size: 32 }));
      put(PLACE.tokenId, toHex(order.tokenId, { size: 32 }));
      put(PLACE.makerAddress, order.maker);
      put(PLACE.signerAddress, order.signer);
      put(PLACE.signature, signature);
      if (old !== undefined) ring.words.set(old, word + REPLACE.oldHash);
    });
  }

  /** Writes everything so far to the journals. */
  write(): void {
    for (const [shard, { journal }] of this.engines.entries()) {
      while (this.#written[shard] < journal.rows.length) {
        this.#journals[shard].append(journal.rows[this.#written[shard]++]);
      }
      this.#journals[shard].commit();
      this.progress.setCommitted(shard, this.#journals[shard].lastSequence);
    }
  }

  /** Settlement goes one round on. */
  async step(): Promise<void> {
    this.write();
    this.nowMs += 2000;
    try {
      await this.settlement.step();
      this.gateway.follow(this.settlement, this.#news);
    } catch (error) {
      if (error instanceof NodeUnreachable || (error instanceof RpcError && this.#options.around !== undefined)) return;
      if (!(error instanceof Crash)) throw error;
      this.restart();
    }
  }

  restart(): void {
    this.restarts++;
    this.settlement.close();
    this.settlement = this.#start();
  }

  /** Every trade that has failed is undone in the ledger, as soon as the chain cannot take it back. */
  unwindFailed(): void {
    const { failedTrades, unwindTrade } = new RefusedTrades(this.db, this.settlement.rows).handlers;
    for (const { shard, tradeSequence } of failedTrades({ after: 0, limit: 100 }).trades) {
      const answer = unwindTrade({ shard, tradeSequence });
      if (answer.refusal !== null) continue;
      const { market, maker: account, taker: takerAccount, changes } = answer.unwinding;
      const fill = { market, account, takerAccount, reference: tradeSequence };
      const { reply } = this.engines[shard].unwind(fill, changes);
      assert.equal(reply.code, OK, `the unwinding of trade ${tradeSequence} of shard ${shard}`);
      this.unwound++;
    }
  }

  /** Rounds until everything is settled for good, and everything that the chain has done is in the ledger. */
  async finish(mostRounds = 200): Promise<void> {
    const head = Number(await this.chain.client.getBlockNumber());
    const isRead = (): boolean => (this.settlement.money.facts().scannedBlock ?? 0) >= head;
    for (let rounds = 0; rounds < 4 || this.unsettled > 0 || !isRead(); rounds++) {
      assert.ok(
        rounds < mostRounds,
        `left: ${JSON.stringify(this.db.prepare('SELECT * FROM work WHERE job').all().at(-1))}`,
      );
      await this.step();
      await this.chain.client.mine({ blocks: 8 });
      this.unwindFailed();
    }
  }

  get unsettled(): number {
    const sql = `SELECT count(*) FROM work WHERE status <> 'settled' AND unwound_ms IS NULL`;
    return this.db.prepare<[], number>(sql).pluck().get()!;
  }

  /** The USDC of an account in the ledger; each shard may have reserved a part of it. */
  usdcOf(account: number): number {
    const reserved = this.engines.map((engine) => engine.usdc(account).reserved);
    return reserved.reduce((sum, micro) => sum + micro, this.engine.usdc(account).available);
  }

  tokensOf(account: number, market: number, outcome: number): number {
    const { available, reserved } = this.engineOf(market).tokens(account, outcome, market);
    return available + reserved;
  }

  async compare(when: string): Promise<void> {
    const { chain } = this;
    for (const account of [FEE_ACCOUNT, ...this.accounts]) {
      const address = account === FEE_ACCOUNT ? chain.contracts.exchange : key(account).address;
      assert.equal(await chain.held(address, USDC), BigInt(this.usdcOf(account)), `USDC of ${account} ${when}`);
      for (const [market, { yes, no }] of this.markets.entries()) {
        for (const [outcome, tokenId] of [yes, no].entries()) {
          const inLedger = BigInt(this.tokensOf(account, market, outcome));
          const what = `outcome ${outcome} in market ${market} of ${account} ${when}`;
          assert.equal(await chain.held(address, tokenId), inLedger, what);
        }
      }
    }
  }

  /** Checks that ledger and chain are equal at the last read block, except for movements under way between them. */
  async reconcile(): Promise<void> {
    const { money } = this.settlement;
    if (money.isBehind) return;
    this.compared++;
    const balances = await money.compareAll(money.facts().scannedBlock!);
    assert.deepEqual(balances.filter(isDifferent), []);
  }

  decide(market: number, yesPpm: number): void {
    const engine = this.engineOf(market);
    engine.resolve(market, yesPpm, MARKET_STATUS.RESOLVED);
    while (engine.engine.hasSteps) engine.step();
  }

  /** Pays every holder of a market that was decided before. */
  pay(market: number): void {
    const engine = this.engineOf(market);
    engine.settle(market);
    while (engine.engine.hasSteps) engine.step();
  }

  split(account: number, market: number, atomic: number): CommandResult {
    return this.engineOf(market).convert(account, market, atomic, withFee(MOVEMENT.SPLIT, FEE_MICRO));
  }

  merge(account: number, market: number, atomic: number): CommandResult {
    return this.engineOf(market).convert(account, market, atomic, withFee(MOVEMENT.MERGE, FEE_MICRO));
  }

  withdraw(account: number, micro: number): CommandResult {
    return this.#shardOf(account, null).fund(account, micro, withFee(MOVEMENT.WITHDRAWAL, FEE_MICRO));
  }

  get trades(): number {
    return this.db.prepare<[], number>('SELECT count(*) FROM work WHERE kind = 0').pluck().get()!;
  }

  /** Work that was on the chain, and was taken back by a reorganisation. */
  get takenBack(): number {
    const sql = `SELECT count(*) FROM history AS now JOIN history AS next ON next.work = now.work
                   AND next.step = now.step + 1 WHERE now.status = 'mined' AND next.status = 'submitted'`;
    return this.db.prepare<[], number>(sql).pluck().get()!;
  }

  close(): void {
    this.settlement.close();
    for (const journal of this.#journals) journal.close();
    this.db.close();
  }
}

function marketOf(chain: ChainRig, index: number): ChainMarket {
  const { marketFactory, usdc: collateral } = chain.contracts;
  const marketId = toHex(0xfab0 + index, { size: 16 });
  const idBytes = hexToBytes(marketId);
  const [yes, no] = outcomeTokenIds({ marketFactory, collateral }, idBytes).map(BigInt);
  return { marketId, conditionId: marketIds(marketFactory, idBytes).conditionId as Hex, yes, no };
}
