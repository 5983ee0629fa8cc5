/** Order groups that have tripped in one shard are tripped in all others (LINK-5 in link.ts). */
import type { Clock } from '../../shared/base/clock.ts';
import { ANY_EVENT, EVENT } from '../../shared/wire/events.ts';
import type { Lane } from './lane.ts';
import type { Views } from './views.ts';

/** The event of a group in the shard of this lane. */
export function tripElsewhere(
  lanes: readonly Lane[],
  lane: Lane,
  words: Uint32Array,
  word: number,
  clock: Clock,
): void {
  if (words[word + EVENT.GROUP.hasJustTripped] !== 1) return;
  const [group, account] = [words[word + EVENT.GROUP.group], words[word + ANY_EVENT.account]];
  for (const other of lanes) if (other !== lane && other.isReady) other.oweTrip(group, account, clock);
}

/** A shard is READY: it may not know of trips in other shards, nor they of trips in it. */
export function sendMissedTrips(lanes: readonly Lane[], groups: Views['groups'], clock: Clock): void {
  for (const each of lanes) {
    if (!each.isReady) continue;
    for (const [group, account] of groups.missedBy(each.shard)) each.oweTrip(group, account, clock);
  }
}
