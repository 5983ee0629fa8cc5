/**
 * The times of commands, from writing one into the ring of its shard until its reply is handled: both rings, the
 * queue, the command and its commit. By shard and kind of command, over all threads of the shard.
 * Owner: the gateway thread.
 */
import { DURATION_BOUNDS_SEC, Histogram } from '../../shared/base/histogram.ts';
import { nowUs, secondsBetween } from '../../shared/base/stopwatch.ts';
import { COMMAND, type CommandType } from '../../shared/wire/commands.ts';

const { CANCEL, CANCEL_MANY, PLACE, REPLACE } = COMMAND;

/** The kinds of commands that are measured apart. */
export const KINDS = ['place', 'cancel', 'other'] as const;
const [AS_PLACE, AS_CANCEL, AS_OTHER] = KINDS.keys();

export class ReplyTimes {
  /** By shard, and then by kind. */
  readonly histograms: readonly (readonly Histogram[])[];

  constructor(shards: number) {
    this.histograms = Array.from({ length: shards }, () => KINDS.map(() => new Histogram(DURATION_BOUNDS_SEC)));
  }

  replied(shard: number, type: CommandType, sentUs: number): void {
    this.histograms[shard][kindOf(type)].observe(secondsBetween(sentUs, nowUs()));
  }
}

function kindOf(type: CommandType): number {
  if (type === PLACE.TYPE || type === REPLACE.TYPE) return AS_PLACE;
  return type === CANCEL.TYPE || type === CANCEL_MANY.TYPE ? AS_CANCEL : AS_OTHER;
}
