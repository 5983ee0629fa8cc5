/** The options of the link to the shards (link.ts). */
import type { Clock } from '../../shared/base/clock.ts';
import type { Views, ViewsFollower } from './views.ts';

export type ShardLinkOptions = {
  readonly shards: number;
  readonly views: Views;
  /** The placements that should wait for one shard at once (placementShares.ts). */
  readonly waitingPlacements: number;
  /** Called for each event once the views hold it; null when nothing follows them. */
  readonly follower: ViewsFollower | null;
  readonly clock: Clock;
  /** LINK-9, until `lead`. */
  readonly isFollowing?: boolean;
  /** LINK-11. Absent for the link of main. */
  readonly isFront?: boolean;
  /** A handler that throws does not stop the pump; the receiver of this has to answer the request in `context`. */
  readonly onHandlerError: (error: unknown, context: unknown) => void;
  /** The views can no longer be trusted: the process has to end and recover. */
  readonly onFatal: (error: unknown) => void;
};
