/**
 * Knows how new read.db of a standby is (RULES.md 18.4): the projector follows the journals after the views do, so an
 * answer from read.db is older than one from the views.
 * Owner: the gateway thread.
 *
 *   views as new as `asOfMs` ──► mark: what they show ──► the projector has passed it ──► read.db is as new as that
 *
 * Invariant:
 *   PASTAGE-1  read.db in its current state has everything that the log held at `asOfMs`, even while it is being made
 *              anew and has less than before.
 */
import type { Progress } from '../../shared/wire/progress.ts';

type Mark = { readonly asOfMs: number; readonly sequences: readonly number[]; readonly catalogRevision: number };

type ProgressOfPast = Pick<Progress, 'shards' | 'projected' | 'catalogRevision' | 'isBeingMade'>;
type Shown = { shownSequence(shard: number): number };
type Catalogue = { readonly revisions: { readonly current: number } };

export class PastAge {
  readonly #progress: ProgressOfPast;
  readonly #views: Shown;
  readonly #catalog: Catalogue;
  /** The newest mark that the projector has passed. */
  #passed: Mark | null = null;
  /** The mark that waits for the projector. Marks that come in the meantime are left out. */
  #next: Mark | null = null;

  constructor(progress: ProgressOfPast, views: Shown, catalog: Catalogue) {
    this.#progress = progress;
    this.#views = views;
    this.#catalog = catalog;
  }

  /** The views and the catalogue have everything that the log held at that time. */
  see(asOfMs: number): void {
    this.#look();
    if (this.#next !== null || asOfMs === this.#passed?.asOfMs) return;
    const sequences = Array.from({ length: this.#progress.shards }, (_, shard) => this.#views.shownSequence(shard));
    this.#next = { asOfMs, sequences, catalogRevision: this.#catalog.revisions.current };
  }

  /** PASTAGE-1. Null if unknown. */
  get asOfMs(): number | null {
    this.#look();
    return this.#passed !== null && this.#isPassed(this.#passed) ? this.#passed.asOfMs : null;
  }

  #look(): void {
    if (this.#next === null || !this.#isPassed(this.#next)) return;
    this.#passed = this.#next;
    this.#next = null;
  }

  #isPassed({ sequences, catalogRevision }: Mark): boolean {
    const progress = this.#progress;
    if (progress.isBeingMade() || progress.catalogRevision() < catalogRevision) return false;
    return sequences.every((sequence, shard) => progress.projected(shard) >= sequence);
  }
}
