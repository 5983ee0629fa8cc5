/**
 * The rail of a fiat world (test/sim/fiatWorld.ts) on a real EVM: the token itself, blocks by the world's clock, forks
 * and lost transactions. The world reads a copy of the chain's state, which is made anew after each of its steps.
 */

import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Address, type Hex, type Log, parseEther, toHex } from 'viem';
import { EvmRail } from '../../gateway/fiat/evmRail.ts';
import type { OwnTransferState, RailMoment } from '../../gateway/programs/ramp/rail.ts';
import { isFinal } from '../../shared/chain/depth.ts';
import { chainKey } from '../../shared/chain/key.ts';
import { ChainNode } from '../../shared/chain/node.ts';
import { Relay } from '../../shared/chain/relay.ts';
import { HttpRpc } from '../../shared/chain/rpc.ts';
import { addressOf } from '../../shared/client/privateKey.ts';
import { type TransferAuthorization, transferDigest } from '../../shared/crypto/eip3009.ts';
import type { RailQuestions } from '../../shared/wire/railQuestions.ts';
import { Life } from '../sim/fiatGates.ts';
import { signed } from '../sim/fiatProvider.ts';
import {
  CUSTOMERS,
  change,
  KEYS,
  type MovedRow,
  PROVIDER,
  type Process,
  START_MICRO,
  WALLETS,
  type WorldOptions,
  type WorldRail,
} from '../sim/fiatRail.ts';
import { authorizationIn, transfersIn, usdcCall } from '../support/fakeUsdc.ts';
import { Anvil } from './anvil.ts';
import { type ChainClient, chainClient, deployAll, send } from './deploy.ts';
import { CHAIN_ID, ROLES } from './rig.ts';

const RELAYER = toHex(0x5e1a, { size: 32 });
const STRANGER = toHex(0x57a9, { size: 20 });
const MOST_FEE_WEI = 2_000_000_000_000;
/** Anvil calls a block final once it has this many successors. */
const FINALITY = 64;
const DEEPEST_FORK = 20;
const MOST_BLOCKS = 70;
const TROUBLE_PERCENT = 10;
const PAGE = 3;
const SPARED_MICRO = 10_000_000;
const DAY_SEC = 86_400;
/** After this many turns without a call to the node none is under way. */
const QUIET_TURNS = 5;
const OTHER_KEYS = CUSTOMERS.map((customer) => `0x${`e${customer}`.repeat(32)}`);
const OTHERS = OTHER_KEYS.map((key) => addressOf(key).toLowerCase());

/** Its chain is there before the world is. */
export class FreshChain {
  readonly anvil: Anvil;
  readonly client: ChainClient;
  readonly usdc: Hex;

  private constructor(anvil: Anvil, client: ChainClient, usdc: Hex) {
    this.anvil = anvil;
    this.client = client;
    this.usdc = usdc;
  }

  static async start(beforeMs: number): Promise<FreshChain> {
    const timestampSec = Math.floor(beforeMs / 1000) - DAY_SEC;
    const anvil = await Anvil.start({ chainId: CHAIN_ID, timestampSec });
    const client = chainClient(anvil.url, CHAIN_ID);
    const { usdc } = await deployAll(client, ROLES, { exitDelay: 1n, settlementGrace: 1n });
    for (const wallet of WALLETS) {
      await send(client, ROLES.admin, usdc, 'DemoUsdc', 'mint', [wallet, BigInt(START_MICRO)]);
    }
    await client.setBalance({ address: chainKey(RELAYER).address, value: parseEther('1000') });
    await client.setAutomine(false);
    return new FreshChain(anvil, client, usdc.toLowerCase() as Hex);
  }
}

export class EvmWorldRail implements WorldRail {
  readonly #options: WorldOptions;
  readonly #chain: FreshChain;
  readonly #life = new Life();
  readonly #sent = new Set<string>();
  readonly #heads: { readonly atMs: number; readonly block: number }[] = [];
  readonly #balances = new Map<string, number>();
  #moved: MovedRow[] = [];
  #logs: Log[] = [];
  #moment: RailMoment = { block: 0, finalizedBlock: 0, finalizedSec: 0 };
  #waiting = 0;
  #blockSec: number;
  #underWay = 0;
  /** One after the other. */
  #acts: Promise<unknown> = Promise.resolve();
  #nonces = 0;
  #isHealed = false;

