/**
 * Counts the failed runs of the projector. SQLite notices a damaged page, but not a changed value: an assertion of the
 * projector fails when it comes to the record that contradicts the value, and would fail in each run after it. After
 * MOST_FAILURES such runs the file is the likely cause, and it is made again, once in the life of the process. If the
 * next file fails as well, a bug is the cause, and the file is left as it is.
 * Owner: the gateway thread.
 */
import type { Progress } from '../../shared/wire/progress.ts';

/** Runs that fail at the same record before the file is blamed. */
const MOST_FAILURES = 3;

export class ProjectorFailures {
  readonly #progress: Pick<Progress, 'shards' | 'projected'>;
  #failures = 0;
  /** The number of records, of all shards, that the projector had followed at the last failure. */
  #followed = -1;
  #hasBeenMadeAnew = false;

  constructor(progress: Pick<Progress, 'shards' | 'projected'>) {
    this.#progress = progress;
  }

  /** A run has ended. @param error null: the run was asked to end */
  note(error: Error | null): void {
    if (error?.name !== 'AssertionError') return;
    const followed = this.#sum();
    this.#failures = followed === this.#followed ? this.#failures + 1 : 1;
    this.#followed = followed;
  }

  /** Returns true if the next run shall make read.db again. */
  callForAnew(): boolean {
    if (this.#hasBeenMadeAnew || this.#failures < MOST_FAILURES) return false;
    this.#hasBeenMadeAnew = true;
    this.#failures = 0;
    return true;
  }

  #sum(): number {
    let sum = 0;
    for (let shard = 0; shard < this.#progress.shards; shard++) sum += this.#progress.projected(shard);
    return sum;
  }
}
