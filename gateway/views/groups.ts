/**
 * Order groups as the shards told of them (RULES.md 7.9). Each shard counts what is filled in its own markets, so a
 * group stands in each of them by itself; a group that has tripped in one trips in all as soon as they hear of it.
 * Owner: the gateway thread. Units: atomic tokens.
 */
import * as ev from '../../shared/events.ts';
import { readSafe } from '../../shared/record.ts';

type Standing = {
  readonly windowSec: number;
  readonly maxAtomic: number;
  readonly filledAtomic: number;
  readonly isTripped: boolean;
  readonly toldMs: number;
};

export type GroupView = {
  readonly account: number;
  readonly windowSec: number;
  readonly maxAtomic: number;
  /** In the shard where it is closest to the maximum. */
  readonly filledAtomic: number;
  /** In any shard. */
  readonly isTripped: boolean;
};

/** What a shard tells before it is READY has no time of its own, and counts until it tells again. */
const NO_TIME = Number.POSITIVE_INFINITY;

class Entry {
  readonly account: number;
  windowSec = 0;
  maxAtomic = 0;
  /** By shard; undefined where the group is not known. */
  readonly standings: (Standing | undefined)[] = [];

  constructor(account: number) {
    this.account = account;
  }
}

export class GroupViews {
  readonly #groups = new Map<number, Entry>();

  /** What any shard knows of a group; fills that have left the window are told of by the next fill only. */
  of(group: number, nowMs: number): GroupView | undefined {
    const entry = this.#groups.get(group);
    if (entry === undefined) return undefined;
    const { account, windowSec, maxAtomic, standings } = entry;
    let filledAtomic = 0;
    for (const standing of standings) {
      if (standing === undefined || standing.toldMs + windowSec * 1000 <= nowMs) continue;
      filledAtomic = Math.max(filledAtomic, standing.filledAtomic);
    }
    return { account, windowSec, maxAtomic, filledAtomic, isTripped: isTrippedAnywhere(entry) };
  }

  /** Whether any shard knows the group. */
  has(group: number): boolean {
    return this.#groups.get(group)?.standings.some((standing) => standing !== undefined) === true;
  }

  /** As one shard has it; undefined when it does not know the group. */
  settingsIn(shard: number, group: number): { readonly windowSec: number; readonly maxAtomic: number } | undefined {
    return this.#groups.get(group)?.standings[shard];
  }

  /** Groups that have tripped in some shard and, as far as is known, not in this one: index and account. */
  missedBy(shard: number): [group: number, account: number][] {
    const missed: [number, number][] = [];
    for (const [group, entry] of this.#groups) {
      const here = entry.standings[shard];
      if (here !== undefined && !here.isTripped && isTrippedAnywhere(entry)) missed.push([group, entry.account]);
    }
    return missed;
  }

  /** A shard begins to tell everything anew. */
  begin(shard: number): void {
    for (const entry of this.#groups.values()) entry.standings[shard] = undefined;
  }

  /** @param timeMs of the record, 0 where there is none. */
  apply(shard: number, timeMs: number, words: Uint32Array, word: number): void {
    const group = words[word + ev.GROUP_EV_INDEX]!;
    let entry = this.#groups.get(group);
    if (entry === undefined) {
      entry = new Entry(words[word + ev.EV_ACCOUNT]!);
      this.#groups.set(group, entry);
    }
    entry.windowSec = words[word + ev.GROUP_EV_WINDOW_SEC]!;
    entry.maxAtomic = readSafe(words, word + ev.GROUP_EV_MAX_ATOMIC);
    const { windowSec, maxAtomic } = entry;
    entry.standings[shard] = {
      windowSec,
      maxAtomic,
      filledAtomic: readSafe(words, word + ev.GROUP_EV_FILLED_ATOMIC),
      isTripped: words[word + ev.GROUP_EV_TRIPPED] === 1,
      toldMs: timeMs === 0 ? NO_TIME : timeMs,
    };
  }
}

function isTrippedAnywhere({ standings }: Entry): boolean {
  return standings.some((standing) => standing?.isTripped === true);
}
