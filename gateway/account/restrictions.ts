/**
 * Restricts an account by a state that the administrator sets (RULES.md 9.15), removes grants of its signers (9.16),
 * and voids a wallet's earlier orders by a floor under their nonces (5.12). Owner: the gateway thread.
 *
 *   store, durable ──same turn──► no forbidden command is written any more ──► sweep to every shard ──► swept, durable
 *
 * Each shard itself refuses orders below a floor, as soon as it has the floor.
 *
 * Invariants:
 *   RESTRICT-1  The sweep of a shard is written into its ring after every order that was accepted before the change,
 *               and no forbidden order is written after it. So once a shard has answered, it has none open.
 *   RESTRICT-2  A sweep that a shard has not answered is sent again: when the shard is READY, before any request can
 *               reach it, and several times a second while its ring has no room. After a restart control.db lists the
 *               remaining sweeps.
 */
import type { Clock } from '../../shared/base/clock.ts';
import { ACCOUNT_STATE, type AccountState, SIDE } from '../../shared/base/codes.ts';
import { OK } from '../../shared/base/errors.ts';
import { ANY_GRANT, BOTH_SIDES } from '../../shared/wire/commands.ts';
import type { NonceFloorViews } from '../shardlink/nonceFloorViews.ts';
import type { AccountStates } from './accountStates.ts';
import type { Accounts } from './accounts.ts';
import type { Grant } from './grantsStore.ts';
import type { NonceFloors } from './nonceFloors.ts';

/** The part of the shard client that is used here. */
type SweepingEngine = {
  sweep(shard: number, account: number, side: number, grant: number): Promise<SweptShard>;
  raiseNonceFloor(shard: number, account: number, wallet: string, floor: number): Promise<SweptShard>;
};

type SweptShard = { readonly code: number; readonly a: number };

type RestrictionsOptions = {
  readonly shards: number;
  readonly engine: SweepingEngine;
  readonly states: AccountStates;
  readonly accounts: Accounts;
  readonly nonceFloors: NonceFloors;
  readonly views: { readonly nonceFloors: NonceFloorViews };
  readonly clock: Clock;
};

/**
 * `isComplete` is true if no shard has a forbidden order. Otherwise a shard is away, and cancels before it trades
 * again.
 */
export type Swept = { readonly cancelled: number; readonly isComplete: boolean };

/** Orders to cancel, in the shards that have not answered yet. */
type Sweep = {
  readonly send: (shard: number) => Promise<SweptShard>;
  readonly waiting: Set<number>;
  /** Shards that have been asked and have not answered. */
  readonly asked: Set<number>;
  readonly onDone: () => void;
  cancelled: number;
};

export class Restrictions {
  readonly #options: RestrictionsOptions;
  readonly #sweeps = new Set<Sweep>();
  /** By account: the sweep of its state; a new state replaces it. */
  readonly #ofState = new Map<number, Sweep>();

  constructor(options: RestrictionsOptions) {
    this.#options = options;
    for (const account of options.states.unswept()) this.#addState(account);
    for (const grant of options.accounts.grants.unswept()) this.#addGrant(grant);
    for (const { wallet, floor } of options.nonceFloors.uncarried()) this.#addFloor(wallet, floor);
  }

  setState(account: number, state: AccountState): Promise<Swept> {
    const { clock, states } = this.#options;
    // The write comes first: if it fails, the former state stays, and so does its sweep.
    states.set(account, state, clock.nowMs());
    const former = this.#ofState.get(account);
    if (former !== undefined) this.#sweeps.delete(former);
    this.#ofState.delete(account);
    return states.of(account) === ACCOUNT_STATE.ACTIVE
      ? Promise.resolve(NOTHING)
      : this.#run([this.#addState(account)]);
  }

  /**
   * The account's wallet is leaving the escrow on the chain: the account is frozen until the wallet stays after all.
   */
  setLeaving(account: number, isLeaving: boolean): Promise<Swept> {
    const { clock, states } = this.#options;
    if (states.isLeaving(account) === isLeaving) return Promise.resolve(NOTHING);
    states.setLeaving(account, isLeaving, clock.nowMs());
    if (!isLeaving) return Promise.resolve(NOTHING);
    const former = this.#ofState.get(account);
    if (former !== undefined) this.#sweeps.delete(former);
    const sweep = this.#addState(account);
    return this.#run([sweep]);
  }

  /** Removes the delegate of a wallet of the account. Null if it was no delegate. */
  removeDelegate(maker: string, signer: string): Promise<Swept> | null {
    return this.#removeGrants(maker, signer);
  }

  /** Removes the wallet from its account, with its delegates. Null if it was not linked. */
  removeWallet(maker: string): Promise<Swept> | null {
    const { accounts } = this.#options;
    const removed = this.#removeGrants(maker, null);
    if (removed !== null) accounts.unlink(maker);
    return removed;
  }

