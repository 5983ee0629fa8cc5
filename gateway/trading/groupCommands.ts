/**
 * Sets order groups in the shards, each of which keeps its own copy of every group, and in control.db, which has their
 * names (RULES.md 7.9). Owner: the gateway thread.
 *
 * A group is set in all shards or in none, unless a shard is lost in the middle. control.db has the last confirmed
 * settings; when a shard is back, all shards receive those. A group that was never confirmed but is known to some shard
 * gets that shard's settings everywhere, because its owner may have received the answer.
 */
import { E, OK } from '../../shared/base/errors.ts';
import type { ShardClient } from '../shardlink/client.ts';
import type { GroupView } from '../shardlink/groupViews.ts';
import type { Views } from '../shardlink/views.ts';
import type { GroupSettings, OrderGroup, OrderGroups } from './orderGroupsStore.ts';

export type ShownGroup = { readonly name: string; readonly view: GroupView };

export class GroupCommands {
  readonly #groups: OrderGroups;
  readonly #views: Pick<Views, 'groups'>;
  readonly #engine: Pick<ShardClient, 'setGroup' | 'resetGroup'>;
  readonly #shards: number;

  constructor(
    groups: OrderGroups,
    views: Pick<Views, 'groups'>,
    engine: Pick<ShardClient, 'setGroup' | 'resetGroup'>,
    shards: number,
  ) {
    this.#groups = groups;
    this.#views = views;
    this.#engine = engine;
    this.#shards = shards;
  }

  /** Null if no shard knows a group of the account with this name. */
  indexOf(account: number, name: string): number | null {
    const group = this.#groups.find(account, name);
    return group !== undefined && this.#isKnown(group) ? group.index : null;
  }

  isKnownTo(shard: number, group: number): boolean {
    return this.#views.groups.settingsIn(shard, group) !== undefined;
  }

  /** A record with the name of the group its order is in, if it is in one. */
  named<R extends object>(record: R, group: number): R & { order_group?: string } {
    return this.#groups.withGroupName(record, group);
  }

  show(account: number, name: string, nowMs: number): ShownGroup | null {
    const index = this.indexOf(account, name);
    return index === null ? null : { name, view: this.#views.groups.of(index, nowMs)! };
  }

  /** The groups of the account, oldest first. */
  list(account: number, nowMs: number): ShownGroup[] {
    const names = this.#groups.of(account).map(({ name }) => this.show(account, name, nowMs));
    return names.filter((group) => group !== null);
  }

  /** The number of groups that the account has or is creating. */
  count(account: number): number {
    return this.#groups.of(account).length;
  }

  isNew(account: number, name: string): boolean {
    return this.#groups.find(account, name) === undefined;
  }

  /** Makes or changes a group. @returns OK or the number of the error. */
  async set(account: number, name: string, settings: GroupSettings): Promise<number> {
    const group = this.#groups.find(account, name) ?? this.#groups.make(account, name);
    // ORDERGROUPS-1
    await this.#groups.durable();
    const code = await this.#engine.setGroup(account, group.index, settings.windowSec, settings.maxAtomic);
    // If it is unknown which shards have the setting, it is sent to all of them again.
    if (code === OK || code === E.OUTCOME_UNKNOWN) this.#groups.set(group, settings);
    await this.#groups.durable();
    return code;
  }

  reset(account: number, index: number): Promise<number> {
    return this.#engine.resetGroup(account, index);
  }

  /** Called when every shard is READY, or READY again: gives all shards the same settings. */
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
