/**
 * The rail on a chain in a fiat world: USDC on a chain in memory that takes blocks back, forgets, has transactions of
 * others and a node that is wrong or behind. Blocks that are final stay. The provider and the customers have a node of
 * their own, which answers rightly.
 */

import assert from 'node:assert/strict';
import type { Hex } from 'viem';
import type { Rail } from '../../gateway/fiat/rail.ts';
import type { OwnTransferState, RailMoment } from '../../gateway/programs/ramp/rail.ts';
import { isFinal } from '../../shared/chain/depth.ts';
import { addressOf } from '../../shared/client/privateKey.ts';
import { type TransferAuthorization, transferDigest } from '../../shared/crypto/eip3009.ts';
import { EvmWorld } from '../support/evmWorld.ts';
import { authorizationIn, transfersIn, USDC_DOMAIN, usdcCall } from '../support/fakeUsdc.ts';
import { Life } from './fiatGates.ts';
import { signed } from './fiatProvider.ts';
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
} from './fiatRail.ts';

const PAGE = 3;
const SPARED_MICRO = 10_000_000;
const DAY_SEC = 86_400;
/** Each time that some time passes. */
const TROUBLE_PERCENT = 10;
const DEEPEST_FORK = 30;
const GWEI = 1_000_000_000n;
/** Where customers spend. */
const OTHER_KEYS = CUSTOMERS.map((customer) => `0x${`e${customer}`.repeat(32)}`);
const OTHERS = OTHER_KEYS.map(addressOf);

export class ChainWorldRail implements WorldRail {
  readonly #options: WorldOptions;
  readonly #finality: number;
  readonly #world: EvmWorld;
  readonly #nodeLife = new Life();
  /** The calls that others have sent since the last block. */
  readonly #sent = new Set<string>();
  /** Heads of the chain, by the time since when. */
  readonly #heads: { readonly atMs: number; readonly block: number }[] = [];
  #nonces = 0;
  #isHealed = false;

  constructor(options: WorldOptions) {
    this.#options = options;
    const { clock, random } = options;
    this.#finality = random.pick([5, 40, 64]);
    const balances = new Map(WALLETS.map((wallet) => [wallet, START_MICRO]));
    this.#world = new EvmWorld({ startMs: clock.nowMs(), balances, finality: this.#finality, random });
    this.#noteHead();
  }

  readonly node = (): Life => this.#nodeLife;

