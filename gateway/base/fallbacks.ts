/**
 * Counts damaged, cut or lost data that the exchange goes on without: a file that a substitute replaces, records of the
 * audit log, frames of private streams. Each case is logged and counted in `exchange_fallbacks_total`.
 * Owner: the gateway thread; a process has one of these.
 */

import { recordOf } from '../../shared/base/namesOf.ts';
import type { Logger } from './log.ts';

export const FALLBACKS = [
  'snapshot',
  'order_hashes',
  'read_model',
  'order_archive',
  'kept_answers',
  'audit_log',
  'private_frames',
  'control_log',
  'held_mark',
] as const;
type Fallback = (typeof FALLBACKS)[number];

const DAMAGED_RUN =
  'orders that may be on it are refused (503 ENGINE_BUSY) until it is made anew, or the file is put back from a backup';

const UNREAD_ARCHIVE =
  'is missing or damaged: lists leave its orders out and say archived_before, until the file is back under its name';

class Fallbacks {
  readonly counts: Readonly<Record<Fallback, number>>;
  readonly #counts: Record<Fallback, number>;
  readonly #files = new Set<string>();

  constructor() {
    this.#counts = recordOf(FALLBACKS, () => 0);
    this.counts = this.#counts;
  }

  /** @param text what was damaged, and what replaces it */
  note(log: Pick<Logger, 'error'>, kind: Fallback, text: string, facts: object = {}): void {
    this.#counts[kind]++;
    log.error({ fallback: kind, ...facts }, text);
  }

  /** Notes each damage of a run of hashes once, whichever thread has found it. */
  noteRun(log: Pick<Logger, 'error'>, text: string): void {
    this.#noteFile(log, 'order_hashes', `${text}: ${DAMAGED_RUN}`);
  }

  /** Notes once that a file of the archive of orders could not be read. */
  noteArchive(log: Pick<Logger, 'error'>, path: string): void {
    this.#noteFile(log, 'order_archive', `${path} ${UNREAD_ARCHIVE}`);
  }

  #noteFile(log: Pick<Logger, 'error'>, kind: Fallback, text: string): void {
    if (this.#files.has(text)) return;
    this.#files.add(text);
    this.note(log, kind, text);
  }
}

export const fallbacks = new Fallbacks();
