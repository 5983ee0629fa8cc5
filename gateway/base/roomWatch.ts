/**
 * Watches the disk of a cluster's member: it notifies the others whether the disk has space. A leader hands the lead
 * over to a fit standby while its disk is full or its files do not agree with the log (RULES.md 18.19, 18.25).
 * Owner: the gateway thread.
 */
import type { HandOverAnswer } from '../../shared/wire/clusterStatus.ts';
import type { Logger } from './log.ts';

type RoomWatchOptions = {
  readonly disk: { readonly isLow: boolean };
  readonly member: {
    readonly role: { readonly isLeading: boolean; readonly filesProblem: string | null };
    noteRoom(hasRoom: boolean): void;
    askHandOver(to: null): Promise<HandOverAnswer>;
  };
  readonly log: Pick<Logger, 'warn'>;
};

const LOOK_MS = 500;
/** Checks between two attempts to hand the lead over: a standby accepts within this time. */
const LOOKS_PER_ATTEMPT = 10;

export class RoomWatch {
  readonly #options: RoomWatchOptions;
  #timer: NodeJS.Timeout | undefined;
  #hadRoom = true;
  #looksToWait = 0;
  /** Why the lead could not be handed over; logged once. */
  #refusal: string | null = null;

  constructor(options: RoomWatchOptions) {
    this.#options = options;
  }

  /** Starts before the member's first report, which already says how much space there is. */
  start(): void {
    void this.look();
    this.#timer = setInterval(() => void this.look(), LOOK_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async look(): Promise<void> {
    const { disk, member } = this.#options;
    const hasRoom = !disk.isLow;
    if (hasRoom !== this.#hadRoom) {
      this.#hadRoom = hasRoom;
      this.#looksToWait = 0;
      this.#refusal = null;
      member.noteRoom(hasRoom);
    }
    const reason = hasRoom ? member.role.filesProblem : 'the disk is nearly full';
    if (reason === null || !member.role.isLeading || this.#looksToWait-- > 0) return;
    this.#looksToWait = LOOKS_PER_ATTEMPT;
    const answer = await member.askHandOver(null);
    const refusal = 'refused' in answer ? answer.refused : null;
    if (refusal !== null && refusal !== this.#refusal) {
      this.#options.log.warn({ refusal }, `${reason}, and the lead cannot be handed over`);
    }
    this.#refusal = refusal;
  }
}
