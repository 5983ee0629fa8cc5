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
 *   RESTRICT-2  control.db lists the sweeps that a shard may not have carried out, and the outbox repeats them
 *               (OUTBOX-2). Both a restart and a new leader of a cluster go on from that list, before any request can
 *               reach a shard.
 */
import type { Clock } from '../../shared/base/clock.ts';
import { ACCOUNT_STATE, type AccountState, SIDE } from '../../shared/base/codes.ts';
import { ANY_GRANT, BOTH_SIDES } from '../../shared/wire/commands.ts';
import type { ShardClient } from '../shardlink/client.ts';
import type { NonceFloorViews } from '../shardlink/nonceFloorViews.ts';
import type { Delivered, Outbox } from '../shardlink/outbox.ts';
import type { AccountStates } from './accountStates.ts';
import type { Accounts } from './accounts.ts';
import type { Grant } from './grantsStore.ts';
import type { NonceFloors } from './nonceFloors.ts';

/** The part of the shard client that is used here. */
export type SweepingEngine = Pick<ShardClient, 'sweep' | 'raiseNonceFloor'>;

type RestrictionsOptions = {
  readonly outbox: Pick<Outbox, 'put' | 'drop' | 'has' | 'allTriedAt'>;
  readonly engine: SweepingEngine;
  readonly states: AccountStates;
  readonly accounts: Accounts;
  readonly nonceFloors: NonceFloors;
  readonly views: { readonly nonceFloors: NonceFloorViews };
  readonly clock: Clock;
};

export class Restrictions {
  readonly #options: RestrictionsOptions;

  constructor(options: RestrictionsOptions) {
    this.#options = options;
  }

  setState(account: number, state: AccountState): Promise<Delivered> {
    const { clock, outbox, states } = this.#options;
    // The write comes first: if it fails, the former state stays, and so does its sweep.
    states.set(account, state, clock.nowMs());
    outbox.drop(stateOf(account));
    return states.of(account) === ACCOUNT_STATE.ACTIVE ? Promise.resolve(NOTHING) : this.#sweepState(account);
  }

  /**
   * The account's wallet is leaving the escrow on the chain: the account is frozen until the wallet stays after all.
   */
  setLeaving(account: number, isLeaving: boolean): Promise<Delivered> {
    const { clock, states } = this.#options;
    if (states.isLeaving(account) === isLeaving) return Promise.resolve(NOTHING);
    states.setLeaving(account, isLeaving, clock.nowMs());
    return isLeaving ? this.#sweepState(account) : Promise.resolve(NOTHING);
  }

  /** Removes the delegate of a wallet of the account. Null if it was no delegate. */
  removeDelegate(maker: string, signer: string): Promise<Delivered> | null {
    return this.#removeGrants(maker, signer);
  }

  /** Removes the wallet from its account, with its delegates. Null if it was not linked. */
  removeWallet(maker: string): Promise<Delivered> | null {
    return this.#removeGrants(maker, null);
  }

  /** Raises the floor of a wallet that belongs to an account; a floor that is not higher changes nothing. */
  raiseNonceFloor(wallet: string, floor: number): Promise<Delivered> {
    const { nonceFloors } = this.#options;
    const isComplete = nonceFloors.isCarried(wallet);
    if (floor <= nonceFloors.of(wallet)) return Promise.resolve({ ...NOTHING, isComplete });
    nonceFloors.raise(wallet, floor);
    return this.#sendFloor(wallet, floor);
  }

  /**
   * RESTRICT-2. A shard is READY, and has been sent what it had missed. Resolves when it has carried that out, and what
   * control.db lists besides. Another shard that does not answer does not keep this one from trading.
   */
  async resume(shard: number): Promise<void> {
    const { accounts, nonceFloors, outbox, states, views } = this.#options;
    for (const [wallet, floor] of views.nonceFloors.all()) {
      if (floor > nonceFloors.of(wallet) && accounts.ownerOf(wallet) !== 0) nonceFloors.raise(wallet, floor);
    }
    for (const account of states.unswept()) if (!outbox.has(stateOf(account))) void this.#sweepState(account);
    for (const grant of accounts.grants.unswept()) if (!outbox.has(grantOf(grant))) void this.#sweepGrant(grant);
    for (const { wallet, floor } of nonceFloors.uncarried()) {
      if (!outbox.has(floorOf(wallet, floor))) void this.#sendFloor(wallet, floor);
    }
    await outbox.allTriedAt(shard);
  }

  #removeGrants(maker: string, signer: string | null): Promise<Delivered> | null {
    const { accounts, clock } = this.#options;
    const removed = accounts.grants.remove(maker, signer, clock.nowMs());
    return removed.length === 0 ? null : together(removed.map((grant) => this.#sweepGrant(grant)));
  }

  #sweepState(account: number): Promise<Delivered> {
    const { states } = this.#options;
    const side = states.of(account) === ACCOUNT_STATE.CLOSE_ONLY ? SIDE.BUY : BOTH_SIDES;
    return this.#sweep(stateOf(account), account, side, ANY_GRANT, () => states.swept(account));
  }

  #sweepGrant(grant: Grant): Promise<Delivered> {
    const { accounts } = this.#options;
    const account = accounts.ownerOf(grant.maker);
    return this.#sweep(grantOf(grant), account, BOTH_SIDES, grant.number, () => accounts.grants.swept(grant.number));
  }

  #sweep(subject: string, account: number, side: number, grant: number, onDone = () => {}): Promise<Delivered> {
    const { engine, outbox } = this.#options;
    return outbox.put(subject, {
      send: (shard, handler, context) => engine.sweep(shard, account, side, grant, handler, context),
      onDone,
    });
  }

  /** A higher floor may be under way when this one is done: it has an errand of its own. */
  #sendFloor(wallet: string, floor: number): Promise<Delivered> {
    const { accounts, engine, nonceFloors, outbox } = this.#options;
    const account = accounts.ownerOf(wallet);
    return outbox.put(floorOf(wallet, floor), {
      send: (shard, handler, context) => engine.raiseNonceFloor(shard, account, wallet, floor, handler, context),
      onDone: () => nonceFloors.carried(wallet, floor),
    });
  }
}

const NOTHING: Delivered = Object.freeze({ cancelled: 0, isComplete: true });

async function together(errands: readonly Promise<Delivered>[]): Promise<Delivered> {
  const delivered = await Promise.all(errands);
  const cancelled = delivered.reduce((sum, each) => sum + each.cancelled, 0);
  return { cancelled, isComplete: delivered.every(({ isComplete }) => isComplete) };
}

/** The subjects of errands (OUTBOX-3). */
const stateOf = (account: number): string => `state of ${account}`;
const grantOf = ({ number }: Grant): string => `grant ${number}`;
const floorOf = (wallet: string, floor: number): string => `floor ${floor} of ${wallet}`;
