/** Order groups that have tripped in one shard are tripped in all others (LINK-5 in link.ts). */
import { ANY_EVENT, EVENT } from '../../shared/wire/events.ts';
import type { Lane } from './lane.ts';
import type { Views } from './views.ts';

/** The event of a group in the shard of this lane. */
export function tripElsewhere(
  lanes: readonly Lane[],
  lane: Lane,
  words: Uint32Array,
  word: number,
  nowMs: number,
): void {
  if (words[word + EVENT.GROUP.hasJustTripped] !== 1) return;
  const trip: [number, number] = [words[word + EVENT.GROUP.group], words[word + ANY_EVENT.account]];
  for (const other of lanes) if (other !== lane && other.isReady) other.addTrips([trip], nowMs);
}

/** A shard is READY: it may not know of trips in other shards, nor they of trips in it. */
export function sendMissedTrips(lanes: readonly Lane[], groups: Views['groups'], nowMs: number): void {
  for (const each of lanes) if (each.isReady) each.addTrips(groups.missedBy(each.shard), nowMs);
}
