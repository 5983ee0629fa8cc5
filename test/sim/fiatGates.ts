/**
 * Calls between processes of the model: each may wait, before it is made and before its answer is there, until the
 * world lets it go on. The world's seed decides, so an interleaving can be repeated.
 */
import type { Random } from '../support/random.ts';

/** A process of the model during its life: work that it has begun ends with it. */
export class Life {
  isOver = false;
  readonly #ended: Promise<void>;
  #end: () => void = () => {};

  constructor() {
    this.#ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  end(): void {
    this.isOver = true;
    this.#end();
  }

  /** Rejects when this process ends first: the connection to it is gone. */
  async outlives<T>(work: Promise<T>): Promise<T> {
    const lost = this.#ended.then(() => Promise.reject(new LostCall()));
    return Promise.race([work, lost]);
  }
}

class LostCall extends Error {
  override readonly name = 'LostCall';
}

export class Gates {
  readonly #random: Random;
  readonly #waiting: (() => void)[] = [];
  /** Of 100 calls, the number that wait. */
  percent: number;

  constructor(random: Random, percent: number) {
    this.#random = random;
    this.percent = percent;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** Lets some call go on, not the oldest first. */
  releaseOne(): void {
    if (this.isEmpty) return;
    const [release] = this.#waiting.splice(this.#random.below(this.#waiting.length), 1);
    release();
  }

  releaseAll(): void {
    for (const release of this.#waiting.splice(0)) release();
  }

  /** A call from a process to another. After the end of the caller nothing more of it happens. */
  async call<T>(caller: Life, work: () => T | Promise<T>): Promise<T> {
    await this.#pass();
    if (caller.isOver) return never();
    const result = await work();
    await this.#pass();
    return caller.isOver ? never() : result;
  }

  /**
   * A call to a process that may end in the meantime: then the caller has no answer, and does not know what has
   * happened.
   */
  async callTo<T>(caller: Life, called: () => Life, work: () => T | Promise<T>): Promise<T> {
    return this.call(caller, async () => {
      const life = called();
      if (life.isOver) throw new LostCall();
      return life.outlives(
        (async () => {
          const result = await work();
          await this.#pass();
          return result;
        })(),
      );
    });
  }

  async #pass(): Promise<void> {
    if (this.#random.chance(this.percent)) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}

function never(): Promise<never> {
  return new Promise(() => {});
}