  /** Raises the floor of a wallet that belongs to an account; a floor that is not higher changes nothing. */
  raiseNonceFloor(wallet: string, floor: number): Promise<Swept> {
    const { nonceFloors } = this.#options;
    const isComplete = nonceFloors.isCarried(wallet);
    if (floor <= nonceFloors.of(wallet)) return Promise.resolve({ ...NOTHING, isComplete });
    nonceFloors.raise(wallet, floor);
    return this.#run([this.#addFloor(wallet, floor)]);
  }

  /** Cancels the account's orders and lets it place none until it is released or the process ends. */
  hold(account: number): Promise<Swept> {
    const { engine, states } = this.#options;
    states.hold(account, true);
    const send = (shard: number) => engine.sweep(shard, account, BOTH_SIDES, ANY_GRANT);
    return this.#run([this.#add(send, () => undefined)]);
  }

  letGo(account: number): void {
    this.#options.states.hold(account, false);
  }

  /** A shard is READY: sends it what it has missed. Resolves when it has answered. */
  async shardReady(shard: number): Promise<void> {
    const { accounts, nonceFloors, views } = this.#options;
    for (const [wallet, floor] of views.nonceFloors.all()) {
      if (floor <= nonceFloors.of(wallet) || accounts.ownerOf(wallet) === 0) continue;
      nonceFloors.raise(wallet, floor);
      this.#addFloor(wallet, floor);
    }
    await Promise.all([...this.#sweeps].map((sweep) => this.#ask(sweep, shard)));
  }

  /** Called several times a second: a ring that was full may have room. */
  tick(): void {
    for (const sweep of this.#sweeps) void this.#askAll(sweep);
  }

  #removeGrants(maker: string, signer: string | null): Promise<Swept> | null {
    const { accounts, clock } = this.#options;
    const removed = accounts.grants.remove(maker, signer, clock.nowMs());
    return removed.length === 0 ? null : this.#run(removed.map((grant) => this.#addGrant(grant)));
  }

  async #run(sweeps: readonly Sweep[]): Promise<Swept> {
    await Promise.all(sweeps.map((sweep) => this.#askAll(sweep)));
    const cancelled = sweeps.reduce((sum, sweep) => sum + sweep.cancelled, 0);
    return { cancelled, isComplete: sweeps.every(({ waiting }) => waiting.size === 0) };
  }

  async #askAll(sweep: Sweep): Promise<void> {
    await Promise.all([...sweep.waiting].map((shard) => this.#ask(sweep, shard)));
  }

  /** The command is in the ring when this returns, unless the shard is away or its ring is full. */
  async #ask(sweep: Sweep, shard: number): Promise<void> {
    const { send, waiting, asked } = sweep;
    if (!waiting.has(shard) || asked.has(shard)) return;
    asked.add(shard);
    const { code, a } = await send(shard);
    asked.delete(shard);
    if (code !== OK) return;
    sweep.cancelled += a;
    waiting.delete(shard);
    if (waiting.size === 0 && this.#sweeps.delete(sweep)) sweep.onDone();
  }

  #addState(account: number): Sweep {
    const { states } = this.#options;
    const side = states.of(account) === ACCOUNT_STATE.CLOSE_ONLY ? SIDE.BUY : BOTH_SIDES;
    const { engine } = this.#options;
    const sweep = this.#add(
      (shard) => engine.sweep(shard, account, side, ANY_GRANT),
      () => {
        this.#ofState.delete(account);
        states.swept(account);
      },
    );
    this.#ofState.set(account, sweep);
    return sweep;
  }

  #addGrant({ number, maker }: Grant): Sweep {
    const { accounts, engine } = this.#options;
    const account = accounts.ownerOf(maker);
    const send = (shard: number) => engine.sweep(shard, account, BOTH_SIDES, number);
    return this.#add(send, () => accounts.grants.swept(number));
  }

  /** A higher floor may be under way when this one is done: it has a sweep of its own. */
  #addFloor(wallet: string, floor: number): Sweep {
    const { accounts, engine, nonceFloors } = this.#options;
    const account = accounts.ownerOf(wallet);
    const send = (shard: number) => engine.raiseNonceFloor(shard, account, wallet, floor);
    return this.#add(send, () => nonceFloors.carried(wallet, floor));
  }

  #add(send: Sweep['send'], onDone: () => void): Sweep {
    const waiting = new Set(Array.from({ length: this.#options.shards }, (_, shard) => shard));
    const sweep = { send, waiting, asked: new Set<number>(), onDone, cancelled: 0 };
    this.#sweeps.add(sweep);
    return sweep;
  }
}

const NOTHING: Swept = Object.freeze({ cancelled: 0, isComplete: true });
