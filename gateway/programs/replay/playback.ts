/**
 * Plays a recording to one reader: keeps its position, and the time of its next frame. The time of each reader starts
 * when it subscribes.
 * Owner: the thread of the replay.
 *
 * Invariant:
 *   PLAYBACK-1  Frames are sent without a gap, or start again with a book.
 */
import type { RecordedFrame, Recording } from '../../../shared/client/stream/recording.ts';

type PlaybackSink = {
  /** @returns true if it accepts more now; otherwise `resume` is called once it does. */
  send(text: string): boolean;
  /** The recording has no more frames. */
  ended(): void;
};

/** Frames sent in one turn at full speed, so that other readers get their turn. */
const FRAMES_A_TURN = 256;

export class Playback {
  readonly #frames: readonly RecordedFrame[];
  readonly #sink: PlaybackSink;
  /** Recorded milliseconds per millisecond; infinite: as fast as the reader reads. */
  readonly #speed: number;
  #next = 0;
  #startMs = 0;
  #isPlaying = false;
  #timer: NodeJS.Timeout | undefined;
  #turn: NodeJS.Immediate | undefined;

  constructor({ frames }: Recording, speed: number, sink: PlaybackSink) {
    this.#frames = frames;
    this.#speed = speed;
    this.#sink = sink;
  }

  /** The sequence number of the last frame sent; null before the first. */
  get sequence(): number | null {
    return this.#next === 0 ? null : this.#frames[this.#next - 1].frame.sequence;
  }

  /** Plays from the start; a reader that has already had frames gets the last book before its position first. */
  playBook(): void {
    let at = Math.max(0, this.#next - 1);
    while (at > 0 && this.#frames[at].frame.channel !== 'book') at--;
    this.#play(at);
  }

  /** Plays every frame after this sequence number, or from a book if the recording does not have the next frame. */
  playAfter(sequence: number): void {
    const at = this.#frames.findIndex(({ frame }) => frame.channel !== 'bbo' && frame.sequence > sequence);
    const isAtEnd = at < 0 && this.#frames.at(-1)?.frame.sequence === sequence;
    const follows = at >= 0 && this.#frames[at].frame.sequence === sequence + 1;
    if (isAtEnd) this.#play(this.#frames.length);
    else if (follows) this.#play(at);
    else this.playBook();
  }

  /** Plays without a book, from the first frame after it. */
  playOn(): void {
    if (this.#isPlaying) return;
    this.#play(this.#frames[0]?.frame.channel === 'book' ? 1 : 0);
  }

  stop(): void {
    this.#isPlaying = false;
    clearTimeout(this.#timer);
    clearImmediate(this.#turn);
  }

  resume(): void {
    if (!this.#isPlaying) return;
    clearTimeout(this.#timer);
    clearImmediate(this.#turn);
    this.#step();
  }

  #play(at: number): void {
    this.stop();
    this.#isPlaying = true;
    this.#next = at;
    const firstMs = this.#frames[at]?.receivedMs ?? 0;
    this.#startMs = performance.now() - firstMs / this.#speed;
    this.#turn = setImmediate(() => this.#step());
  }

  #step(): void {
    for (let sent = 0; sent < FRAMES_A_TURN; sent++) {
      const recorded = this.#frames[this.#next];
      if (recorded === undefined) {
        this.#sink.ended();
        return;
      }
      const waitMs = this.#startMs + recorded.receivedMs / this.#speed - performance.now();
      if (waitMs > 0) {
        this.#timer = setTimeout(() => this.#step(), waitMs);
        return;
      }
      this.#next++;
      if (!this.#sink.send(JSON.stringify(recorded.frame))) return;
    }
    this.#turn = setImmediate(() => this.#step());
  }
}