  constructor(chain: FreshChain, options: WorldOptions) {
    this.#chain = chain;
    this.#options = options;
    this.#blockSec = Math.floor(options.clock.nowMs() / 1000);
    this.#mine(FINALITY);
  }

  readonly node = (): Life => this.#life;

  open({ life }: Process): EvmRail {
    const { gates, clock } = this.#options;
    const node = new ChainNode(new HttpRpc(this.#chain.anvil.url));
    const terms = { key: chainKey(RELAYER), chainId: CHAIN_ID, usdc: this.#chain.usdc };
    const relay = new Relay({
      ...{ node, ...terms, mostFeeWei: BigInt(MOST_FEE_WEI), headsMs: 0 },
      nowMs: () => clock.nowMs(),
    });
    const link = {
      ask: <N extends keyof RailQuestions>(
        name: N,
        ask: RailQuestions[N]['ask'],
      ): Promise<RailQuestions[N]['answer']> => gates.call(life, () => this.#counted(() => relay.handlers[name](ask))),
    };
    return new EvmRail({ link, mayPay: () => true, mostFeeWei: MOST_FEE_WEI, lookPauseMs: 500 });
  }

  tick(): void {
    if (!this.#isHealed && this.#options.random.chance(TROUBLE_PERCENT)) this.misbehave();
    const nowSec = Math.floor(this.#options.clock.nowMs() / 1000);
    this.#blockSec = Math.max(this.#blockSec, nowSec - MOST_BLOCKS);
    if (nowSec > this.#blockSec) this.#mine(nowSec - this.#blockSec);
    this.#sent.clear();
  }

  async domain() {
    return { name: 'USD Coin', version: '2', chainId: CHAIN_ID, verifyingContract: this.#chain.usdc };
  }

  async send(kind: 'transfer' | 'cancel', transfer: TransferAuthorization, signature: string): Promise<boolean> {
    const { client, usdc: to } = this.#chain;
    const data = usdcCall(kind, transfer, signature);
    if (this.#sent.has(data)) return true;
    this.#sent.add(data);
    const call = { account: STRANGER, to, data, gas: 300_000n, gasPrice: 0n, chain: null };
    await this.#counted(() => client.sendTransaction(call));
    return true;
  }

  async moment(): Promise<RailMoment> {
    return this.#moment;
  }

  async authorization(from: string, nonce: string): Promise<OwnTransferState> {
    for (const log of this.#logs) {
      const state = authorizationIn([log as never], from, nonce);
      if (state !== null) return { state, txHash: log.transactionHash!, block: Number(log.blockNumber) };
    }
    return { state: 'unused' };
  }

  async arrivals(cursor: string) {
    const all = this.#moved.filter(({ to }) => to === PROVIDER);
    const seen = all.findIndex((row) => cursorOf(row) === cursor) + 1;
    const rows = all.slice(seen, seen + PAGE);
    const arrivals = rows.map(({ tx_hash: txHash, from, value: valueMicro, block }) => {
      return { txHash, from, valueMicro, block };
    });
    return { arrivals, cursor: rows.length === 0 ? cursor : cursorOf(rows.at(-1)!) };
  }

  balanceMicro(wallet: string): number {
    return this.#balances.get(wallet)!;
  }

  spend(customer: number): void {
    const [own, other] = [WALLETS[customer]!, OTHERS[customer]!];
    const spent = this.balanceMicro(other);
    const [from, to, key] = spent > 0 ? [other, own, OTHER_KEYS[customer]!] : [own, other, KEYS[customer]!];
    const valueMicro = spent > 0 ? spent : this.balanceMicro(own) - SPARED_MICRO;
    if (valueMicro <= 0) return;
    const nonce = toHex(++this.#nonces, { size: 32 });
    const transfer = { from, to, valueMicro, validAfterSec: 0, validBeforeSec: this.#blockSec + DAY_SEC, nonce };
    this.#then(async () => {
      await this.send('transfer', transfer, signed(key, transferDigest(await this.domain(), transfer)));
    });
  }

  hashes(): readonly string[] {
    return this.#moved.map(({ tx_hash }) => tx_hash);
  }

  misbehave(): string {
    const { random } = this.#options;
    const { client } = this.#chain;
    if (random.chance(50)) {
      this.#then(() => client.request({ method: 'anvil_dropAllTransactions' } as never));
      return 'chain: forgets';
    }
    const depth = random.between(1, DEEPEST_FORK);
    this.#then(() => client.request({ method: 'anvil_reorg', params: [depth, []] } as never));
    return `chain: fork of ${depth}`;
  }

  heal(): void {
    this.#isHealed = true;
  }

  get isBusy(): boolean {
    return this.#waiting > 0 || this.#moved.some(({ block }) => !isFinal(block, this.#moment));
  }

  moved(): readonly MovedRow[] {
    return this.#moved;
  }

  wasFinal(txHash: string, atMs: number): boolean {
    const { block } = this.#moved.find(({ tx_hash }) => tx_hash === txHash)!;
    const head = this.#heads.findLast((each) => each.atMs <= atMs)!.block;
    return isFinal(block, { block: head, finalizedBlock: head - FINALITY });
  }

  isCredited(): boolean {
    return true;
  }

  assertMoney(): void {
    for (const wallet of [...WALLETS, ...OTHERS]) {
      const began = WALLETS.includes(wallet) ? START_MICRO : 0;
      assert.equal(this.balanceMicro(wallet), began + change(this.#moved, wallet), `money of ${wallet}`);
    }
  }

  /** Resolves once no call to the node is under way, with the copy made anew. */
  async settled(): Promise<void> {
    await this.#acts;
    for (let quiet = 0; quiet < QUIET_TURNS; quiet++) {
      if (this.#underWay > 0) quiet = 0;
      await nextTurn();
    }
    await this.#look();
  }

  async #look(): Promise<void> {
    const { client, usdc } = this.#chain;
    const [head, finalized, logs, pool] = await Promise.all([
      client.getBlock({ blockTag: 'latest' }),
      client.getBlock({ blockTag: 'finalized' }),
      client.getLogs({ address: usdc, fromBlock: 0n, toBlock: 'latest' }),
      client.getTxpoolStatus(),
    ]);
    this.#logs = logs;
    this.#moved = logs.flatMap((log, index) => {
      // The first log of a transaction that moves is that its authorization is used; others have made money.
      const both = [logs[index - 1], log] as never[];
      if (index === 0 || logs[index - 1]!.transactionHash !== log.transactionHash) return [];
      const row = { tx_hash: log.transactionHash, block: Number(log.blockNumber) };
      return transfersIn(both).map((moved) => ({ ...row, ...moved }));
    });
    this.#moment = {
      block: Number(head.number),
      finalizedBlock: Number(finalized.number),
      finalizedSec: Number(finalized.timestamp),
    };
    this.#waiting = pool.pending + pool.queued;
    this.#heads.push({ atMs: this.#options.clock.nowMs(), block: Number(head.number) });
    for (const wallet of [...WALLETS, ...OTHERS]) this.#balances.set(wallet, await this.#balanceOf(wallet));
  }

  async #balanceOf(wallet: string): Promise<number> {
    const data = `0x70a08231${wallet.slice(2).padStart(64, '0')}` as Hex;
    const { data: answer } = await this.#chain.client.call({ to: this.#chain.usdc as Address, data });
    return Number(answer);
  }

  #mine(blocks: number): void {
    const { client } = this.#chain;
    const first = this.#blockSec + 1;
    this.#blockSec += blocks;
    this.#then(async () => {
      const { timestamp } = await client.getBlock({ blockTag: 'latest' });
      if (timestamp < BigInt(first)) await client.setNextBlockTimestamp({ timestamp: BigInt(first) });
      await client.mine({ blocks, interval: 1 });
    });
  }

  #then(act: () => Promise<unknown>): void {
    this.#acts = this.#acts.then(act);
  }

  async #counted<T>(call: () => Promise<T>): Promise<T> {
    this.#underWay++;
    try {
      return await call();
    } finally {
      this.#underWay--;
    }
  }
}

function cursorOf({ block, tx_hash }: MovedRow): string {
  return `${block}-${tx_hash}`;
}
