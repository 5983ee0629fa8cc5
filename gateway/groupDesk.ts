/**
 * Order groups between control.db, which has their names, and the shards, each of which keeps every group by itself
 * (RULES.md 7.9).
 * Owner: the gateway thread.
 *
 * A group is set in all shards or in none, unless one is lost in the middle of it. What control.db has is what was
 * confirmed last, so whenever a shard is back, all are brought to that; a group that was never confirmed but is known
 * to some shard is brought to what that one has, since its owner may have been told.
 */
import { E, OK } from '../shared/errors.ts';
import type { GroupSettings, OrderGroup, OrderGroups } from './control/orderGroups.ts';
import type { EngineClient } from './engineClient.ts';
import type { GroupView } from './views/groups.ts';
import type { Views } from './views/index.ts';

export type ShownGroup = { readonly name: string; readonly view: GroupView };

export class GroupDesk {
  readonly #groups: OrderGroups;
  readonly #views: Pick<Views, 'groups'>;
  readonly #engine: Pick<EngineClient, 'setGroup' | 'resetGroup'>;
  readonly #shards: number;

  constructor(
    groups: OrderGroups,
    views: Pick<Views, 'groups'>,
    engine: Pick<EngineClient, 'setGroup' | 'resetGroup'>,
    shards: number,
  ) {
    this.#groups = groups;
    this.#views = views;
    this.#engine = engine;
    this.#shards = shards;
  }

  /** Null when the account has no group of this name that a shard knows. */
  indexOf(account: number, name: string): number | null {
    const group = this.#groups.find(account, name);
    return group !== undefined && this.#isKnown(group) ? group.index : null;
  }

  isKnownTo(shard: number, group: number): boolean {
    return this.#views.groups.settingsIn(shard, group) !== undefined;
  }

  /** A record with the name of the group its order is in, if it is in one. */
  named<R extends object>(record: R, group: number): R & { order_group?: string } {
    const order_group = this.#groups.nameOf(group);
    return order_group === undefined ? record : { ...record, order_group };
  }

  show(account: number, name: string, nowMs: number): ShownGroup | null {
    const index = this.indexOf(account, name);
    return index === null ? null : { name, view: this.#views.groups.of(index, nowMs)! };
  }

  /** In order of making. */
  list(account: number, nowMs: number): ShownGroup[] {
    const names = this.#groups.of(account).map(({ name }) => this.show(account, name, nowMs));
    return names.filter((group) => group !== null);
  }

  /** How many groups the account has or has begun to make. */
  count(account: number): number {
    return this.#groups.of(account).length;
  }

  isNew(account: number, name: string): boolean {
    return this.#groups.find(account, name) === undefined;
  }

  /** Makes or changes a group. @returns OK or the number of what went wrong. */
  async set(account: number, name: string, settings: GroupSettings): Promise<number> {
    const group = this.#groups.find(account, name) ?? this.#groups.make(account, name);
    const code = await this.#engine.setGroup(account, group.index, settings.windowSec, settings.maxAtomic);
    // Where it is not known whether every shard has heard, all of them are still brought to it.
    if (code === OK || code === E.OUTCOME_UNKNOWN) this.#groups.set(group, settings);
    return code;
  }

  reset(account: number, index: number): Promise<number> {
    return this.#engine.resetGroup(account, index);
  }

  /** Every shard is READY, or one is again: brings them all to the same. */
  async reconcile(): Promise<void> {
    for (const group of this.#groups.all()) {
      const settings = group.settings ?? this.#knownSettings(group);
      if (settings === undefined || this.#isEverywhere(group, settings)) continue;
      await this.set(group.account, group.name, settings);
    }
  }

  #isKnown({ index }: OrderGroup): boolean {
    return this.#views.groups.has(index);
  }

  #knownSettings({ index }: OrderGroup): GroupSettings | undefined {
    for (let shard = 0; shard < this.#shards; shard++) {
      const settings = this.#views.groups.settingsIn(shard, index);
      if (settings !== undefined) return settings;
    }
    return undefined;
  }

  #isEverywhere({ index }: OrderGroup, { windowSec, maxAtomic }: GroupSettings): boolean {
    for (let shard = 0; shard < this.#shards; shard++) {
      const here = this.#views.groups.settingsIn(shard, index);
      if (here?.windowSec !== windowSec || here.maxAtomic !== maxAtomic) return false;
    }
    return true;
  }
}
