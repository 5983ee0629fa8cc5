/**
 * Names and settings of order groups (RULES.md 7.9). Shards know a group by its index only; the settings are kept so
 * that they can be sent again to a shard that missed them.
 * Owner: the gateway thread; in memory, written through to control.db.
 *
 * Invariant:
 *   ORDERGROUPS-1  An index is durable before it is sent to any shard, and belongs to one account and name for ever.
 */
import { assert } from '../../shared/base/assert.ts';
import type { TakenRows } from '../../shared/records/changedRows.ts';
import type { ControlDatabase } from '../base/database.ts';
import { type Changes, SYNCED_AT_ONCE } from '../base/laterSync.ts';

export type GroupSettings = { readonly windowSec: number; readonly maxAtomic: number };

export type OrderGroup = {
  readonly index: number;
  readonly account: number;
  readonly name: string;
  /** Null while no shard has confirmed the group. */
  settings: GroupSettings | null;
};

type GroupRow = {
  group_index: number;
  account_index: number;
  name: string;
  window_sec: number | null;
  max_atomic: number | null;
};

export class OrderGroups {
  readonly #byIndex = new Map<number, OrderGroup>();
  /** In the order of creation. */
  readonly #byAccount = new Map<number, Map<string, OrderGroup>>();
  readonly #changes: Changes;
  readonly #insert;
  readonly #update;
  readonly #select;

  constructor(database: ControlDatabase, changes = SYNCED_AT_ONCE) {
    this.#changes = changes;
    const select = database.prepare<[], GroupRow>('SELECT * FROM order_groups ORDER BY group_index');
    for (const row of select.iterate()) this.#keep(fromRow(row));
    this.#select = database.prepare<[number], GroupRow>('SELECT * FROM order_groups WHERE group_index = ?');
    this.#insert = database.prepare<[number, number, string]>(
      'INSERT INTO order_groups (group_index, account_index, name) VALUES (?, ?, ?)',
    );
    this.#update = database.prepare<[number, number, number]>(
      'UPDATE order_groups SET window_sec = ?, max_atomic = ? WHERE group_index = ?',
    );
  }

  /** A group is never taken away (ORDERGROUPS-1). */
  reload(changed: TakenRows): void {
    for (const index of changed.numbersOf('order_groups')) {
      const group = fromRow(this.#select.get(index)!);
      const known = this.#byIndex.get(index);
      if (known === undefined) this.#keep(group);
      else known.settings = group.settings;
    }
  }

  all(): Iterable<OrderGroup> {
    return this.#byIndex.values();
  }

  of(account: number): readonly OrderGroup[] {
    return [...(this.#byAccount.get(account)?.values() ?? [])];
  }

  find(account: number, name: string): OrderGroup | undefined {
    return this.#byAccount.get(account)?.get(name);
  }

  nameOf(index: number): string | undefined {
    return this.#byIndex.get(index)?.name;
  }

  /** A record with the name of the group its order is in, if it is in one. */
  withGroupName<R extends object>(record: R, group: number): R & { order_group?: string } {
    const order_group = this.nameOf(group);
    return order_group === undefined ? record : { ...record, order_group };
  }

  make(account: number, name: string): OrderGroup {
    assert(this.find(account, name) === undefined, 'ORDERGROUPS-1: a name is given once');
    const group: OrderGroup = { index: this.#byIndex.size + 1, account, name, settings: null };
    this.#changes.write(() => this.#insert.run(group.index, account, name));
    this.#keep(group);
    return group;
  }

  set(group: OrderGroup, settings: GroupSettings): void {
    this.#changes.write(() => this.#update.run(settings.windowSec, settings.maxAtomic, group.index));
    group.settings = settings;
  }

  /** Resolves when every change so far is durable. */
  durable(): Promise<void> {
    return this.#changes.durable();
  }

  #keep(group: OrderGroup): void {
    this.#byIndex.set(group.index, group);
    let names = this.#byAccount.get(group.account);
    if (names === undefined) {
      names = new Map();
      this.#byAccount.set(group.account, names);
    }
    names.set(group.name, group);
  }
}

function fromRow({ group_index: index, account_index: account, name, window_sec, max_atomic }: GroupRow): OrderGroup {
  const isSet = window_sec !== null && max_atomic !== null;
  return { index, account, name, settings: isSet ? { windowSec: window_sec, maxAtomic: max_atomic } : null };
}
