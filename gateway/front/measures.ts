/**
 * The counts that front threads keep of the calls that they answer by themselves. A thread is asked for them when they
 * are read, so a call costs no message. One that has ended is remembered as it was when it was asked last.
 * Owner: the gateway thread.
 */
import type { FrontImage } from './threadOptions.ts';

/** A thread that does not answer in time is shown as it was. */
const WITHIN_MS = 250;

export class Measures {
  /** By thread: its present run. */
  readonly #latest: (FrontImage | null)[];
  /** By thread: the answers of its former runs. */
  readonly #formerAnswered: number[];
  readonly #onEnded: (image: FrontImage) => void;
  /** By thread: called with its next answer, or when it has ended. */
  readonly #waiting = new Map<number, () => void>();
  /** Everyone who asks while an answer is awaited gets that one. */
  #underway: Promise<void> | null = null;

  /** @param onEnded gets what a thread had counted that has ended */
  constructor(threads: number, onEnded: (image: FrontImage) => void) {
    this.#onEnded = onEnded;
    this.#latest = Array<null>(threads).fill(null);
    this.#formerAnswered = Array<number>(threads).fill(0);
  }

  /** Of the threads that run. */
  get images(): readonly FrontImage[] {
    return this.#latest.filter((image) => image !== null);
  }

  answered(index: number): number {
    return this.#formerAnswered[index] + (this.#latest[index]?.answered ?? 0);
  }

  /** @param post sends a thread the question; false: it does not run */
  ask(post: (index: number) => boolean): Promise<void> {
    this.#underway ??= this.#ask(post).finally(() => {
      this.#underway = null;
    });
    return this.#underway;
  }

  note(index: number, image: FrontImage): void {
    this.#latest[index] = image;
    this.#answeredNow(index);
  }

  ended(index: number): void {
    const image = this.#latest[index];
    if (image != null) {
      this.#onEnded(image);
      this.#formerAnswered[index] += image.answered;
    }
    this.#latest[index] = null;
    this.#answeredNow(index);
  }

  async #ask(post: (index: number) => boolean): Promise<void> {
    const answers = this.#latest.flatMap((_, index) => {
      if (!post(index)) return [];
      return [new Promise<void>((resolve) => this.#waiting.set(index, resolve))];
    });
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, WITHIN_MS);
    });
    await Promise.race([Promise.all(answers), late]);
    clearTimeout(timer);
    this.#waiting.clear();
  }

  #answeredNow(index: number): void {
    this.#waiting.get(index)?.();
    this.#waiting.delete(index);
  }
}