  open({ life }: Process): Rail {
    const { clock, gates } = this.#options;
    return this.#world.openRail(
      clock,
      () => true,
      (ask) => gates.call(life, ask),
    );
  }

  tick(): void {
    if (!this.#isHealed && this.#options.random.chance(TROUBLE_PERCENT)) this.misbehave();
    this.#world.pass(this.#options.clock.nowMs());
    this.#sent.clear();
    this.#noteHead();
  }

  async domain() {
    return USDC_DOMAIN;
  }

  async send(kind: 'transfer' | 'cancel', transfer: TransferAuthorization, signature: string): Promise<boolean> {
    const data = usdcCall(kind, transfer, signature);
    if (!this.#sent.has(data)) this.#chain.sendElsewhere(data);
    this.#sent.add(data);
    return true;
  }

  async moment(): Promise<RailMoment> {
    const { head, blocks } = this.#chain;
    const finalizedBlock = Math.max(0, head.number - this.#finality);
    return { block: head.number, finalizedBlock, finalizedSec: blocks[finalizedBlock]!.timestampSec };
  }

  async authorization(from: string, nonce: string): Promise<OwnTransferState> {
    for (const { number: block, transactions } of this.#chain.blocks.toReversed()) {
      for (const { hash: txHash, logs } of transactions) {
        const state = authorizationIn(logs, from, nonce);
        if (state !== null) return { state, txHash, block };
      }
    }
    return { state: 'unused' };
  }

  async arrivals(cursor: string) {
    const all = this.moved().filter(({ to }) => to === PROVIDER);
    const seen = all.findIndex((row) => cursorOf(row) === cursor) + 1;
    const rows = all.slice(seen, seen + PAGE);
    const arrivals = rows.map(({ tx_hash: txHash, from, value: valueMicro, block }) => {
      return { txHash, from, valueMicro, block };
    });
    return { arrivals, cursor: rows.length === 0 ? cursor : cursorOf(rows.at(-1)!) };
  }

  balanceMicro(wallet: string): number {
    return this.#chain.contract.balances.get(wallet) ?? 0;
  }

  spend(customer: number): void {
    const [own, other] = [WALLETS[customer]!, OTHERS[customer]!];
    const spent = this.balanceMicro(other);
    const [from, to, key] = spent > 0 ? [other, own, OTHER_KEYS[customer]!] : [own, other, KEYS[customer]!];
    const valueMicro = spent > 0 ? spent : this.balanceMicro(own) - SPARED_MICRO;
    if (valueMicro <= 0) return;
    const validBeforeSec = Math.floor(this.#options.clock.nowMs() / 1000) + DAY_SEC;
    const nonce = `0x${(++this.#nonces).toString(16).padStart(64, '0')}`;
    const transfer = { from, to, valueMicro, validAfterSec: 0, validBeforeSec, nonce };
    void this.send('transfer', transfer, signed(key, transferDigest(USDC_DOMAIN, transfer)));
  }

  hashes(): readonly string[] {
    return this.#chain.blocks.flatMap(({ transactions }) => transactions.map(({ hash }) => hash));
  }

  misbehave(): string {
    const { random } = this.#options;
    const chain = this.#chain;
    const act = random.pick(['faults', 'fork', 'forgets', 'used elsewhere', 'fee'] as const);
    if (act === 'faults') chain.faults = random.pick([0, 10, 40]);
    else if (act === 'fork') this.#reorganise(random.between(1, Math.min(DEEPEST_FORK, this.#finality)));
    else if (act === 'forgets') chain.forget();
    else if (act === 'fee') chain.baseFee = BigInt(random.pick([1, 30, 300])) * GWEI;
    else {
      chain.useNonceElsewhere(this.#world.relayer);
      this.#noteHead();
    }
    return `chain: ${act}`;
  }

  heal(): void {
    this.#isHealed = true;
    this.#chain.faults = 0;
    this.#chain.baseFee = GWEI;
  }

  get isBusy(): boolean {
    const { head } = this.#chain;
    const moment = { block: head.number, finalizedBlock: head.number - this.#finality, finalizedSec: 0 };
    return this.moved().some(({ block }) => !isFinal(block, moment));
  }

  moved(): readonly MovedRow[] {
    return this.#chain.blocks.flatMap(({ number: block, transactions }) =>
      transactions.flatMap(({ hash: tx_hash, logs }) => transfersIn(logs).map((row) => ({ tx_hash, block, ...row }))),
    );
  }

  wasFinal(txHash: string, atMs: number): boolean {
    const { block } = this.moved().find(({ tx_hash }) => tx_hash === txHash)!;
    const head = this.#heads.findLast((each) => each.atMs <= atMs)!.block;
    return isFinal(block, { block: head, finalizedBlock: head - this.#finality });
  }

  isCredited(): boolean {
    return true;
  }

  assertMoney(): void {
    const moved = this.moved();
    for (const wallet of [...WALLETS, ...OTHERS]) {
      const began = WALLETS.includes(wallet) ? START_MICRO : 0;
      assert.equal(this.balanceMicro(wallet), began + change(moved, wallet), `money of ${wallet}`);
    }
    const total = [...this.#chain.contract.balances.values()].reduce((sum, each) => sum + each, 0);
    assert.equal(total, WALLETS.length * START_MICRO, 'money on the chain');
  }

  get #chain() {
    return this.#world.chain;
  }

  #reorganise(depth: number): void {
    this.#chain.reorganise(depth);
    this.#sent.clear();
  }

  #noteHead(): void {
    const block = this.#chain.head.number;
    this.#heads.push({ atMs: this.#options.clock.nowMs(), block });
  }
}

function cursorOf({ block, tx_hash }: MovedRow): string {
  return `${block}-${tx_hash as Hex}`;
}
