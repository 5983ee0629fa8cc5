/**
 * One lane of the link (shardlink/link.ts): the pair of rings to one thread of a shard, and the state of that thread.
 * Owner: the gateway thread whose link it is.
 */
import type { Clock } from '../../shared/base/clock.ts';
import { FEE_ACCOUNT } from '../../shared/base/codes.ts';
import {
  COMMAND,
  type CommandType,
  claimCommand,
  KEYED_CANCEL,
  NO_MARKET,
  NO_REQUEST,
} from '../../shared/wire/commands.ts';
import { RingConsumer, RingProducer } from '../../shared/wire/ring.ts';
import type { FrontRings } from '../../shared/wire/threads.ts';
import type { Owed } from './owed.ts';
import { PlacementShares } from './placementShares.ts';
import type { PendingReply } from './reply.ts';

/** The result of `claim` if nothing can be enqueued. */
export const NO_ROOM = -1;

/** The gateway's end of the rings to a thread of a shard. */
export type LaneRings = FrontRings & {
  /** RING-5. Absent if the shard sleeps on this command ring. */
  readonly bell?: SharedArrayBuffer;
};

/** The records that wait between the gateway and a shard. */
export type ShardLoad = {
  readonly commandBytes: number;
  readonly commandCapacity: number;
  readonly eventBytes: number;
  /** Commands without a reply, and the number of those whose senders were answered OUTCOME_UNKNOWN. */
  readonly unanswered: number;
  readonly givenUp: number;
};

export const NO_LOAD: ShardLoad = { commandBytes: 0, commandCapacity: 0, eventBytes: 0, unanswered: 0, givenUp: 0 };

export class Lane {
  readonly shard: number;
  readonly commands: RingProducer;
  readonly events: RingConsumer;
  readonly onReady: () => void;
  readonly shares: PlacementShares;
  readonly owed: Owed;
  isReady = false;
  isLost = false;
  /** LINK-8. The last turn of the pump has left events. */
  hasMoreEvents = false;
  /** LINK-10. Pieces of the shard's state that are not applied yet; events in the ring come after them. */
  readonly state: Uint32Array[];

  constructor(
    shard: number,
    { commandRing, eventRing, bell }: LaneRings,
    waitingPlacements: number,
    owed: Owed,
    onReady: () => void,
    state: readonly ArrayBuffer[] = [],
  ) {
    this.shard = shard;
    this.shares = new PlacementShares(waitingPlacements);
    this.owed = owed;
    this.commands = new RingProducer(commandRing, bell);
    this.events = new RingConsumer(eventRing);
    this.onReady = onReady;
    this.state = state.map((piece) => new Uint32Array(piece));
    this.hasMoreEvents = state.length > 0;
  }

  /** The thread has ended. @returns whether it had become READY */
  end(): boolean {
    const wasReady = this.isReady;
    this.isLost = true;
    this.isReady = false;
    this.events.wake();
    return wasReady;
  }

  load(pending: readonly PendingReply[]): ShardLoad {
    const { commands, events } = this;
    const commandBytes = commands.usedBytes();
    const givenUp = pending.filter(({ isGivenUp }) => isGivenUp).length;
    const [commandCapacity, eventBytes] = [commands.capacity, events.usedBytes()];
    return { commandBytes, commandCapacity, eventBytes, unanswered: pending.length, givenUp };
  }

  /** LINK-7, LINK-12. */
  admits(type: CommandType, account: number): boolean {
    return (!isPlacement(type) || this.shares.admits(account)) && this.owed.pay();
  }

  /** LINK-7. @returns the account in whose share the command counts until its reply; 0 if in none */
  share(type: CommandType, account: number): number {
    if (!isPlacement(type)) return 0;
    this.shares.add(account);
    return account;
  }

  /** LINK-5. The group has tripped in another shard; after the loss of this thread its successor is owed the trip. */
  oweTrip(group: number, account: number, clock: Clock): void {
    this.owed.add(tripOf(group), () => this.isLost || this.#sendTrip(group, account, clock.nowMs()));
    this.owed.pay();
  }

  /** Sends the time, and the commands that the shard is owed. */
  tick(nowMs: number): void {
    this.owed.pay();
    const word = claimCommand(this.commands, COMMAND.TICK.TYPE, NO_REQUEST, FEE_ACCOUNT, nowMs, NO_MARKET, 0);
    if (word !== NO_ROOM) this.commands.publish();
  }

  /** @returns false if the ring has no room */
  #sendTrip(group: number, account: number, nowMs: number): boolean {
    const { GROUP_TRIP } = COMMAND;
    const word = claimCommand(this.commands, GROUP_TRIP.TYPE, NO_REQUEST, account, nowMs, NO_MARKET, 0);
    if (word === NO_ROOM) return false;
    this.commands.words[word + GROUP_TRIP.group] = group;
    this.commands.publish();
    return true;
  }
}

/** The subject of the trip of a group (OWED-2). */
export function tripOf(group: number): string {
  return `trip of group ${group}`;
}

/** Twice the record, because a record at the end of the ring also needs room for the padding of the wrap. */
export function hasRoomForCancel({ commands, owed }: Lane): boolean {
  return owed.pay() && commands.capacity - commands.usedBytes() >= 2 * KEYED_CANCEL.BYTES;
}

function isPlacement(type: CommandType): boolean {
  return type === COMMAND.PLACE.TYPE || type === COMMAND.REPLACE.TYPE;
}
