/**
 * Order groups, as the shards' events describe them (RULES.md 7.9). Each shard counts the fills of its own markets, so
 * a group has a separate count in each shard. If a group trips in one shard, the link trips it in all others. Owner:
 * the gateway thread. Units: atomic tokens.
 */
import { ANY_EVENT, EVENT } from '../../shared/wire/events.ts';
import { readSafe } from '../../shared/wire/record.ts';

/** A group in one shard. */
type ShardGroup = {
  readonly windowSec: number;
  readonly maxAtomic: number;
  readonly filledAtomic: number;
  readonly isTripped: boolean;
  /** The time of the record of its last event, or NO_TIME. */
  readonly updatedMs: number;
};

export type GroupView = {
  readonly account: number;
  readonly windowSec: number;
  readonly maxAtomic: number;
  /** The fills in the shard where the group is closest to its maximum. */
  readonly filledAtomic: number;
  /** It has tripped in some shard. */
  readonly isTripped: boolean;
};

/** Events before a shard is READY have no time: the fills in them count until the next event of the group. */
const NO_TIME = Number.POSITIVE_INFINITY;

class GroupEntry {
  readonly account: number;
  windowSec = 0;
  maxAtomic = 0;
  /** By shard; undefined where the group is not known. */
  readonly shards: (ShardGroup | undefined)[] = [];

  constructor(account: number) {
    this.account = account;
  }
}

export class GroupViews {
  readonly #groups = new Map<number, GroupEntry>();

  /** The group over all shards. A shard reports fills that have left the window only with the next fill. */
  of(group: number, nowMs: number): GroupView | undefined {
    const entry = this.#groups.get(group);
    if (entry === undefined) return undefined;
    const { account, windowSec, maxAtomic, shards } = entry;
    let filledAtomic = 0;
    for (const inShard of shards) {
      if (inShard === undefined || inShard.updatedMs + windowSec * 1000 <= nowMs) continue;
      filledAtomic = Math.max(filledAtomic, inShard.filledAtomic);
    }
    return { account, windowSec, maxAtomic, filledAtomic, isTripped: isTrippedAnywhere(entry) };
  }

  /** True when some shard knows the group. */
  has(group: number): boolean {
    return this.#groups.get(group)?.shards.some((inShard) => inShard !== undefined) === true;
  }

  /** The settings of the group in one shard; undefined when the shard does not know the group. */
  settingsIn(shard: number, group: number): { readonly windowSec: number; readonly maxAtomic: number } | undefined {
    return this.#groups.get(group)?.shards[shard];
  }

  /** Groups that have tripped in some shard but, according to its events, not in this one: index and account. */
  missedBy(shard: number): [group: number, account: number][] {
    const missed: [number, number][] = [];
    for (const [group, entry] of this.#groups) {
      const here = entry.shards[shard];
      if (here !== undefined && !here.isTripped && isTrippedAnywhere(entry)) missed.push([group, entry.account]);
    }
    return missed;
  }

  /** The shard is recovering and sends all its groups again. */
  recovering(shard: number): void {
    for (const entry of this.#groups.values()) entry.shards[shard] = undefined;
  }

  /** @param timeMs the time of the record; 0 for an event before READY. */
  apply(shard: number, timeMs: number, words: Uint32Array, word: number): void {
    const group = words[word + EVENT.GROUP.group];
    let entry = this.#groups.get(group);
    if (entry === undefined) {
      entry = new GroupEntry(words[word + ANY_EVENT.account]);
      this.#groups.set(group, entry);
    }
    entry.windowSec = words[word + EVENT.GROUP.windowSec];
    entry.maxAtomic = readSafe(words, word + EVENT.GROUP.maxAtomic);
    const { windowSec, maxAtomic } = entry;
    entry.shards[shard] = {
      windowSec,
      maxAtomic,
      filledAtomic: readSafe(words, word + EVENT.GROUP.filledAtomic),
      isTripped: words[word + EVENT.GROUP.isTripped] === 1,
      updatedMs: timeMs === 0 ? NO_TIME : timeMs,
    };
  }
}

function isTrippedAnywhere({ shards }: GroupEntry): boolean {
  return shards.some((inShard) => inShard?.isTripped === true);
}
