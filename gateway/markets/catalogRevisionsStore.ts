/**
 * Revisions of the catalogue: every change of a market or event receives the next number (control-009.sql), by which
 * the read model finds the changes that it has not seen. Owner: the gateway thread.
 *
 * Invariants:
 *   REVISION-1  A change and its number are one transaction, and no two changes have the same number.
 *   REVISION-2  A row has the number of its latest change, so the rows with a higher number are exactly those changed
 *               since.
 */
import { assert } from '../../shared/base/assert.ts';
import { Signal } from '../../shared/base/signal.ts';
import type { ControlDatabase } from '../base/database.ts';

type Revised = { readonly index: number; readonly revision: number };

export class CatalogRevisions {
  readonly changed = new Signal<void>();
  readonly #next;
  readonly #latest;
  readonly #marketsAfter;
  readonly #eventsAfter;
  #current: number;

  constructor(database: ControlDatabase) {
    this.#next = database
      .prepare<[], number>('UPDATE catalogue_revision SET revision = revision + 1 RETURNING revision')
      .pluck();
    this.#latest = database.prepare<[], number>('SELECT revision FROM catalogue_revision').pluck();
    this.#marketsAfter = database.prepare<[number, number], Revised>(
      'SELECT market_index AS "index", revision FROM markets WHERE revision > ? ORDER BY revision LIMIT ?',
    );
    this.#eventsAfter = database.prepare<[number, number], Revised>(
      'SELECT event_index AS "index", revision FROM events WHERE revision > ? ORDER BY revision LIMIT ?',
    );
    this.#current = this.#latest.get()!;
  }

  /** The number of the latest change that is in the catalogue. */
  get current(): number {
    return this.#current;
  }

  /** The number of a change, inside its transaction (REVISION-1). */
  next(): number {
    const revision = this.#next.get()!;
    assert(revision > this.#current, 'REVISION-1: a change has a number of its own');
    return revision;
  }

  /** Called when the change is in control.db and in memory. */
  publish(): void {
    this.#current = this.#latest.get()!;
    this.changed.notify();
  }

  /** Market indexes in the order of their latest changes, at most `limit`. */
  marketsAfter(revision: number, limit: number): Revised[] {
    return this.#marketsAfter.all(revision, limit);
  }

  eventsAfter(revision: number, limit: number): Revised[] {
    return this.#eventsAfter.all(revision, limit);
  }
}
